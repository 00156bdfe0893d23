import { parseDate, parseDateTime } from "../cron/calendar-dates.ts";
import { findOffsetMs, listOffsetChanges } from "../cron/offsets.ts";

const DAY_MS = 86_400_000;
const WITH_OFFSET = /(?:Z|[+-]\d{2}:\d{2})$/;
const HOW =
  "Write 2026-11-02T09:00:00Z, 2026-11-02T09:00+01:00, or 2026-11-02T09:00 or 2026-11-02 by the schedule's own clock.";

export type ParsedInstant =
  | { readonly ok: true; readonly at: Date }
  /** `message` goes on from the name of what was given, and says what to write instead. */
  | { readonly ok: false; readonly message: string };

/**
 * An instant as people write it. It is ISO 8601 with offset or `Z`, or a local time of the zone. A date is the first
 * instant of that day in the zone. Refused is a local time that does not exist there that day, or comes twice. From
 * 1970 on.
 */
export function parseInstant(text: string, timezone: string): ParsedInstant {
  const days = parseDate(text);
  const microseconds = days === undefined ? parseDateTime(text) : days * DAY_MS * 1_000;
  if (microseconds === undefined) return { ok: false, message: `is not a time: ${JSON.stringify(text)}. ${HOW}` };
  const ms = Math.floor(microseconds / 1_000);
  if (ms < DAY_MS) return { ok: false, message: "is before 1970-01-02." };
  if (days === undefined && WITH_OFFSET.test(text)) return { ok: true, at: new Date(ms) };
  const [first, second] = listInstants(ms, timezone);
  if (days !== undefined) return { ok: true, at: new Date(first ?? findGapEnd(ms, timezone)) };
  const withOffset = "Write it with the offset that you mean, such as 2026-11-02T09:00+01:00.";
  if (first === undefined)
    return {
      ok: false,
      message: `does not exist in ${timezone}: the clock is put forward over ${text}. ${withOffset}`,
    };
  if (second !== undefined)
    return { ok: false, message: `comes twice in ${timezone}: the clock is put back over ${text}. ${withOffset}` };
  return { ok: true, at: new Date(first) };
}

/**
 * Returns the instants at which the zone's clock shows a local time (milliseconds, as if it were UTC), in order. There
 * are none in a gap, two in a fold.
 */
function listInstants(localMs: number, timezone: string): number[] {
  const around = [localMs - DAY_MS, localMs, localMs + DAY_MS].map((ms) => findOffsetMs(timezone, ms));
  return [...new Set(around)]
    .map((offsetMs) => localMs - offsetMs)
    .filter((ms) => ms + findOffsetMs(timezone, ms) === localMs)
    .sort((one, other) => one - other);
}

function findGapEnd(localMs: number, timezone: string): number {
  const changes = listOffsetChanges(timezone, localMs - 2 * DAY_MS, localMs + 2 * DAY_MS);
  const gap = changes.find(
    ({ startMs, offsetBeforeMs, offsetMs }) => startMs + offsetBeforeMs <= localMs && localMs < startMs + offsetMs,
  );
  if (gap === undefined) throw new RangeError(`There is no gap in ${timezone} at ${new Date(localMs).toISOString()}.`);
  return gap.startMs;
}
