import type { Cron } from "../cron/cron.ts";
import { nextTicks } from "../cron/next-runs.ts";
import { findOffsetMs, listOffsetChanges, type OffsetChange } from "../cron/offsets.ts";
import { toRanges, type ValueRange } from "./ranges.ts";

const MONTHS = [
  "JANUARY",
  "FEBRUARY",
  "MARCH",
  "APRIL",
  "MAY",
  "JUNE",
  "JULY",
  "AUGUST",
  "SEPTEMBER",
  "OCTOBER",
  "NOVEMBER",
  "DECEMBER",
] as const;
const WEEKDAYS = ["SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"] as const;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface NamedRange<Name> {
  start: Name;
  end: Name;
  step: number;
}

/** Fires at second 0 of every local time that all fields hold. A field that is left out holds everything. */
export interface TickCalendar {
  minute: "*" | ValueRange[];
  hour: "*" | ValueRange[];
  dayOfMonth?: ValueRange[];
  month?: NamedRange<(typeof MONTHS)[number]>[];
  dayOfWeek?: NamedRange<(typeof WEEKDAYS)[number]>[];
}

/** Fires at the Unix times `n * every + offset` with n from 1 on, in milliseconds. */
export interface TickInterval {
  every: number;
  offset: number;
}

/** When a schedule fires, for Temporal. Plain data, equal for equal times; a change of the horizon alone often leaves it as it is. */
export interface TickSpec {
  timezone: string;
  calendars: TickCalendar[];
  intervals: TickInterval[];
}

export interface Horizon {
  readonly from: Date;
  readonly to: Date;
}

/**
 * What Temporal shall fire so that between `from` and `to` it fires at each of our own ticks. It fires at more: at the
 * repetition of a local time, and where its own walk over a clock change goes wrong. `nominalTickOf` recognises those.
 *
 * Calendars alone do not do it. Temporal leaves out a time that does not exist, and takes the second of two equal times
 * in zones east of Greenwich. It leaves out ticks for up to an hour after that, and loses a whole weekday whose
 * midnight is missing. So all ticks near a change stand in the spec once more, as instants. An interval from 1970 to
 * the instant ends there on any clock. An expression for all hours of all days needs no calendar at all.
 */
export function compileSchedule(cron: Cron, timezone: string, horizon: Horizon): TickSpec {
  const changes = listOffsetChanges(timezone, horizon.from.getTime() - DAY_MS, horizon.to.getTime() + DAY_MS);
  const steady = findSteadyIntervals(cron, timezone, horizon, changes);
  if (steady !== undefined) return { timezone, calendars: [], intervals: steady };
  const instants = new Set<number>();
  for (const change of changes) {
    for (const instant of listTicksNear(cron, timezone, change)) instants.add(instant);
  }
  const intervals = [...instants].toSorted((one, other) => one - other).map((every) => ({ every, offset: 0 }));
  return { timezone, calendars: toCalendars(cron), intervals };
}

/** A text that is equal exactly when two specs are. As long as the spec: hash it to keep it. */
export function fingerprintSpec(spec: TickSpec): string {
  return JSON.stringify([spec.timezone, spec.calendars, spec.intervals.map(({ every, offset }) => [every, offset])]);
}

/**
 * The horizon to compile for: from the beginning of the quarter (UTC) for fifteen months. So a year lies ahead at any
 * time, and specs change four times a year at most.
 */
export function findHorizon(now: Date): Horizon {
  const quarter = Math.floor(now.getUTCMonth() / 3) * 3;
  const year = now.getUTCFullYear();
  return { from: new Date(Date.UTC(year, quarter, 1)), to: new Date(Date.UTC(year, quarter + 15, 1)) };
}

/** Intervals for minutes of all hours and days, while no change of the clock moves the minutes. */
function findSteadyIntervals(
  cron: Cron,
  timezone: string,
  horizon: Horizon,
  changes: readonly OffsetChange[],
): TickInterval[] | undefined {
  const isAlways = cron.hourStar && cron.hours.length === 24 && isEveryDate(cron) && cron.months.length === 12;
  if (!isAlways) return undefined;
  const offsetMs = findOffsetMs(timezone, horizon.from.getTime() - DAY_MS);
  if (changes.some((change) => (change.offsetMs - offsetMs) % HOUR_MS !== 0)) return undefined;
  const toOffset = (minute: number, every: number): number =>
    (((minute * MINUTE_MS - offsetMs) % every) + every) % every;
  const { minutes } = cron;
  const step = 60 / minutes.length;
  const isEven = minutes.every((minute, index) => minute === (minutes[0] as number) + index * step);
  if (isEven) {
    const every = step * MINUTE_MS;
    return [{ every, offset: toOffset(minutes[0] as number, every) }];
  }
  return minutes.map((minute) => ({ every: HOUR_MS, offset: toOffset(minute, HOUR_MS) }));
}

function isEveryDate(cron: Cron): boolean {
  const everyDay = cron.days.length === 31;
  const everyWeekday = cron.weekdays.length === 7;
  return isEither(cron) ? everyDay || everyWeekday : everyDay && everyWeekday;
}

/** A date matches when one of the two day fields does, rather than both. */
function isEither(cron: Cron): boolean {
  return cron.dayRestricted && cron.weekdayRestricted;
}

/**
 * Our ticks around a change, as Unix milliseconds. The span is that of the clock's move, and of the hours in which
 * Temporal may go wrong after it. By weekday, Temporal looks at a day's midnight: when that is missing, the span lasts
 * until the day's end.
 */
function listTicksNear(cron: Cron, timezone: string, change: OffsetChange): number[] {
  const moved = change.offsetMs - change.offsetBeforeMs;
  const reach = Math.abs(moved) + HOUR_MS;
  let end = change.startMs + reach;
  const localBefore = change.startMs + change.offsetBeforeMs;
  const midnight = Math.ceil(localBefore / DAY_MS) * DAY_MS;
  if (moved > 0 && midnight < localBefore + moved && cron.weekdays.length < 7) {
    end = Math.max(end, midnight + DAY_MS - change.offsetMs + HOUR_MS);
  }
  const after = new Date(change.startMs - reach - 1);
  return nextTicks(cron, timezone, after, Number.POSITIVE_INFINITY, new Date(end)).map((tick) => tick.getTime());
}

function toCalendars(cron: Cron): TickCalendar[] {
  const times: TickCalendar = {
    minute: cron.minutes.length === 60 ? "*" : toRanges(cron.minutes),
    hour: cron.hours.length === 24 ? "*" : toRanges(cron.hours),
    ...(cron.months.length === 12 ? {} : { month: toNamed(cron.months, (month) => MONTHS[month - 1]) }),
  };
  if (isEveryDate(cron)) return [times];
  const days = cron.days.length === 31 ? {} : { dayOfMonth: toRanges(cron.days) };
  const weekdays = cron.weekdays.length === 7 ? {} : { dayOfWeek: toNamed(cron.weekdays, (day) => WEEKDAYS[day]) };
  if (!isEither(cron)) return [{ ...times, ...days, ...weekdays }];
  return [
    { ...times, ...days },
    { ...times, ...weekdays },
  ];
}

function toNamed<Name>(values: readonly number[], nameOf: (value: number) => Name | undefined): NamedRange<Name>[] {
  return toRanges(values).map(({ start, end, step }) => ({
    start: nameOf(start) as Name,
    end: nameOf(end) as Name,
    step,
  }));
}
