import type { Cron } from "./cron.ts";
import { nextTicks } from "./next-runs.ts";

const HOUR_MS = 3_600_000;

/**
 * Returns the last tick before an instant, since 1970; undefined where there is none. Looks back an hour, then twice as far
 * each time: a search forward costs what it finds.
 */
export function previousTick(cron: Cron, timezone: string, before: Date): Date | undefined {
  const until = new Date(before.getTime() - 1);
  for (let backMs = HOUR_MS; ; backMs *= 2) {
    const after = new Date(Math.max(0, before.getTime() - backMs));
    const last = nextTicks(cron, timezone, after, Number.POSITIVE_INFINITY, until).at(-1);
    if (last !== undefined || after.getTime() === 0) return last;
  }
}
