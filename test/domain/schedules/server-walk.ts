import type { TickCalendar, TickInterval, TickSpec } from "../../../domain/schedules/tick-spec.ts";

// What Temporal's server (1.31) does with a spec, told in our own words and with nothing of ours but the spec's shape. It was
// compared with the server's own code over nineteen zones.

/** Taken once: looking up a global costs jest more than the arithmetic. */
const { floor, trunc } = Math;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const YEAR_MAX = 2100;
const MONTHS = "JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER".split(" ");
const WEEKDAYS = "SUNDAY MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY".split(" ");

/** How far a zone's clock is ahead at an instant, milliseconds, read from the date it shows. Clocks change at quarters of an hour. */
export function readOffsets(timezone: string): (instantMs: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: timezone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
  const known = new Map<number, number>();
  return (instantMs) => {
    const quarter = floor(instantMs / (15 * MINUTE_MS)) * 15 * MINUTE_MS;
    let offset = known.get(quarter);
    if (offset === undefined) {
      const [month = 0, day, year = 0, hour, minute] = (format.format(quarter).match(/\d+/g) ?? []).map(Number);
      offset = Date.UTC(year, month - 1, day, hour, minute) - quarter;
      known.set(quarter, offset);
    }
    return offset;
  };
}

type Fields = Record<"minute" | "hour" | "day" | "month" | "weekday", (value: number) => boolean>;

/** Everything a spec fires after `fromMs` and up to `toMs`. `how` the server walks a calendar: as it does, or as its documents say it does. */
export function listFirings(
  spec: TickSpec,
  { fromMs, toMs, how }: { fromMs: number; toMs: number; how: "really" | "documented" },
): number[] {
  const offsetAt = readOffsets(spec.timezone);
  const fired = new Set<number>();
  const calendars = spec.calendars
    .map(toFields)
    .map((fields) =>
      how === "really" ? (at: number) => walkReally(fields, offsetAt, at) : createDocumented(fields, offsetAt, toMs),
    );
  // Go's division cuts towards zero, so the first firing is one interval after the offset.
  const toNext = ({ every, offset }: TickInterval, at: number) => (trunc((at - offset) / every) + 1) * every + offset;
  const intervals = spec.intervals.filter((interval) => toNext(interval, fromMs) <= toMs);
  for (let at = fromMs; ; ) {
    const next = Math.min(...calendars.map((walk) => walk(at)), ...intervals.map((interval) => toNext(interval, at)));
    if (next > toMs) return [...fired];
    if (next <= at) throw new Error(`The server goes back from ${new Date(at).toISOString()}, and on for ever.`);
    fired.add(next);
    at = next;
  }
}

function toFields(calendar: TickCalendar): Fields {
  const numbers = (ranges: "*" | readonly { start: number; end: number; step: number }[] | undefined) => {
    if (ranges === undefined || ranges === "*") return () => true;
    const held = new Set<number>();
    for (const { start, end, step } of ranges) for (let value = start; value <= end; value += step) held.add(value);
    return (value: number) => held.has(value);
  };
  const named = (
    ranges: readonly { start: string; end: string; step: number }[] | undefined,
    names: readonly string[],
    first: number,
  ) =>
    numbers(
      ranges?.map(({ start, end, step }) => ({
        start: names.indexOf(start) + first,
        end: names.indexOf(end) + first,
        step,
      })),
    );
  return {
    minute: numbers(calendar.minute),
    hour: numbers(calendar.hour),
    day: numbers(calendar.dayOfMonth),
    month: named(calendar.month, MONTHS, 1),
    weekday: named(calendar.dayOfWeek, WEEKDAYS, 0),
  };
}

/** The documents: a clock that shows the time fires. What was found holds until it is passed. */
function createDocumented(fields: Fields, offsetAt: (instantMs: number) => number, toMs: number) {
  let found = Number.NEGATIVE_INFINITY;
  return (afterMs: number): number => {
    if (found > afterMs) return found;
    for (let at = (floor(afterMs / MINUTE_MS) + 1) * MINUTE_MS; at <= toMs; at += MINUTE_MS) {
      const local = new Date(at + offsetAt(at));
      const isDate =
        fields.month(local.getUTCMonth() + 1) && fields.day(local.getUTCDate()) && fields.weekday(local.getUTCDay());
      if (isDate && fields.hour(local.getUTCHours()) && fields.minute(local.getUTCMinutes())) {
        found = at;
        return at;
      }
    }
    found = Number.POSITIVE_INFINITY;
    return found;
  };
}

/**
 * The server: from field to field through dates, which it turns into instants by the way of Go's `time.Date`. A repeated time
 * is then the second one in zones ahead of UTC, a missing midnight can be the evening before, and a repeated hour is told by
 * looking one hour back, whatever the clock was moved by.
 */
function walkReally(fields: Fields, offsetAt: (instantMs: number) => number, afterMs: number): number {
  const toInstant = (local: number) => local - offsetAt(local - offsetAt(local));
  const hourOf = (local: number) => floor((local % DAY_MS) / HOUR_MS);
  const start = afterMs + offsetAt(afterMs);
  const hourBefore = afterMs - HOUR_MS;
  let extra = hourOf(hourBefore + offsetAt(hourBefore)) === hourOf(start) ? HOUR_MS : 0;
  let day = floor(start / DAY_MS) * DAY_MS;
  let hour = hourOf(start);
  let minute = floor((start % HOUR_MS) / MINUTE_MS) + 1;
  const enter = (nextDay: number, nextHour: number) => {
    [day, hour, minute, extra] = [nextDay, nextHour, 0, 0];
  };
  for (;;) {
    if (minute >= 60) {
      const isLonger = toInstant(day + (hour + 1) * HOUR_MS) - toInstant(day + hour * HOUR_MS) > HOUR_MS;
      if (extra === 0 && isLonger) extra = HOUR_MS;
      else [hour, extra] = [hour + 1, 0];
      minute = 0;
    }
    if (hour >= 24) [day, hour] = [day + DAY_MS, hour - 24];
    const date = new Date(day);
    if (date.getUTCFullYear() > YEAR_MAX) return Number.POSITIVE_INFINITY;
    if (!fields.month(date.getUTCMonth() + 1)) {
      enter(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1), 0);
      continue;
    }
    const instant = toInstant(day + hour * HOUR_MS + minute * MINUTE_MS);
    const weekday = new Date(instant + offsetAt(instant)).getUTCDay();
    if (!fields.day(date.getUTCDate()) || !fields.weekday(weekday)) enter(day + DAY_MS, 0);
    else if (!fields.hour(hour)) enter(day, hour + 1);
    else if (!fields.minute(minute)) while (minute < 60 && !fields.minute(minute)) minute += 1;
    else if (hourOf(instant + offsetAt(instant)) !== hour) [hour, minute] = [hour + 1, 0];
    else return instant + extra;
  }
}
