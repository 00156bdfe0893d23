/** `start`, `start + step`, … up to `end`. */
export interface ValueRange {
  readonly start: number;
  readonly end: number;
  readonly step: number;
}

/**
 * Few ranges that hold exactly these values, which are different and sorted: always the one that covers most of what is
 * still missing. A value may stand in two of them. Two values alone stay two ranges only where no step joins more.
 */
export function toRanges(values: readonly number[]): ValueRange[] {
  const present = new Set(values);
  const missing = new Set(values);
  const ranges: ValueRange[] = [];
  while (missing.size > 0) {
    const best = findLongest(values, present, missing);
    ranges.push(best);
    for (let value = best.start; value <= best.end; value += best.step) missing.delete(value);
  }
  return ranges.toSorted((one, other) => one.start - other.start || one.end - other.end);
}

function findLongest(
  values: readonly number[],
  present: ReadonlySet<number>,
  missing: ReadonlySet<number>,
): ValueRange {
  let best: ValueRange | undefined;
  let bestCount = 0;
  const span = (values.at(-1) as number) - (values[0] as number);
  for (const first of values) {
    for (let step = 1; step <= Math.max(1, span); step += 1) {
      if (step > 1 && present.has(first - step)) continue;
      const range = extend(first, step, present, missing);
      if (range.count > bestCount) [best, bestCount] = [range.range, range.count];
    }
  }
  return best as ValueRange;
}

/** As far as the values go, cut at both ends to what is still missing. */
function extend(first: number, step: number, present: ReadonlySet<number>, missing: ReadonlySet<number>) {
  let start: number | undefined;
  let end = first;
  let count = 0;
  for (let value = first; present.has(value); value += step) {
    if (!missing.has(value)) continue;
    start ??= value;
    end = value;
    count += 1;
  }
  start ??= first;
  return { range: { start, end, step: start === end ? 1 : step }, count };
}
