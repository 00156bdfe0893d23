import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseDate, parseDateTime } from "../../../domain/cron/calendar-dates.ts";
import { formatDuration, parseDuration } from "../../../domain/manifest/durations.ts";
import { countCharacters } from "../../../domain/manifest/json-values.ts";
import { findNearest } from "../../../domain/manifest/nearest.ts";
import { formatBytes, formatSize, parseSize } from "../../../domain/manifest/sizes.ts";

test.each<[string | number, number | undefined]>([
  ["5m", 300],
  ["90s", 90],
  ["1h", 3_600],
  ["1h30m", 5_400],
  ["1.5h", 5_400],
  ["250ms", 0.25],
  ["2d", 172_800],
  ["1m1s1ms", 61.001],
  [300, 300],
  [0.0004, 0],
  [" 5m ", 300],
  ["5", undefined],
  ["m", undefined],
  ["", undefined],
  ["5 m", undefined],
  ["5M", undefined],
  ["30m1h", undefined],
  ["5m5m", undefined],
  ["-5m", undefined],
  [-1, undefined],
  [Number.NaN, undefined],
  ["1e3s", undefined],
])("parseDuration, %j, is %j seconds", (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});

test("formatDuration, any whole number of milliseconds, is read back as it was", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10 ** 9 }), (ms) => parseDuration(formatDuration(ms / 1_000)) === ms / 1_000),
  );
  expect(formatDuration(5_400)).toBe("1h30m");
});

test.each<[string | number, number | undefined]>([
  ["50MB", 50_000_000],
  ["1GiB", 1_073_741_824],
  ["1TiB", 1_099_511_627_776],
  ["1.5TB", 1_500_000_000_000],
  ["512MiB", 536_870_912],
  ["1.5 GB", 1_500_000_000],
  ["10kB", 10_000],
  ["1KB", 1_000],
  ["100B", 100],
  [1_024, 1_024],
  ["50", undefined],
  ["50M", undefined],
  ["", undefined],
  [-1, undefined],
  [1.5, undefined],
  ["1PB", undefined],
])("parseSize, %j, is %j bytes", (text, bytes) => {
  expect(parseSize(text)).toBe(bytes);
});

test("formatBytes, of a file and of what was sent of it, has one kind of unit", () => {
  expect([314_572_800, 157_286_400, 1_048_576, 12].map(formatBytes)).toEqual([
    "314.57 MB",
    "157.29 MB",
    "1.05 MB",
    "12 bytes",
  ]);
});

test("formatSize, sizes people set, come out as they were written", () => {
  const binary = [2 ** 40, 1_073_741_824, 536_870_912];
  expect([50_000_000, 2_000_000_000, 2e12, ...binary, 1_500, 12, 1].map(formatSize)).toEqual([
    "50 MB",
    "2 GB",
    "2 TB",
    "1 TiB",
    "1 GiB",
    "512 MiB",
    "1.5 kB",
    "12 bytes",
    "1 byte",
  ]);
});

test("findNearest, slips of the pen, finds what was meant and nothing far away", () => {
  expect(findNearest("timout", ["memory", "timeout", "cpu"])).toBe("timeout");
  expect(findNearest("TIMEOUT", ["timeout"])).toBe("timeout");
  expect(findNearest("cup", ["memory", "cpu"])).toBe("cpu");
  expect(findNearest("banana", ["memory", "timeout", "cpu"])).toBeUndefined();
  expect(findNearest("x".repeat(10_000), ["x"])).toBeUndefined();
});

test("countCharacters, any text, counts code points as Python does", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => countCharacters(text) === Array.from(text).length));
});

test("parseDate, any day of four centuries, agrees with the calendar", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1_800, max: 2_200 }),
      fc.integer({ min: 0, max: 13 }),
      fc.integer({ min: 0, max: 32 }),
      (year, month, day) => {
        const text = `${year}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
        const date = new Date(`${text}T00:00:00Z`);
        const exists = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
        expect(parseDate(text)).toBe(exists ? date.getTime() / 86_400_000 : undefined);
      },
    ),
  );
  expect(parseDate("2000-02-29")).toBe(Date.UTC(2000, 1, 29) / 86_400_000);
  expect(parseDate("1900-02-29")).toBeUndefined();
  expect(parseDate("0000-01-01")).toBeUndefined();
  expect(parseDate("0001-01-01")).toBe(-719_162);
});

test.each([
  ["2026-05-01T09:30:00Z", "2026-05-01T09:30:00Z"],
  ["2026-05-01T09:30:00+02:00", "2026-05-01T07:30:00Z"],
  ["2026-05-01T09:30:00.25-05:30", "2026-05-01T15:00:00.250Z"],
  ["2026-05-01T09:30", "2026-05-01T09:30:00Z"],
  ["2026-05-01T09:30:00", "2026-05-01T09:30:00Z"],
])("parseDateTime, %s, is the instant %s", (text, instant) => {
  expect(parseDateTime(text)).toBe(Date.parse(instant) * 1_000);
});

test.each([
  "2026-05-01",
  "2026-05-01T24:00:00Z",
  "2026-05-01T09:60:00Z",
  "2026-05-01T09:30:60Z",
  "2026-02-29T00:00:00Z",
  "2026-05-01t09:30:00z",
  "2026-05-01T09:30:00+25:00",
  "2026-05-01T09:30:00.1234567Z",
])("parseDateTime, %s, is refused", (text) => {
  expect(parseDateTime(text)).toBeUndefined();
});
