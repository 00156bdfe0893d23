import { countDaysInMonth } from "./calendar-dates.ts";
import { type Cron, matchesDate } from "./cron.ts";
import { findOffsetMs, findYearOffsets } from "./offsets.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** 1 January 1970 was a Thursday. */
const EPOCH_WEEKDAY = 4;

/** How far ahead a tick is looked for unless the caller says otherwise: to the end of the year 2100. */
const SEARCH_UNTIL = new Date(Date.UTC(2101, 0, 1) - 1);

/** A stretch of time with one offset. Instants and local times are Unix milliseconds; a local time is written as if it were UTC. */
interface Stretch {
  readonly startMs: number;
  readonly endMs: number;
  readonly offsetMs: number;
  /** How much local time is missing right before `startMs`; 0 unless the clock was put forward there. */
  readonly gapMs: number;
  /** Local times before this one were shown earlier: the clock was put back. */
  readonly seenUntilMs: number;
}

/**
 * The next `count` instants after `after` (never `after` itself) up to `until`, in order. A local time that does not
 * exist fires once, right after the gap; one that comes twice fires the first time. When the hour field begins with `*`
 * a tick is wherever the clock shows it: twice in a repeated hour, never in a missing one.
 */
export function nextTicks(
  cron: Cron,
  timezone: string,
  after: Date,
  count: number,
  until: Date = SEARCH_UNTIL,
): Date[] {
  const ticks: Date[] = [];
  const afterMs = after.getTime();
  const untilMs = until.getTime();
  for (const stretch of walkStretches(timezone, afterMs, untilMs)) {
    for (const tickMs of walkTicks(cron, stretch, afterMs)) {
      if (ticks.length >= count || tickMs > untilMs) return ticks;
      if (tickMs > afterMs) ticks.push(new Date(tickMs));
    }
    if (ticks.length >= count) return ticks;
  }
  return ticks;
}

/** The stretches that follow each other from the one that holds `fromMs` until `untilMs`. Cut at years, so that a search stops early. */
function* walkStretches(timezone: string, fromMs: number, untilMs: number): Generator<Stretch> {
  const yearMax = new Date(untilMs).getUTCFullYear();
  let year = new Date(fromMs - 2 * DAY_MS).getUTCFullYear();
  let startMs = Date.UTC(year, 0, 1);
  let { offsetMs } = findYearOffsets(timezone, year);
  let gapMs = 0;
  let seenUntilMs = Number.NEGATIVE_INFINITY;
  for (; year <= yearMax; year += 1) {
    for (const change of findYearOffsets(timezone, year).changes) {
      if (change.startMs > fromMs) yield { startMs, endMs: change.startMs, offsetMs, gapMs, seenUntilMs };
      gapMs = Math.max(0, change.offsetMs - offsetMs);
      seenUntilMs = change.startMs + offsetMs;
      ({ startMs, offsetMs } = change);
    }
    const yearEndMs = Date.UTC(year + 1, 0, 1);
    if (yearEndMs <= startMs) continue;
    if (yearEndMs > fromMs) yield { startMs, endMs: yearEndMs, offsetMs, gapMs, seenUntilMs };
    startMs = yearEndMs;
    gapMs = 0;
  }
}

/** The ticks within a stretch, in order. Those before `afterMs` may be left out. */
function* walkTicks(cron: Cron, stretch: Stretch, afterMs: number): Generator<number> {
  const { startMs, endMs, offsetMs, gapMs, seenUntilMs } = stretch;
  let localStartMs = startMs + offsetMs;
  if (!cron.hourStar) {
    localStartMs = Math.max(localStartMs, seenUntilMs);
    if (gapMs > 0 && isAnyIn(cron, localStartMs - gapMs, localStartMs)) {
      yield startMs;
      localStartMs += MINUTE_MS;
    }
  }
  const fromMs = Math.max(localStartMs, afterMs + offsetMs);
  for (const localMs of walkLocalTimes(cron, fromMs, endMs + offsetMs)) yield localMs - offsetMs;
}

function isAnyIn(cron: Cron, localStartMs: number, localEndMs: number): boolean {
  return walkLocalTimes(cron, localStartMs, localEndMs).next().done !== true;
}

/** Every local time of the expression from `startMs` until before `endMs`, as a calendar without any zone has them. */
function* walkLocalTimes(cron: Cron, startMs: number, endMs: number): Generator<number> {
  for (const dayMs of walkDates(cron, startMs, endMs)) {
    for (const hour of cron.hours) {
      const hourMs = dayMs + hour * 60 * MINUTE_MS;
      if (hourMs + 60 * MINUTE_MS <= startMs) continue;
      for (const minute of cron.minutes) {
        const localMs = hourMs + minute * MINUTE_MS;
        if (localMs >= endMs) return;
        if (localMs >= startMs) yield localMs;
      }
    }
  }
}

/** The dates of the expression from the day of `startMs` until before `endMs`, by their midnights. Passes over other months as a whole. */
function* walkDates(cron: Cron, startMs: number, endMs: number): Generator<number> {
  const first = new Date(startMs);
  let year = first.getUTCFullYear();
  let month = first.getUTCMonth() + 1;
  let day = first.getUTCDate();
  let monthMs = Date.UTC(year, month - 1, 1);
  while (monthMs < endMs) {
    const dayMax = countDaysInMonth(year, month);
    const isMeant = cron.months.includes(month);
    for (; isMeant && day <= dayMax; day += 1) {
      const dayMs = monthMs + (day - 1) * DAY_MS;
      if (dayMs >= endMs) return;
      const weekday = (((dayMs / DAY_MS + EPOCH_WEEKDAY) % 7) + 7) % 7;
      if (matchesDate(cron, { month, day, weekday })) yield dayMs;
    }
    monthMs += dayMax * DAY_MS;
    day = 1;
    month = month === 12 ? 1 : month + 1;
    if (month === 1) year += 1;
  }
}

/** An instant in a zone's own time, ISO 8601 with offset and whole seconds: `2026-11-01T01:30:00-04:00`. */
export function formatLocal(instant: Date, timezone: string): string {
  const offsetMs = findOffsetMs(timezone, instant.getTime());
  const local = new Date(instant.getTime() + offsetMs).toISOString().slice(0, 19);
  const minutes = Math.abs(Math.trunc(offsetMs / MINUTE_MS));
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0"));
  return `${local}${offsetMs < 0 ? "-" : "+"}${hour}:${minute}`;
}
