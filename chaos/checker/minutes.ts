const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** No clock of a zone stands apart from UTC by anything but a multiple of this, nor is moved within it. */
const BLOCK_MS = 15 * MINUTE_MS;
const LOOKED_AT_MAX_MS = 2 * 366 * 24 * HOUR_MS;
/** Of minute, hour, day of month, month and day of week. */
const BOUNDS = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
] as const;
const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** A cron expression and the zone by whose clock it is due. */
export interface Times {
  readonly cron: string;
  readonly timezone: string;
}

/** The minutes after `after`, up to and with `until`, at which the clock of the zone matches. Unix milliseconds. */
export function listDue(times: Times, after: number, until: number): number[] {
  return [...walkDue(times, after, until)];
}

/** The first `count` minutes after `after` at which the clock of the zone matches. */
export function findDue(times: Times, after: number, count: number): number[] {
  const due: number[] = [];
  for (const at of walkDue(times, after, after + LOOKED_AT_MAX_MS)) if (due.push(at) === count) break;
  return due;
}

export function toMinute(at: number): number {
  return Math.floor(at / MINUTE_MS) * MINUTE_MS;
}

/**
 * Looks at each minute of the quarters of an hour that match. What the clock shows is all it goes by: so the drive declares hours only with
 * `*`, which follow the clock when it is moved, or on 1 January, when it is not.
 */
function* walkDue({ cron, timezone }: Times, after: number, until: number): Generator<number> {
  const { minutes, hours, days, months, weekdays } = readCron(cron);
  const readClock = openClock(timezone);
  let at = Math.floor(after / BLOCK_MS) * BLOCK_MS;
  while (at <= until) {
    const clock = readClock(at);
    const isDay = days.has(clock.day) && months.has(clock.month) && weekdays.has(clock.weekday);
    if (isDay && hours.has(clock.hour)) {
      for (let minute = 0; minute < BLOCK_MS / MINUTE_MS; minute += 1) {
        const due = at + minute * MINUTE_MS;
        if (due > after && due <= until && minutes.has(clock.minute + minute)) yield due;
      }
    }
    at += isDay ? BLOCK_MS : findWayOn(clock, months.has(clock.month));
  }
}

/** From a day that does not match: never further than its end, or its month's, though a clock that is put forward shortens the way. */
function findWayOn({ day, hour }: Clock, isMonth: boolean): number {
  if (!isMonth && day < 26) return 24 * HOUR_MS;
  return hour < 21 ? (21 - hour) * HOUR_MS : BLOCK_MS;
}

type Clock = Readonly<Record<"minute" | "hour" | "day" | "month" | "weekday", number>>;

const clocks = new Map<string, (at: number) => Clock>();

/** What the clock of a zone shows. */
function openClock(timezone: string): (at: number) => Clock {
  const known = clocks.get(timezone);
  if (known !== undefined) return known;
  const numeric = { minute: "numeric", hour: "numeric", day: "numeric", month: "numeric" } as const;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: timezone,
    hourCycle: "h23",
    weekday: "short",
    ...numeric,
  });
  const read = (at: number): Clock => {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
    const number = (type: "minute" | "hour" | "day" | "month"): number => Number(parts.get(type));
    return {
      minute: number("minute"),
      hour: number("hour"),
      day: number("day"),
      month: number("month"),
      weekday: WEEKDAYS.indexOf(parts.get("weekday") ?? ""),
    };
  };
  clocks.set(timezone, read);
  return read;
}

type Fields = Record<"minutes" | "hours" | "days" | "months" | "weekdays", ReadonlySet<number>>;

/** Numbers, `*`, ranges, steps and lists of them; of the two day fields one may say something, which is all that the drive declares. */
function readCron(cron: string): Fields {
  const fields = cron.split(" ");
  if (fields.length !== BOUNDS.length || ![fields[2], fields[4]].includes("*"))
    throw new Error(`The checker cannot read the cron ${cron}.`);
  const [minutes, hours, days, months, weekdays] = BOUNDS.map((bounds, index) =>
    readField(fields[index] ?? "", bounds),
  );
  return { minutes, hours, days, months, weekdays } as Fields;
}

function readField(field: string, [min, max]: readonly [number, number]): Set<number> {
  const values = new Set<number>();
  for (const part of field.split(",")) {
    const [, from, to, step] = /^(?:\*|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(part) ?? [];
    const first = from === undefined ? min : Number(from);
    const last = from === undefined ? max : Number(to ?? from);
    if (!part || (from === undefined && !part.startsWith("*"))) throw new Error(`The checker cannot read ${field}.`);
    for (let value = first; value <= last; value += Number(step ?? 1)) values.add(value);
  }
  return values;
}
