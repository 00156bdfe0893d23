const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const YEARS_MAX = 3_000;

/** From the instant `startMs` (Unix time) on the zone is `offsetMs` ahead of UTC. */
interface OffsetChange {
  readonly startMs: number;
  readonly offsetMs: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();
const changesByYear = new Map<string, readonly OffsetChange[]>();

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
 * The changes of a zone's offset within a UTC year, in order. Looks once a day: no zone has changed twice within a day
 * since 1972. Remembered, because a year costs 366 look-ups (about a millisecond) and never changes.
 */
export function findOffsetChanges(timezone: string, year: number): readonly OffsetChange[] {
  const key = `${timezone} ${year}`;
  const known = changesByYear.get(key);
  if (known) return known;
  const changes: OffsetChange[] = [];
  const end = Date.UTC(year + 1, 0, 1);
  let day = Date.UTC(year, 0, 1);
  let before = findOffsetMs(timezone, day);
  while (day < end) {
    const next = Math.min(day + DAY_MS, end);
    const after = findOffsetMs(timezone, next);
    if (after !== before) changes.push({ startMs: findChange(timezone, day, next), offsetMs: after });
    before = after;
    day = next;
  }
  if (changesByYear.size >= YEARS_MAX) changesByYear.clear();
  changesByYear.set(key, changes);
  return changes;
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
