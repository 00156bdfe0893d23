const UNIT_SECONDS: Readonly<Record<string, number>> = { d: 86_400, h: 3_600, m: 60, s: 1, ms: 0.001 };
const ORDER = ["d", "h", "m", "s", "ms"];

/** Seconds (millisecond precision) of `90s`, `5m`, `1h30m`, `250ms`, or of a number, which counts seconds. Undefined for anything else. */
export function parseDuration(value: string | number): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) && value >= 0 ? roundToMs(value) : undefined;
  const text = value.trim();
  if (!/^(?:\d{1,9}(?:\.\d{1,3})?(?:d|h|ms|m|s))+$/.test(text)) return undefined;
  let seconds = 0;
  let previous = -1;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(d|h|ms|m|s)/g)) {
    const position = ORDER.indexOf(unit as string);
    if (position <= previous) return undefined;
    previous = position;
    seconds += Number(amount) * (UNIT_SECONDS[unit as string] as number);
  }
  return roundToMs(seconds);
}

/** Seconds as people write them: 5400 becomes `1h30m`. */
export function formatDuration(seconds: number): string {
  let rest = Math.round(seconds * 1000);
  let text = "";
  for (const unit of ORDER) {
    const size = (UNIT_SECONDS[unit] as number) * 1000;
    const amount = Math.floor(rest / size);
    if (amount > 0) text += `${amount}${unit}`;
    rest -= amount * size;
  }
  return text === "" ? "0s" : text;
}

function roundToMs(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
