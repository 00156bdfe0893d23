/** A figure of a series: the median, and how far the middle half and the tail spread. */
export interface Figure {
  readonly count: number;
  readonly p25: number;
  readonly p50: number;
  readonly p75: number;
  readonly p95: number;
  readonly p99: number;
}

export function toFigure(series: readonly number[]): Figure {
  const sorted = [...series].sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { count: sorted.length, p25: at(0.25), p50: at(0.5), p75: at(0.75), p95: at(0.95), p99: at(0.99) };
}

export function formatMs({ p25, p50, p75, p99 }: Figure): string {
  const ms = (value: number): string => value.toFixed(1);
  return `p50 ${ms(p50)} ms (middle half ${ms(p25)}–${ms(p75)}, p99 ${ms(p99)})`;
}
