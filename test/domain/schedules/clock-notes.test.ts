import { expect, test } from "@jest/globals";
import { nextTicks } from "../../../domain/cron/next-runs.ts";
import { findClockNote } from "../../../domain/schedules/clock-notes.ts";
import { cronOf } from "../../../domain/schedules/declaration.ts";
import { parseInstant } from "../../../domain/schedules/instants.ts";

/** The notes of the ticks after an instant, by their times in UTC. */
function notesOf(expression: string, timezone: string, after: string, count: number): Record<string, string> {
  const cron = cronOf({ cron: expression });
  const ticks = nextTicks(cron, timezone, new Date(after), count);
  return Object.fromEntries(
    ticks.flatMap((tick) => {
      const note = findClockNote(cron, timezone, tick);
      return note === undefined ? [] : [[tick.toISOString().slice(0, 16), note]];
    }),
  );
}

const FORWARD = "the clock is put forward from 02:00 to 03:00";

test.each<[string, string, string, Record<string, string>]>([
  ["30 2 * * *", "Europe/Berlin", "2026-03-27T00:00Z", { "2026-03-29T01:00": `02:30 does not exist: ${FORWARD}` }],
  [
    "0,30 2 * * *",
    "Europe/Berlin",
    "2026-03-28T12:00Z",
    { "2026-03-29T01:00": `02:00 and 02:30 do not exist: ${FORWARD}` },
  ],
  [
    "*/10 2 * * *",
    "Europe/Berlin",
    "2026-03-28T12:00Z",
    { "2026-03-29T01:00": `02:00, 02:10, 02:20 and more do not exist: ${FORWARD}` },
  ],
  // Due then in any case, and nothing is missing.
  ["0 3 * * *", "Europe/Berlin", "2026-03-28T12:00Z", {}],
  ["30 * * * *", "Europe/Berlin", "2026-03-28T23:00Z", {}],
  ["0,30 * * * *", "Europe/Berlin", "2026-03-28T23:00Z", {}],
  [
    "15 2 * * *",
    "Australia/Lord_Howe",
    "2026-10-03T00:00Z",
    { "2026-10-03T15:30": "02:15 does not exist: the clock is put forward from 02:00 to 02:30" },
  ],
  [
    "0 12 * * *",
    "Pacific/Apia",
    "2011-12-29T00:00Z",
    {
      "2011-12-30T10:00":
        "2011-12-30 12:00 does not exist: the clock is put forward from 2011-12-30 00:00 to 2011-12-31 00:00",
    },
  ],
])("findClockNote, %s of %s over a gap, names what is missing and nothing else", (cron, zone, after, notes) => {
  expect(notesOf(cron, zone, after, 5)).toEqual(notes);
});

const TWICE = "comes twice that day";

test.each<[string, string, string, Record<string, string>]>([
  [
    "30 2 * * *",
    "Europe/Berlin",
    "2026-10-23T00:00Z",
    { "2026-10-25T00:30": `02:30 ${TWICE}: it runs once, the first time` },
  ],
  [
    "30 * * * *",
    "Europe/Berlin",
    "2026-10-24T23:00Z",
    {
      "2026-10-25T00:30": `02:30 ${TWICE}: this is the first time`,
      "2026-10-25T01:30": `02:30 ${TWICE}: this is the second time`,
    },
  ],
  ["0 3 * * *", "Europe/Berlin", "2026-10-24T12:00Z", {}],
  ["59 1 * * *", "Europe/Berlin", "2026-10-24T12:00Z", {}],
  [
    "45 1 * * *",
    "Australia/Lord_Howe",
    "2026-04-03T00:00Z",
    { "2026-04-04T14:45": `01:45 ${TWICE}: it runs once, the first time` },
  ],
  ["30 2 * * *", "Asia/Kathmandu", "2026-10-23T00:00Z", {}],
])("findClockNote, %s of %s over a fold, says which time it is and nothing else", (cron, zone, after, notes) => {
  expect(notesOf(cron, zone, after, 5)).toEqual(notes);
});

test.each([
  ["2026-11-02T09:00:00Z", "Europe/Berlin", "2026-11-02T09:00:00.000Z"],
  ["2026-11-02T09:00+01:00", "America/New_York", "2026-11-02T08:00:00.000Z"],
  ["2026-11-02T09:00:30.5", "Europe/Berlin", "2026-11-02T08:00:30.500Z"],
  ["2026-11-02T09:00", "Asia/Kathmandu", "2026-11-02T03:15:00.000Z"],
  ["2026-11-02", "America/New_York", "2026-11-02T05:00:00.000Z"],
  // Its midnight does not exist; comes twice; the whole day does not exist.
  ["2026-03-08", "America/Havana", "2026-03-08T05:00:00.000Z"],
  ["2026-11-01", "America/Havana", "2026-11-01T04:00:00.000Z"],
  ["2011-12-30", "Pacific/Apia", "2011-12-30T10:00:00.000Z"],
  ["2026-03-29T03:00", "Europe/Berlin", "2026-03-29T01:00:00.000Z"],
  ["2026-10-25T03:00", "Europe/Berlin", "2026-10-25T02:00:00.000Z"],
])("parseInstant, %s by the clock of %s, is %s", (text, timezone, expected) => {
  const parsed = parseInstant(text, timezone);
  expect(parsed.ok ? parsed.at.toISOString() : parsed.message).toBe(expected);
});

test.each([
  ["2026-03-29T02:30", "does not exist in Europe/Berlin"],
  ["2026-10-25T02:00", "comes twice in Europe/Berlin"],
  ["2026-02-30", "is not a time"],
  ["2026-02-30T09:00Z", "is not a time"],
  ["yesterday", "is not a time"],
  ["", "is not a time"],
  ["2026-11-02 09:00", "is not a time"],
  ["0001-01-01T00:00Z", "is before 1970-01-02"],
])("parseInstant, %s, is refused in words that go on from its name", (text, message) => {
  expect(parseInstant(text, "Europe/Berlin")).toEqual({ ok: false, message: expect.stringContaining(message) });
});
