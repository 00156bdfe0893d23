/** A third of the shortest stall that counts, so that none falls between two looks. */
const TICK_MS = 100;
/** Later than any timer is by itself, also on a busy machine. */
const STALL_MS = 300;

/** Notices when this process stood still: stopped, starved, or busy with something that does not let go. */
export interface StallWatch {
  /** The earliest moment at which something that was noticed at `atMs` may have happened. Both by `performance.now()`. */
  earliest(atMs: number): number;
  /** Whether it stands still no more since a moment ago: what happened meanwhile may not have been noticed yet. */
  hasJustEnded(): boolean;
  stop(): void;
}

/** What is noticed right after a stall may have happened at any time in it, so a bill says the beginning of the stall. */
export function watchStalls(now: () => number = () => performance.now()): StallWatch {
  let tickedAt = now();
  let stall = { from: Number.NEGATIVE_INFINITY, until: Number.NEGATIVE_INFINITY };
  const look = (at: number): void => {
    if (at - tickedAt > STALL_MS) stall = { from: tickedAt, until: at };
    tickedAt = Math.max(tickedAt, at);
  };
  const timer = setInterval(() => look(now()), TICK_MS).unref();
  return {
    earliest(atMs) {
      look(atMs);
      return atMs >= stall.from && atMs - stall.until <= TICK_MS ? stall.from : atMs;
    },
    hasJustEnded() {
      look(now());
      return now() - stall.until <= TICK_MS;
    },
    stop: () => clearInterval(timer),
  };
}
