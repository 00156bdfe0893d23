import type { StartBacklog } from "../../db/executions/workflow-starts.ts";

/** From so many executions a second on, starts of what has ended wait: they would take the processors from callers. */
const BUSY_PER_SECOND = 10;
/** A burst is over when it was quieter for so long: callers pause, too. */
const BURST_MS = 1_000;
/** While it lasts, so much of the backlog is started that all of it would take so long. */
const LAG_SECONDS = 60;
/** Starts under way at a time: few while nobody waits for them, more once they lag too far. */
const BUSY_AT_ONCE = 1;
const AT_ONCE = 2;
/** One after the other, so many take a round while callers have the processors. */
const ONE_BY_ONE_MAX = 8;
const LATE_AT_ONCE = 8;

/** How many starts of ended executions are made in a round, at most, and how many of all starts at a time. */
export interface Pace {
  readonly endedMax: number;
  readonly atOnce: number;
}

/**
 * Chooses how fast Temporal learns of what has ended: hardly in a burst, and at full speed otherwise. That is also so once
 * starts lag half as far as they may. A round comes every `everyMs` milliseconds and makes `batch` starts at most.
 */
export function createStartPace(
  lagMax: { readonly count: number; readonly seconds: number },
  { everyMs, batch }: { readonly everyMs: number; readonly batch: number },
) {
  let begunLately = 0;
  let chosenAt = Number.NEGATIVE_INFINITY;
  let burstUntil = Number.NEGATIVE_INFINITY;
  let mayWait = false;
  return {
    /** Takes down that an execution begins. */
    noteBegun: (): void => void (begunLately += 1),
    /** Whether what is left of a round at full speed should wait, because callers are there again and nothing lags. */
    isInterrupted: (): boolean => mayWait && begunLately > 0,
    choose({ count, ageSeconds }: StartBacklog): Pace {
      const now = performance.now();
      const seconds = Math.max(everyMs, now - chosenAt) / 1000;
      if (begunLately / seconds >= BUSY_PER_SECOND) burstUntil = now + BURST_MS;
      begunLately = 0;
      chosenAt = now;
      mayWait = false;
      if (count > lagMax.count / 2 || ageSeconds > lagMax.seconds / 2) return { endedMax: batch, atOnce: LATE_AT_ONCE };
      mayWait = now >= burstUntil;
      if (mayWait) return { endedMax: batch, atOnce: AT_ONCE };
      const share = Math.max(1, Math.ceil((count * seconds) / LAG_SECONDS));
      return { endedMax: Math.min(batch, share), atOnce: share > ONE_BY_ONE_MAX ? AT_ONCE : BUSY_AT_ONCE };
    },
  };
}
