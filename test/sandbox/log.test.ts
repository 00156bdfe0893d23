import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createLogRecorder } from "../../sandbox/log.ts";
import type { LogLine } from "../../sandbox/request.ts";

let dir: string;
let path: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "treadle-log-"));
  path = join(dir, "log.ndjson");
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

const linesOf = (): string[] =>
  readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((text) => JSON.parse(text) as LogLine)
    .map(({ id, stream, text }) => `${id} ${stream} ${text}`);

/** Records one attempt; answers what its recorder says at the end. */
async function record(texts: readonly string[], given: { note?: string; bytesMax?: number; idsAfter?: number } = {}) {
  const log = createLogRecorder(path, given.bytesMax ?? 1_000, { idsAfter: given.idsAfter });
  if (given.note !== undefined) log.note(given.note);
  for (const text of texts) log.add("stdout", Buffer.from(text));
  return log.close();
}

test("a log, of a second attempt, goes on behind the first, without the half line that a killed service left", async () => {
  await record(["one\ntwo\n"]);
  appendFileSync(path, '{"id":3,"time":"2026-05-01T10:00:00.000Z","stream":"stdout","te');
  const end = await record(["three\n"], { note: "Attempt 2 begins." });
  expect(linesOf()).toEqual(["1 stdout one", "2 stdout two", "3 system Attempt 2 begins.", "4 stdout three"]);
  expect(end).toEqual({ logBytes: 6 + 17 + 6, logTruncated: false });
});

test("a log, whose first attempt has reached the bound, takes no more than the remark of the second", async () => {
  const bytesMax = 40;
  await record([`${"a".repeat(30)}\n`, `${"b".repeat(30)}\n`], { bytesMax });
  await record(["more\n"], { bytesMax, note: "Attempt 2 begins." });
  const cut = "system The log is cut here: it reached its limit of 40 bytes.";
  const first = [`1 stdout ${"a".repeat(30)}`, `2 stdout ${"b".repeat(9)}`, `3 ${cut}`];
  expect(linesOf()).toEqual([...first, "4 system Attempt 2 begins.", `5 ${cut}`]);
});

test("a log, of an attempt whose earlier ones wrote on another host, has ids above theirs", async () => {
  await record(["one\n"], { idsAfter: 1_000_000 });
  expect(linesOf()).toEqual(["1000001 stdout one"]);
});

test("a log that is held, short and new, is returned as it would be written; one that goes on, or that was written in part, is a file", async () => {
  const held = createLogRecorder(path, 1_000);
  held.add("stdout", Buffer.from("one\ntw"));
  const { logBytes, logText } = await held.close(true);
  expect([logBytes, existsSync(path)]).toEqual([6, false]);
  const lines = logText
    ?.trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as LogLine);
  expect(lines?.map(({ id, text }) => `${id} ${text}`)).toEqual(["1 one", "2 tw"]);

  for (const text of ["a".repeat(65_537), "further"]) {
    const log = createLogRecorder(path, 100_000);
    log.add("stdout", Buffer.from(`${text}\n`));
    expect(await log.close(true)).toMatchObject({ logText: undefined });
  }
  expect(linesOf().at(-1)).toBe("3 stdout further");
});
