const MINUTE_MS = 60_000;
/** Each unit, and from when on it is used. Two days are shown in days, 36 hours in hours: "tomorrow" may be either. */
const STEPS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, ms: number, from: number])[] = [
  ["year", 365.25 * 24 * 60 * MINUTE_MS, 1],
  ["month", 30.44 * 24 * 60 * MINUTE_MS, 1],
  ["day", 24 * 60 * MINUTE_MS, 2],
  ["hour", 60 * MINUTE_MS, 1],
  ["minute", MINUTE_MS, 1],
];
const relative = new Intl.RelativeTimeFormat("en");
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long" });
const dayOfYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric" });
/** From here on a day without its year may be taken for another one. */
const YEAR_NAMED_MS = 334 * 24 * 60 * MINUTE_MS;
const short = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** Returns a time relative to now: "3 minutes ago", "in 2 days". Below a minute: "just now" or "in a moment". */
export function toRelative(time: Date, now: Date): string {
  const ms = time.getTime() - now.getTime();
  const [unit, size] = STEPS.find(([, length, from]) => Math.abs(ms) >= length * from) ?? [];
  if (unit === undefined || size === undefined) return ms <= 0 ? "just now" : "in a moment";
  return relative.format(Math.round(ms / size), unit);
}

/** In the viewer's zone, to the second, and in UTC. */
export function toExact(time: Date): string {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return `${exact.format(time)} ${zone}\n${time.toISOString()}`;
}

/** In the viewer's zone, to the minute. */
export function toShort(time: Date): string {
  return short.format(time);
}

/** The day of a time to come, in the viewer's zone: "3 January", and with its year when that is more than eleven months away. */
export function toDay(time: Date, now: Date): string {
  const isNear = time.getTime() - now.getTime() < YEAR_NAMED_MS;
  return (isNear ? day : dayOfYear).format(time);
}

/** Seconds as people say them: "420 ms", "12.3 s", "30 s", "3 min 5 s", "1 h 2 min". */
export function toDuration(seconds: number): string {
  if (seconds > 0 && seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 60 && Number.isInteger(seconds)) return `${seconds} s`;
  if (seconds < 10) return `${seconds.toFixed(2)} s`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const parts = [
    [Math.floor(whole / 3600), "h"],
    [Math.floor((whole % 3600) / 60), "min"],
    [whole % 60, "s"],
  ] as const;
  const first = parts.findIndex(([amount]) => amount > 0);
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(" ");
}
