import { toFigure } from "../figures.ts";
import type { Slice } from "./slices.ts";
import { COMPONENTS } from "./usage.ts";

/** With more of the machine in use by others, a slice is shown only where there is no quieter one. */
const NOISE_CORES_MAX = 0.5;

/** One figure of several rounds. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** Rounds it is of. */
  readonly rounds: number;
  /** Whether others used more than half a core in every round. */
  readonly isNoisy: boolean;
}

export type Reading = (slice: Slice) => number;

/** What a column of the tables reads off a slice. Times are multiples of the bare start in turn with the calls, or ms. */
export const READINGS = {
  p50Ratio: (slice: Slice) => toFigure(slice.calls).p50 / toFigure(slice.bare).p50,
  p95Ratio: (slice: Slice) => toFigure(slice.calls).p95 / toFigure(slice.bare).p50,
  p99Ratio: (slice: Slice) => toFigure(slice.calls).p99 / toFigure(slice.bare).p50,
  totalRatio: (slice: Slice) => sum(slice.calls) / sum(slice.bare),
  totalSeconds: (slice: Slice) => sum(slice.calls) / 1000,
  p50Ms: (slice: Slice) => toFigure(slice.calls).p50,
  p99Ms: (slice: Slice) => toFigure(slice.calls).p99,
  perSecond: (slice: Slice) => slice.perSecond,
  processorMs: (slice: Slice) => sum(COMPONENTS.map((part) => slice.processorMs[part])),
  /** Of all but the program. */
  aroundMs: ({ processorMs: { service, engine, database } }: Slice) => service + engine + database,
} as const satisfies Readonly<Record<string, Reading>>;

/** Returns the median of the rounds and how far they spread; undefined where nothing of it was measured. */
export function summarise(
  slices: readonly Slice[],
  { peer, load, read }: { peer: string; load: string; read: Reading },
): Spread | undefined {
  const all = slices.filter((slice) => slice.peer === peer && slice.load === load && slice.calls.length > 0);
  const quiet = all.filter(({ noiseCores }) => noiseCores <= NOISE_CORES_MAX);
  const used = quiet.length > 0 ? quiet : all;
  const values = used
    .map(read)
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  const [least, most] = [values.at(0), values.at(-1)];
  if (least === undefined || most === undefined) return undefined;
  const middle = (values.length - 1) / 2;
  const median = ((values[Math.floor(middle)] ?? least) + (values[Math.ceil(middle)] ?? most)) / 2;
  return { median, least, most, rounds: values.length, isNoisy: quiet.length === 0 };
}

/** Returns a peer's own rate with eight callers, of which loads of constant arrivals take a share. */
export function findCapacity(slices: readonly Slice[], peer: string): number | undefined {
  return summarise(slices, { peer, load: "hello8", read: READINGS.perSecond })?.median;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
