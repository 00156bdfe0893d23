import { expect, test } from "@jest/globals";
import { type ControlEvent, createControlReader } from "../../sandbox/control.ts";

const MIB = 1024 * 1024;
const progress = (fraction: number) => `{"type":"progress","fraction":${fraction},"message":"${"x".repeat(60)}"}\n`;
const output = (name: string) => `{"type":"output","name":"${name}","file":"${name}.txt"}\n`;
const END = '{"type":"end","kind":"error","code":1,"message":"the reason"}\n';

/** What is read of these pieces, a second apart, and of what was kept until the end. */
function read(pieces: readonly string[], secondsApart: number) {
  const before: ControlEvent[] = [];
  const after: ControlEvent[] = [];
  let nowMs = 0;
  let hasEnded = false;
  const reader = createControlReader(
    (event) => (hasEnded ? after : before).push(event),
    () => nowMs,
  );
  for (const piece of pieces) {
    reader.take(Buffer.from(piece));
    nowMs += secondsApart * 1000;
  }
  hasEnded = true;
  reader.end();
  return { before, after };
}

test("events, of a program that tells its progress 20 times a second for three hours, are all read", () => {
  const pieces = Array.from({ length: 3 * 3600 }, (_, second) => progress(second / 10_800).repeat(20));
  const { before, after } = read([...pieces, END], 1);
  expect(before.length).toBe(20 * 3 * 3600 + 1);
  expect(before.at(-1)).toMatchObject({ type: "end", message: "the reason" });
  expect(after).toEqual([]);
});

test("events, behind far more than is read, are read at the end, of progress the newest alone", () => {
  const flood = progress(0.5).repeat(1_000);
  const last = `${progress(0.6)}${output("report")}${progress(0.7)}${END}`;
  const { before, after } = read([...Array.from({ length: 100 }, () => flood), last], 0);
  expect(before.length * progress(0.5).length).toBeLessThanOrEqual(4 * MIB);
  expect(before.length).toBeGreaterThan(30_000);
  expect(after).toEqual([
    { type: "output", name: "report", file: "report.txt" },
    expect.objectContaining({ type: "end", message: "the reason" }),
    expect.objectContaining({ type: "progress", progress: expect.objectContaining({ fraction: 0.7 }) }),
  ]);
});

test("events, cut where reading stops, are read whole", () => {
  const whole = output("report");
  const junk = `${"9".repeat(32 * 1024)}\n`.repeat(127);
  const { before, after } = read([junk, whole.slice(0, 20), `${whole.slice(20)}${"9".repeat(40_000)}\n`, END], 0);
  expect([before, after.map(({ type }) => type)]).toEqual([[], ["output", "end"]]);
});
