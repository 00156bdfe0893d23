import type { Cron } from "../cron/cron.ts";
import { nextTicks } from "../cron/next-runs.ts";
import { listOffsetChanges } from "../cron/offsets.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The tick of ours that a firing stands for. */
export interface NominalTick {
  readonly at: Date;
  /** The firing is at the repetition of the tick's local time: the tick itself was `at`. */
  readonly isRepeat: boolean;
}

/**
 * The guard before a tick starts anything. What was fired (seconds are cut off) is one of our ticks, or the repetition
 * of the local time of an earlier one. Undefined: the schedule has no such tick, and nothing may start. Once each is
 * started by keeping a record by `at`; a repetition without one means that the tick was lost and is late.
 */
export function nominalTickOf(cron: Cron, timezone: string, firedAt: Date): NominalTick | undefined {
  const firedMs = Math.floor(firedAt.getTime() / MINUTE_MS) * MINUTE_MS;
  if (isTick(cron, timezone, firedMs)) return { at: new Date(firedMs), isRepeat: false };
  if (cron.hourStar) return undefined;
  for (const change of listOffsetChanges(timezone, firedMs - DAY_MS, firedMs)) {
    const foldMs = change.offsetBeforeMs - change.offsetMs;
    const firstMs = firedMs - foldMs;
    if (foldMs > 0 && firstMs < change.startMs && isTick(cron, timezone, firstMs)) {
      return { at: new Date(firstMs), isRepeat: true };
    }
  }
  return undefined;
}

function isTick(cron: Cron, timezone: string, instantMs: number): boolean {
  return nextTicks(cron, timezone, new Date(instantMs - 1), 1, new Date(instantMs)).length === 1;
}
