/** Returns the line of a log that an address names after its `#`: `L120`. Otherwise 0. */
export function readLogLine(hash: string): number {
  return Number(/^L(\d+)$/.exec(hash)?.[1] ?? 0);
}
