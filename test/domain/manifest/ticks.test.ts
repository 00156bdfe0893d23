import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Cron, parseCron } from "../../../domain/cron/cron.ts";
import { formatLocal, nextTicks } from "../../../domain/cron/next-runs.ts";
import { previousTick } from "../../../domain/cron/previous-tick.ts";
import { readProcessorMs } from "../../support/processor.ts";

const MINUTE_MS = 60_000;
const NEW_YORK = "America/New_York";

function parse(text: string): Cron {
  const result = parseCron(text);
  if (!result.ok) throw new Error(result.problems.map((problem) => problem.message).join(" "));
  return result.cron;
}

function ticksBetween(text: string, zone: string, from: string, until: string): string[] {
  return nextTicks(parse(text), zone, new Date(from), 10_000, new Date(until)).map((tick) => formatLocal(tick, zone));
}

test.each([
  ["30 2 * * *", ["2026-03-08T03:00:00-04:00"]],
  ["*/30 2 * * *", ["2026-03-08T03:00:00-04:00"]],
  ["*/30 2,3 * * *", ["2026-03-08T03:00:00-04:00", "2026-03-08T03:30:00-04:00"]],
  ["30 1-3 * * *", ["2026-03-08T01:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T03:30:00-04:00"]],
  ["30 */2 8 * *", ["00:30:00-05:00", "04:30:00-04:00", "06:30:00-04:00"].map((time) => `2026-03-08T${time}`)],
  [
    "45 * * * *",
    ["00:45:00-05:00", "01:45:00-05:00", "03:45:00-04:00", "04:45:00-04:00", "05:45:00-04:00", "06:45:00-04:00"].map(
      (time) => `2026-03-08T${time}`,
    ),
  ],
])("nextTicks, %j on the day of the gap, fires %j", (text, expected) => {
  expect(ticksBetween(text, NEW_YORK, "2026-03-08T04:59:59Z", "2026-03-08T11:00:00Z")).toEqual(expected);
});

test.each([
  ["30 1 * * *", ["2026-11-01T01:30:00-04:00"]],
  ["*/30 1 * * *", ["2026-11-01T01:00:00-04:00", "2026-11-01T01:30:00-04:00"]],
  ["0 0-2 * * *", ["2026-11-01T00:00:00-04:00", "2026-11-01T01:00:00-04:00", "2026-11-01T02:00:00-05:00"]],
  [
    "30 * * * *",
    ["00:30:00-04:00", "01:30:00-04:00", "01:30:00-05:00", "02:30:00-05:00"].map((time) => `2026-11-01T${time}`),
  ],
  [
    "*/30 */1 1 * *",
    [
      "00:00:00-04:00",
      "00:30:00-04:00",
      "01:00:00-04:00",
      "01:30:00-04:00",
      "01:00:00-05:00",
      "01:30:00-05:00",
      "02:00:00-05:00",
      "02:30:00-05:00",
    ].map((time) => `2026-11-01T${time}`),
  ],
])("nextTicks, %j on the day of the fold, fires %j", (text, expected) => {
  expect(ticksBetween(text, NEW_YORK, "2026-11-01T03:59:59Z", "2026-11-01T07:59:00Z")).toEqual(expected);
});

test("nextTicks, asked between a time and its repetition, does not fire again", () => {
  const between = new Date("2026-11-01T05:45:00Z");
  expect(nextTicks(parse("30 1 * * *"), NEW_YORK, between, 1)).toEqual([new Date("2026-11-02T06:30:00Z")]);
});

test("nextTicks, day and weekday both restricted, takes either; with a star both", () => {
  const days = (text: string) =>
    ticksBetween(text, "UTC", "2026-02-28T12:00:00Z", "2026-03-31T12:00:00Z").map((tick) => tick.slice(8, 10));
  expect(days("0 0 13 * 5")).toEqual(["06", "13", "20", "27"]);
  expect(days("0 0 1,13 * 5")).toEqual(["01", "06", "13", "20", "27"]);
  expect(days("0 0 */2 * 5")).toEqual(["13", "27"]);
  expect(days("0 0 13-20 * */7")).toEqual(["15"]);
});

test("nextTicks, 29 February, finds the leap years and skips 2100", () => {
  const years = nextTicks(
    parse("0 0 29 2 *"),
    "Europe/Berlin",
    new Date("2090-01-01T00:00:00Z"),
    5,
    new Date("2110-01-01T00:00:00Z"),
  );
  expect(years.map((tick) => tick.getUTCFullYear())).toEqual([2092, 2096, 2104, 2108]);
});

test("nextTicks, without an end given, stops at the end of 2100", () => {
  expect(nextTicks(parse("0 0 29 2 *"), "UTC", new Date("2096-03-01T00:00:00Z"), 5)).toEqual([]);
  expect(nextTicks(parse("0 12 31 12 *"), "UTC", new Date("2099-01-01T00:00:00Z"), 5)).toHaveLength(2);
});

test("nextTicks, a tick at the very moment, counts the next one, and an end is included", () => {
  const at = new Date("2026-05-01T00:00:00Z");
  expect(nextTicks(parse("0 0 * * *"), "UTC", at, 1)).toEqual([new Date("2026-05-02T00:00:00Z")]);
  expect(nextTicks(parse("0 0 * * *"), "UTC", new Date(at.getTime() - 1), 9, at)).toEqual([at]);
});

test("nextTicks, a day that a zone left out, fires once when the next one begins", () => {
  expect(ticksBetween("0 8,9 30 12 *", "Pacific/Apia", "2011-12-28T00:00:00Z", "2012-01-03T00:00:00Z")).toEqual([
    "2011-12-31T00:00:00+14:00",
  ]);
});

test("nextTicks, a clock put back over New Year, does not repeat", () => {
  expect(ticksBetween("30 23 * * *", "Asia/Dhaka", "2009-12-31T00:00:00Z", "2010-01-01T12:00:00Z")).toHaveLength(1);
});

test("nextTicks, 10,000 calls, take less than 2 seconds", () => {
  const cron = parse("30 2 * * 1-5");
  const since = readProcessorMs();
  for (let call = 0; call < 10_000; call += 1) {
    nextTicks(cron, "Europe/Berlin", new Date(Date.UTC(2026, 0, 1) + call * 3_600_000), 1);
  }
  expect(readProcessorMs() - since).toBeLessThan(2_000);
});

test("formatLocal, half-hour and negative zones, carry their offset", () => {
  const instant = new Date("2026-01-15T12:00:00Z");
  expect(formatLocal(instant, "Asia/Kolkata")).toBe("2026-01-15T17:30:00+05:30");
  expect(formatLocal(instant, "America/St_Johns")).toBe("2026-01-15T08:30:00-03:30");
  expect(formatLocal(instant, "UTC")).toBe("2026-01-15T12:00:00+00:00");
});

// The reference knows nothing of the module: it reads the wall clock of every minute, one after the other.

interface Fields {
  readonly minute: readonly number[];
  readonly hour: readonly number[] | "*" | number;
  readonly day: readonly number[] | "*";
  readonly weekday: readonly number[] | "*";
}

function textOf(fields: Fields): string {
  const hour = typeof fields.hour === "number" ? `*/${fields.hour}` : fields.hour === "*" ? "*" : fields.hour.join(",");
  const list = (values: readonly number[] | "*") => (values === "*" ? "*" : values.join(","));
  return `${fields.minute.join(",")} ${hour} ${list(fields.day)} * ${list(fields.weekday)}`;
}

/** Local minutes as milliseconds that are read as if they were UTC. */
function clockOf(zone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
  return (instant) => {
    const [day, month, year, hour, minute] = (format.format(instant).match(/\d+/g) as string[]).map(Number) as [
      number,
      number,
      number,
      number,
      number,
    ];
    return Date.UTC(year, month - 1, day, hour, minute);
  };
}

function isShown(fields: Fields, local: number): boolean {
  const date = new Date(local);
  if (!fields.minute.includes(date.getUTCMinutes())) return false;
  const hour = date.getUTCHours();
  if (typeof fields.hour === "number" ? hour % fields.hour !== 0 : fields.hour !== "*" && !fields.hour.includes(hour))
    return false;
  const day = fields.day === "*" || fields.day.includes(date.getUTCDate());
  const weekday = fields.weekday === "*" || fields.weekday.includes(date.getUTCDay());
  return fields.day !== "*" && fields.weekday !== "*" ? day || weekday : day && weekday;
}

function scanMinutes(fields: Fields, zone: string, from: number, until: number): number[] {
  const clock = clockOf(zone);
  const follows = typeof fields.hour === "number" || fields.hour === "*";
  const ticks: number[] = [];
  const lead = 3 * 60 * MINUTE_MS;
  let latest = clock(from - lead);
  for (let instant = from - lead + MINUTE_MS; instant <= until; instant += MINUTE_MS) {
    const local = clock(instant);
    let fires = isShown(fields, local) && (follows || local > latest);
    for (let missed = latest + MINUTE_MS; missed < local && !follows; missed += MINUTE_MS)
      fires ||= isShown(fields, missed);
    latest = Math.max(latest, local);
    if (fires && instant > from) ticks.push(instant);
  }
  return ticks;
}

const SCANS = [
  ["America/New_York", "2026-03-07T00:00:00Z"],
  ["America/New_York", "2026-10-31T00:00:00Z"],
  ["Europe/Berlin", "2026-03-28T00:00:00Z"],
  ["Europe/Berlin", "2026-10-24T00:00:00Z"],
  ["Australia/Lord_Howe", "2026-04-03T12:00:00Z"],
  ["Australia/Lord_Howe", "2026-10-02T12:00:00Z"],
  ["America/St_Johns", "2010-11-06T00:00:00Z"],
  ["America/Havana", "2026-10-31T00:00:00Z"],
  ["Asia/Kolkata", "2026-06-29T00:00:00Z"],
  ["Asia/Kathmandu", "2026-02-27T00:00:00Z"],
  ["Africa/Casablanca", "2026-02-14T00:00:00Z"],
  ["Pacific/Chatham", "2026-04-03T18:00:00Z"],
  ["Asia/Beirut", "2026-03-28T00:00:00Z"],
  ["America/Sao_Paulo", "2018-02-16T12:00:00Z"],
  ["Antarctica/Troll", "2026-03-28T00:00:00Z"],
] as const;

const someOf = (max: number, count: number) =>
  fc.uniqueArray(fc.integer({ min: 0, max }), { minLength: 1, maxLength: count });
const anyFields: fc.Arbitrary<Fields> = fc.record({
  minute: fc.oneof(someOf(59, 4), fc.constant([0, 30]), fc.constant([0])),
  hour: fc.oneof(someOf(3, 3), someOf(23, 4), fc.constant("*" as const), fc.integer({ min: 2, max: 6 })),
  day: fc.oneof(
    fc.constant("*" as const),
    someOf(27, 9).map((days) => days.map((day) => day + 1)),
  ),
  weekday: fc.oneof(fc.constant("*" as const), someOf(6, 3)),
});

test.each(SCANS)("nextTicks, any expression in %s from %s, agrees with a scan of every minute", (zone, start) => {
  const from = Date.parse(start);
  const until = from + 3 * 1_440 * MINUTE_MS;
  fc.assert(
    fc.property(anyFields, fc.integer({ min: 0, max: 1_440 }), (fields, minutes) => {
      const after = from + minutes * MINUTE_MS;
      const found = nextTicks(parse(textOf(fields)), zone, new Date(after), 10_000, new Date(until));
      expect(found.map((tick) => tick.getTime())).toEqual(scanMinutes(fields, zone, after, until));
    }),
    { numRuns: 12 },
  );
});

test.each([
  ["* * * * *", NEW_YORK, "2026-11-01T05:50:00Z", "2026-11-01T06:10:00Z"],
  ["30 * * * *", NEW_YORK, "2026-10-31T00:00:00Z", "2026-11-02T00:00:00Z"],
  ["30 2 * * *", "Europe/Berlin", "2026-03-25T00:00:00Z", "2026-04-02T00:00:00Z"],
  ["*/20 1-2 * FEB *", "Australia/Lord_Howe", "2024-01-01T00:00:00Z", "2026-12-31T00:00:00Z"],
  ["0 0 29 2 1", "UTC", "1971-01-01T00:00:00Z", "2100-12-31T00:00:00Z"],
])("previousTick, of each tick of %j in %s, is the one before", (text, zone, from, until) => {
  const ticks = nextTicks(parse(text), zone, new Date(from), 10_000, new Date(until));
  expect(ticks.length).toBeGreaterThan(3);
  const found = ticks.slice(1).map((tick) => previousTick(parse(text), zone, tick));
  expect(found).toEqual(ticks.slice(0, -1));
});

test("previousTick, where nothing was due since 1970, is undefined", () => {
  expect(previousTick(parse("0 0 29 2 *"), "UTC", new Date("1971-06-01T00:00:00Z"))).toBeUndefined();
});
