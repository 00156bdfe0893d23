import { expect, test } from "@jest/globals";
import type { Schedule } from "../../../domain/manifest/manifest.ts";
import { findScheduleChange } from "../../../domain/schedules/changes.ts";

const SCHEDULE: Schedule = {
  enabled: true,
  cron: "0 9 * * 1-5",
  timezone: "Europe/Berlin",
  payload: { a: 1, b: 2 },
  overlap: "skip",
  catchup: "latest",
  maxLatenessSeconds: 3_600,
  jitterSeconds: 0,
};
const WORDS = "every weekday at 09:00, Europe/Berlin";

test.each([
  ["that is new", null, SCHEDULE, { change: "added", before: null, after: WORDS }],
  ["that is gone", SCHEDULE, null, { change: "removed", before: WORDS, after: null }],
  [
    "that is paused",
    SCHEDULE,
    { ...SCHEDULE, enabled: false },
    { change: "paused", before: WORDS, after: `${WORDS}, paused` },
  ],
  [
    "that goes on",
    { ...SCHEDULE, enabled: false },
    SCHEDULE,
    { change: "resumed", before: `${WORDS}, paused`, after: WORDS },
  ],
  [
    "at another time",
    SCHEDULE,
    { ...SCHEDULE, cron: "0 8 * * 1-5" },
    { change: "changed", before: WORDS, after: "every weekday at 08:00, Europe/Berlin" },
  ],
  [
    "with other inputs",
    SCHEDULE,
    { ...SCHEDULE, payload: { a: 1 } },
    { change: "changed", before: WORDS, after: `${WORDS}, with other inputs or policies` },
  ],
])("findScheduleChange, of a schedule %s, says so in plain words", (_what, before, after, change) => {
  expect(findScheduleChange(before, after)).toEqual(change);
});

test("findScheduleChange, of none or of the same with its keys in another order, is null", () => {
  expect(findScheduleChange(null, null)).toBeNull();
  expect(findScheduleChange(SCHEDULE, { ...SCHEDULE, payload: { b: 2, a: 1 } })).toBeNull();
});
