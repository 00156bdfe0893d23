import type { Cron } from "../cron/cron.ts";
import { nextTicks } from "../cron/next-runs.ts";
import { listOffsetChanges, type OffsetChange } from "../cron/offsets.ts";

const DAY_MS = 86_400_000;
/** Of the times that a gap leaves out so many are named. */
const TIMES_MAX = 3;

/**
 * What the change of the clock does to a tick, for people; undefined when there is none near. A tick right after a gap
 * names the times that do not exist that day. One in a fold says that its time comes twice, and which of the two it is.
 */
export function findClockNote(cron: Cron, timezone: string, tick: Date): string | undefined {
  const tickMs = tick.getTime();
  for (const change of listOffsetChanges(timezone, tickMs - DAY_MS, tickMs + DAY_MS)) {
    const note =
      change.offsetMs > change.offsetBeforeMs ? noteGap(cron, tickMs, change) : noteFold(cron, tickMs, change);
    if (note !== undefined) return note;
  }
  return undefined;
}

function noteGap(cron: Cron, tickMs: number, { startMs, offsetBeforeMs, offsetMs }: OffsetChange): string | undefined {
  if (cron.hourStar || tickMs !== startMs) return undefined;
  const gap = { from: startMs + offsetBeforeMs, to: startMs + offsetMs };
  // Without any zone, a local time is an instant of UTC.
  const missing = nextTicks(cron, "UTC", new Date(gap.from - 1), TIMES_MAX + 1, new Date(gap.to - 1));
  if (missing.length === 0) return undefined;
  const isOfOneDay = toDate(gap.from) === toDate(gap.to);
  const write = (localMs: number): string => (isOfOneDay ? toTime(localMs) : `${toDate(localMs)} ${toTime(localMs)}`);
  const named = missing.slice(0, TIMES_MAX).map((at) => write(at.getTime()));
  if (missing.length > TIMES_MAX) named.push("more");
  const times = named.length < 2 ? `${named[0]} does` : `${named.slice(0, -1).join(", ")} and ${named.at(-1)} do`;
  return `${times} not exist: the clock is put forward from ${write(gap.from)} to ${write(gap.to)}`;
}

function noteFold(cron: Cron, tickMs: number, { startMs, offsetBeforeMs, offsetMs }: OffsetChange): string | undefined {
  const foldMs = offsetBeforeMs - offsetMs;
  const isSecond = tickMs >= startMs;
  if (tickMs < startMs - foldMs || tickMs >= startMs + foldMs) return undefined;
  const time = toTime(tickMs + (isSecond ? offsetMs : offsetBeforeMs));
  if (!cron.hourStar) return `${time} comes twice that day: it runs once, the first time`;
  return `${time} comes twice that day: this is the ${isSecond ? "second" : "first"} time`;
}

function toDate(localMs: number): string {
  return new Date(localMs).toISOString().slice(0, 10);
}

function toTime(localMs: number): string {
  return new Date(localMs).toISOString().slice(11, 16);
}
