const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const LOOKED_AT_MAX_MS = 2 * 366 * DAY_MS;
/** Of minute, hour, day of month, month and day of week. */
const BOUNDS = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
] as const;

/** The minutes after `after`, up to and with `until`, at which the clock of UTC matches. Unix milliseconds. */
export function listDue(cron: string, after: number, until: number): number[] {
  return [...walkDue(cron, after, until)];
}

/** The first `count` minutes after `after` at which the clock of UTC matches. */
export function findDue(cron: string, after: number, count: number): number[] {
  const due: number[] = [];
  for (const at of walkDue(cron, after, after + LOOKED_AT_MAX_MS)) if (due.push(at) === count) break;
  return due;
}

export function toMinute(at: number): number {
  return Math.floor(at / MINUTE_MS) * MINUTE_MS;
}

/** Looks at each minute, but for those of a day or an hour that does not match. */
function* walkDue(cron: string, after: number, until: number): Generator<number> {
  const { minutes, hours, days, months, weekdays } = readCron(cron);
  let at = toMinute(after) + MINUTE_MS;
  while (at <= until) {
    const time = new Date(at);
    const isDay = days.has(time.getUTCDate()) && months.has(time.getUTCMonth() + 1) && weekdays.has(time.getUTCDay());
    if (!isDay) at = (Math.floor(at / DAY_MS) + 1) * DAY_MS;
    else if (!hours.has(time.getUTCHours())) at = (Math.floor(at / HOUR_MS) + 1) * HOUR_MS;
    else {
      if (minutes.has(time.getUTCMinutes())) yield at;
      at += MINUTE_MS;
    }
  }
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
