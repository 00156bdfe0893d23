const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const YEARS_MAX = 3_000;

/** From the instant `startMs` (Unix time) on the zone is `offsetMs` ahead of UTC, and was `offsetBeforeMs` ahead until then. */
export interface OffsetChange {
  readonly startMs: number;
  readonly offsetBeforeMs: number;
  readonly offsetMs: number;
}

/** A UTC year of a zone: the offset with which it begins, and the changes in it, in order. */
interface YearOffsets {
  readonly offsetMs: number;
  readonly changes: readonly OffsetChange[];
}

const formats = new Map<string, Intl.DateTimeFormat>();
const yearsByZone = new Map<string, Map<number, YearOffsets>>();
let yearCount = 0;

/** How far the zone is ahead of UTC at an instant, in milliseconds. Throws RangeError for an unknown zone. */
export function findOffsetMs(timezone: string, instantMs: number): number {
  let format = formats.get(timezone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", { timeZone: timezone, timeZoneName: "longOffset" });
    formats.set(timezone, format);
  }
  const match = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/.exec(format.format(instantMs));
  if (!match) throw new RangeError(`The offset of ${timezone} cannot be read.`);
  const [, sign, hours = "0", minutes = "0", seconds = "0"] = match;
  const offset = (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000;
  return sign === "-" ? -offset : offset;
}

/**
 * The offsets of a zone within a UTC year. Looks once a day: no zone has changed twice within a day since 1972. Remembered,
 * because a year costs 366 look-ups (about a millisecond) and never changes.
 */
export function findYearOffsets(timezone: string, year: number): YearOffsets {
  return yearsByZone.get(timezone)?.get(year) ?? rememberYear(timezone, year);
}

/** The changes after `fromMs` and up to `toMs`, in order. */
export function listOffsetChanges(timezone: string, fromMs: number, toMs: number): OffsetChange[] {
  const found: OffsetChange[] = [];
  // A change at the very beginning of a year is one of the year before.
  for (let year = new Date(fromMs).getUTCFullYear() - 1; year <= new Date(toMs).getUTCFullYear(); year += 1) {
    for (const change of findYearOffsets(timezone, year).changes) {
      if (change.startMs > fromMs && change.startMs <= toMs) found.push(change);
    }
  }
  return found;
}

function rememberYear(timezone: string, year: number): YearOffsets {
  const changes: OffsetChange[] = [];
  const end = Date.UTC(year + 1, 0, 1);
  let day = Date.UTC(year, 0, 1);
  const offsetMs = findOffsetMs(timezone, day);
  let before = offsetMs;
  while (day < end) {
    const next = Math.min(day + DAY_MS, end);
    const after = findOffsetMs(timezone, next);
    if (after !== before) {
      changes.push({ startMs: findChange(timezone, day, next), offsetBeforeMs: before, offsetMs: after });
    }
    before = after;
    day = next;
  }
  if (yearCount >= YEARS_MAX) {
    yearsByZone.clear();
    yearCount = 0;
  }
  const years = yearsByZone.get(timezone) ?? new Map<number, YearOffsets>();
  yearsByZone.set(timezone, years);
  years.set(year, { offsetMs, changes });
  yearCount += 1;
  return { offsetMs, changes };
}

/** The first whole minute after `low`, up to `high`, at which the offset is that of `high`. */
function findChange(timezone: string, low: number, high: number): number {
  const after = findOffsetMs(timezone, high);
  let before = low;
  let at = high;
  while (at - before > MINUTE_MS) {
    const middle = before + Math.floor((at - before) / 2 / MINUTE_MS) * MINUTE_MS;
    if (findOffsetMs(timezone, middle) === after) at = middle;
    else before = middle;
  }
  return at;
}
