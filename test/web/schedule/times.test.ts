import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseCron } from "../../../domain/cron/cron.ts";
import { REPEATS, readTimes, STEPS, type Times, toCron } from "../../../web/src/schedule/times.ts";

test.each([
  [undefined, "weekly", "0 9 * * 1-5"],
  ["* * * * *", "minutes", "* * * * *"],
  ["*/15 * * * *", "minutes", "*/15 * * * *"],
  ["5 * * * *", "hourly", "5 * * * *"],
  ["30  2 * * *", "daily", "30 2 * * *"],
  ["0 9 * * 1-5", "weekly", "0 9 * * 1-5"],
  ["0 9 * * 1,3", "weekly", "0 9 * * 1,3"],
  ["0 9 * * 5-7", "weekly", "0 9 * * 0,5,6"],
  ["0 0 31 * *", "monthly", "0 0 31 * *"],
])("the fields of a schedule, for %s, are those of %s and mean the same", (given, repeat, cron) => {
  const times = readTimes(given);
  expect([times.repeat, toCron(times)]).toEqual([repeat, cron]);
});

test.each([
  "*/7 * * * *",
  "0 9 1 * 1",
  "0 9-17 * * *",
  "0 9 * JAN *",
  "@daily",
  "70 * * * *",
  "0 25 * * *",
  "0 9 * * MON",
])("the fields of a schedule, for %s that they cannot say, are the expression as it is", (given) => {
  const times = readTimes(given);
  expect([times.repeat, toCron(times)]).toEqual(["cron", given]);
});

test("the fields of a schedule, whatever they hold, make an expression that is read back as itself", () => {
  const two = (max: number) => fc.integer({ min: 0, max }).map((number) => String(number).padStart(2, "0"));
  const times: fc.Arbitrary<Times> = fc.record({
    repeat: fc.constantFrom(...REPEATS.filter((repeat) => repeat !== "cron")),
    step: fc.constantFrom(...STEPS),
    minute: fc.integer({ min: 0, max: 59 }),
    clock: fc.tuple(two(23), two(59)).map((parts) => parts.join(":")),
    weekdays: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 }),
    day: fc.integer({ min: 1, max: 31 }),
    cron: fc.constant(""),
  });
  fc.assert(
    fc.property(times, (chosen) => {
      const cron = toCron(chosen);
      expect(parseCron(cron ?? "").ok).toBe(true);
      expect(toCron(readTimes(cron))).toBe(cron);
    }),
  );
});

test("the fields of a schedule, with one of them empty, make no expression", () => {
  const times = readTimes(undefined);
  expect(toCron({ ...times, clock: "" })).toBeUndefined();
  expect(toCron({ ...times, weekdays: [] })).toBeUndefined();
  expect(toCron({ ...times, repeat: "hourly", minute: Number.NaN })).toBeUndefined();
  expect(toCron({ ...times, repeat: "monthly", day: Number.NaN })).toBeUndefined();
  expect(toCron({ ...times, repeat: "cron", cron: " " })).toBeUndefined();
});
