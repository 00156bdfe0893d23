import { expect, test } from "@jest/globals";
import type { ScheduleSpec } from "@temporalio/client";
import { type Cron, parseCron } from "../../../domain/cron/cron.ts";
import { nextTicks } from "../../../domain/cron/next-runs.ts";
import { nominalTickOf } from "../../../domain/schedules/nominal-ticks.ts";
import { compileSchedule, findHorizon, fingerprintSpec, type TickSpec } from "../../../domain/schedules/tick-spec.ts";
import { listFirings, readOffsets } from "./server-walk.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** From the evening before a change to the end of the day after. */
const BEFORE_MS = 5 * HOUR_MS;
const AFTER_MS = 28 * HOUR_MS;
const YEAR_2026 = { from: new Date("2026-01-01T00:00:00Z"), to: new Date("2027-01-01T00:00:00Z") };

function parse(text: string): Cron {
  const result = parseCron(text);
  if (!result.ok) throw new Error(result.problems.map((problem) => problem.message).join(" "));
  return result.cron;
}

function compile(text: string, timezone: string, horizon = YEAR_2026): TickSpec {
  return compileSchedule(parse(text), timezone, horizon);
}

const ONE = (value: number) => ({ start: value, end: value, step: 1 });

test("compileSchedule, of an ordinary schedule, is one calendar with few ranges and nothing else", () => {
  expect(compile("*/15 8-18 * JAN,MAR-DEC/3 MON-FRI", "Europe/Berlin")).toEqual({
    timezone: "Europe/Berlin",
    calendars: [
      {
        minute: [{ start: 0, end: 45, step: 15 }],
        hour: [{ start: 8, end: 18, step: 1 }],
        month: [
          { start: "JANUARY", end: "JANUARY", step: 1 },
          { start: "MARCH", end: "DECEMBER", step: 3 },
        ],
        dayOfWeek: [{ start: "MONDAY", end: "FRIDAY", step: 1 }],
      },
    ],
    intervals: [],
  });
});

test("compileSchedule, both day fields restricted, is two calendars; with a star one; with a full field one without it", () => {
  const times = { minute: [ONE(0)], hour: [ONE(9)] };
  const friday = [{ start: "FRIDAY", end: "FRIDAY", step: 1 }];
  const calendarsOf = (text: string) => compile(text, "UTC").calendars;
  expect(calendarsOf("0 9 13 * 5")).toEqual([
    { ...times, dayOfMonth: [ONE(13)] },
    { ...times, dayOfWeek: friday },
  ]);
  const odd = [{ start: 1, end: 31, step: 2 }];
  expect(calendarsOf("0 9 */2 * 5")).toEqual([{ ...times, dayOfMonth: odd, dayOfWeek: friday }]);
  expect(calendarsOf("0 9 1-31 * 5")).toEqual([times]);
  expect(calendarsOf("0 9 13 * 0-7")).toEqual([times]);
});

test.each([
  ["* * * * *", "Europe/Berlin", [{ every: MINUTE_MS, offset: 0 }]],
  ["*/5 * * * *", "Asia/Kathmandu", [{ every: 5 * MINUTE_MS, offset: 0 }]],
  ["0 * * * *", "Asia/Kathmandu", [{ every: HOUR_MS, offset: 15 * MINUTE_MS }]],
  ["3-59/10 * * * *", "America/St_Johns", [{ every: 10 * MINUTE_MS, offset: 3 * MINUTE_MS }]],
  [
    "0,20 * * * *",
    "UTC",
    [
      { every: HOUR_MS, offset: 0 },
      { every: HOUR_MS, offset: 20 * MINUTE_MS },
    ],
  ],
])("compileSchedule, of %j in %s, is intervals without a calendar", (text, timezone, intervals) => {
  expect(compile(text, timezone)).toEqual({ timezone, calendars: [], intervals });
});

test("compileSchedule, of all hours where half-hour changes move the minutes, keeps its calendar", () => {
  expect(compile("0 * * * *", "Australia/Lord_Howe").calendars).toEqual([{ minute: [ONE(0)], hour: "*" }]);
});

test("compileSchedule, of a time that does not exist, adds the instant right after the gap", () => {
  const { intervals } = compile("30 2 * * *", "America/New_York");
  expect(intervals.map(({ every }) => new Date(every).toISOString())).toEqual([
    "2026-03-08T07:00:00.000Z",
    "2026-11-01T07:30:00.000Z",
  ]);
});

test("compileSchedule, as Temporal's client takes it, is a ScheduleSpec", () => {
  const spec: ScheduleSpec = compile("*/7 2 1-8,20 1 SUN,TUE", "America/New_York");
  expect(spec.calendars).toHaveLength(2);
});

test("fingerprintSpec, of schedules written in two ways, is one; of another time, zone or horizon with another change, another", () => {
  const of = (...given: Parameters<typeof compile>) => fingerprintSpec(compile(...given));
  const zone = "Europe/Berlin";
  expect(of("*/30 9 * JAN 1-5", zone)).toBe(of("0,30 9 * 1 MON-FRI", zone));
  expect(of("0 9 * * *", zone)).not.toBe(of("0 9 * * *", "Europe/Paris"));
  expect(of("0 9 * * *", zone)).not.toBe(of("0 10 * * *", zone));
  const later = { from: YEAR_2026.to, to: new Date("2028-01-01T00:00:00Z") };
  expect(of("0 9 * * *", zone)).toBe(of("0 9 * * *", zone, later));
  expect(of("30 2 * * *", zone)).not.toBe(of("30 2 * * *", zone, later));
});

test("findHorizon, at any day, is a quarter's beginning and at least a year ahead", () => {
  const { from, to } = findHorizon(new Date("2026-11-21T15:00:00Z"));
  expect([from.toISOString(), to.toISOString()]).toEqual(["2026-10-01T00:00:00.000Z", "2028-01-01T00:00:00.000Z"]);
});

// Every change of the clock of ten years, in zones of all kinds.

const ZONES = [
  "UTC",
  "Europe/Berlin",
  "Europe/London",
  "America/New_York",
  "America/St_Johns",
  "America/Havana",
  "America/Santiago",
  "Atlantic/Azores",
  "Australia/Adelaide",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "Pacific/Apia",
  "Asia/Kathmandu",
  "Asia/Tehran",
  "Asia/Beirut",
  "Africa/Casablanca",
  "Antarctica/Troll",
];

const EXPRESSIONS = [
  "* * * * *",
  "0 * * * *",
  "0,45 * * * *",
  "*/7 */2 * * *",
  "15 1-23/2 * * *",
  "*/20 * * * 0",
  "5 * 1-7 * *",
  "*/30 0-23 * * *",
  "0 0 * * *",
  "30 0 * * *",
  "45 0,23 * * *",
  "0 1 * * *",
  "30 1 * * *",
  "59 1 * * *",
  "0 2 * * *",
  "15,45 2 * * *",
  "0 3 * * *",
  "30 2,3 * * *",
  "*/10 1-3 * * *",
  "0 9 * * 1-5",
  "0 9,21 * * 0",
  "30 2 * * SUN,SAT",
  "0 0 30 * 0",
  "0 2 1-7 * SUN",
  "0 2 */2 * SUN",
];

/** The instants of a zone's changes, found hour by hour and then by the quarter. */
function listChanges(timezone: string, from: number, to: number): number[] {
  const offsetAt = readOffsets(timezone);
  const found: number[] = [];
  for (let at = from; at < to; at += 12 * HOUR_MS) {
    if (offsetAt(at) === offsetAt(at + 12 * HOUR_MS)) continue;
    let change = at;
    while (offsetAt(change) === offsetAt(at)) change += 15 * MINUTE_MS;
    found.push(change);
  }
  return found;
}

/** The firings that are left behind the guard are our ticks, each once; what it holds back repeats one of them or means nothing. */
function compareFirings(
  spec: TickSpec,
  cron: Cron,
  span: { fromMs: number; toMs: number; how: "really" | "documented" },
) {
  const { timezone } = spec;
  const expected = nextTicks(cron, timezone, new Date(span.fromMs), 1e6, new Date(span.toMs)).map(Number);
  const nominal = listFirings(spec, span).map((at) => nominalTickOf(cron, timezone, new Date(at)));
  const first = nominal.flatMap((tick) => (tick === undefined || tick.isRepeat ? [] : [tick.at.getTime()]));
  const ticks = new Set(expected);
  const strays = nominal.filter(
    (tick) => tick?.isRepeat && tick.at.getTime() > span.fromMs && !ticks.has(tick.at.getTime()),
  );
  const where = `${cron.text} in ${timezone} around ${new Date((span.fromMs + span.toMs) / 2).toISOString()}`;
  expect({ where, ticks: first.map(toText), strays }).toEqual({ where, ticks: expected.map(toText), strays: [] });
}

function toText(instantMs: number): string {
  return new Date(instantMs).toISOString();
}

const TEN_YEARS = { from: new Date("2020-01-01T00:00:00Z"), to: new Date("2030-01-01T00:00:00Z") };

test.each(ZONES)(
  "compileSchedule, in %s at every change of ten years, fires our ticks and no others behind the guard",
  (timezone) => {
    const changes = listChanges(timezone, TEN_YEARS.from.getTime(), TEN_YEARS.to.getTime());
    if (changes.length === 0) changes.push(Date.UTC(2026, 2, 29, 1));
    for (const text of EXPRESSIONS) {
      const cron = parse(text);
      const spec = compileSchedule(cron, timezone, TEN_YEARS);
      for (const at of changes)
        compareFirings(spec, cron, { fromMs: at - BEFORE_MS, toMs: at + AFTER_MS, how: "really" });
    }
  },
);

test.each(["Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "America/New_York"])(
  "compileSchedule, in %s with a server that walked as its documents say, would fire the same",
  (timezone) => {
    for (const text of EXPRESSIONS) {
      const cron = parse(text);
      const spec = compileSchedule(cron, timezone, YEAR_2026);
      for (const at of listChanges(timezone, YEAR_2026.from.getTime(), YEAR_2026.to.getTime()))
        compareFirings(spec, cron, { fromMs: at - BEFORE_MS, toMs: at + AFTER_MS, how: "documented" });
    }
  },
);

// The server itself goes round in circles there: no such day has come since 2011.
test("compileSchedule, over the day that Samoa left out, fires what fell into it once, right after", () => {
  const horizon = { from: new Date("2011-10-01T00:00:00Z"), to: new Date("2012-03-01T00:00:00Z") };
  const span = { fromMs: Date.parse("2011-12-28T00:00:00Z"), toMs: Date.parse("2012-01-02T00:00:00Z") };
  for (const text of [...EXPRESSIONS, "0 8,9 30 12 *", "0 9 * * 5"]) {
    const cron = parse(text);
    compareFirings(compileSchedule(cron, "Pacific/Apia", horizon), cron, { ...span, how: "documented" });
  }
});

test.each([
  ["30 2 * * *", "Europe/Berlin"],
  ["0 9 * * 0", "America/Havana"],
  ["0 2 1-7 * SUN", "Australia/Lord_Howe"],
  ["0 */3 * * *", "Africa/Casablanca"],
  ["*/30 22-23 31 * *", "America/St_Johns"],
])("compileSchedule, of %j in %s, fires our ticks all the year", (text, timezone) => {
  const span = { fromMs: YEAR_2026.from.getTime(), toMs: YEAR_2026.to.getTime() - DAY_MS };
  compareFirings(compile(text, timezone), parse(text), { ...span, how: "really" });
});
