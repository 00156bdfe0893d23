import { expect, test } from "@jest/globals";
import { parseCron } from "../../../domain/cron/cron.ts";
import { nominalTickOf } from "../../../domain/schedules/nominal-ticks.ts";

function of(text: string, timezone: string, firedAt: string) {
  const result = parseCron(text);
  if (!result.ok) throw new Error(text);
  const tick = nominalTickOf(result.cron, timezone, new Date(firedAt));
  return tick && `${tick.at.toISOString().slice(0, 16)}${tick.isRepeat ? " again" : ""}`;
}

test("nominalTickOf, a firing within the minute of a tick, is that tick", () => {
  expect(of("30 9 * * *", "Europe/Berlin", "2026-05-04T07:30:00.000Z")).toBe("2026-05-04T07:30");
  expect(of("30 9 * * *", "Europe/Berlin", "2026-05-04T07:30:59.999Z")).toBe("2026-05-04T07:30");
});

test("nominalTickOf, a firing at another minute, is nothing", () => {
  expect(of("30 9 * * *", "Europe/Berlin", "2026-05-04T07:31:00Z")).toBeUndefined();
  expect(of("30 9 * * *", "Europe/Berlin", "2026-05-04T08:30:00Z")).toBeUndefined();
});

test.each([
  ["30 2 * * *", "Europe/Berlin", "2026-10-25T00:30Z", "2026-10-25T01:30Z"],
  ["30 1 * * *", "America/New_York", "2026-11-01T05:30Z", "2026-11-01T06:30Z"],
  ["45 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:45Z", "2026-04-04T15:15Z"],
  ["*/30 0-23 * * *", "Atlantic/Azores", "2026-10-25T00:30Z", "2026-10-25T01:30Z"],
])("nominalTickOf, of %j in %s, knows the first firing from the second", (text, timezone, first, second) => {
  expect(of(text, timezone, first)).toBe(first.slice(0, 16));
  expect(of(text, timezone, second)).toBe(`${first.slice(0, 16)} again`);
});

test("nominalTickOf, with a star for hours, takes both of a repeated time", () => {
  expect(of("30 * * * *", "Europe/Berlin", "2026-10-25T00:30Z")).toBe("2026-10-25T00:30");
  expect(of("30 * * * *", "Europe/Berlin", "2026-10-25T01:30Z")).toBe("2026-10-25T01:30");
});

test("nominalTickOf, in and after a gap, is the one tick right after it", () => {
  expect(of("30 2 * * *", "Europe/Berlin", "2026-03-29T01:00Z")).toBe("2026-03-29T01:00");
  expect(of("30 2 * * *", "Europe/Berlin", "2026-03-29T01:30Z")).toBeUndefined();
  expect(of("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T15:45Z")).toBeUndefined();
});
