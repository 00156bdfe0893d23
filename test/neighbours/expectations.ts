import { expect } from "@jest/globals";
import { median, type Seen } from "./neighbourhood.ts";

/** The rule of the tier: a neighbour's hello takes at most so many times as long as alone. */
export const SLOWER_MAX = 5;
/** `/healthz` answers within this time, or within three times what a server takes that does nothing else, on a machine without time. */
const HEALTH_MS_MAX = 100;
const BUSY_FACTOR = 3;
/** One look in twenty, and at least one, may have met somebody else's turn on the processor; none may have met a service that stood still. */
const HEALTH_SHARE = 0.95;
const STANDSTILL_MS = 2_000;
/** A publish and a first execution take a second or two; behind somebody else's they took three quarters of a minute. */
const PUBLISH_MS_MAX = 20_000;

/** Expects that the neighbour and the operator have noticed next to nothing. */
export function expectUnharmed(seen: Seen, aloneMs: number): void {
  expect(seen.ended).toEqual([]);
  expect(seen.statuses.filter((status) => status !== 200)).toEqual([]);
  expect(seen.healthMs.length).toBeGreaterThan(5);
  expect(Math.min(...seen.healthMs)).toBeGreaterThanOrEqual(0);
  const bound = (least: number, share: number): number =>
    Math.max(least, BUSY_FACTOR * quantile(seen.controlMs, share));
  expect(quantile(seen.healthMs, 1)).toBeLessThan(bound(STANDSTILL_MS, 1));
  expect(quantile(seen.healthMs, HEALTH_SHARE)).toBeLessThan(bound(HEALTH_MS_MAX, HEALTH_SHARE));
  expect(seen.publishMs).toBeLessThan(PUBLISH_MS_MAX);
  expect(median(seen.helloMs) / aloneMs).toBeLessThan(SLOWER_MAX);
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  if (share === 1) return sorted.at(-1) ?? 0;
  return sorted[Math.max(0, Math.min(sorted.length - 2, Math.floor(sorted.length * share)))] ?? 0;
}
