/** How often a schedule is due, in the words of the form. `cron` is every expression that the form has no fields for. */
export const REPEATS = ["minutes", "hourly", "daily", "weekly", "monthly", "cron"] as const;
export type Repeat = (typeof REPEATS)[number];

/** What the fields for the times of a schedule hold. Those that the repeat does not use keep what they had. */
export interface Times {
  readonly repeat: Repeat;
  /** Every so many minutes, from the full hour on. */
  readonly step: number;
  /** Of each hour. */
  readonly minute: number;
  /** `09:00`. */
  readonly clock: string;
  /** 0 is Sunday. */
  readonly weekdays: readonly number[];
  readonly day: number;
  readonly cron: string;
}

/** Every weekday at 9. */
const FIRST: Times = {
  repeat: "weekly",
  step: 15,
  minute: 0,
  clock: "09:00",
  weekdays: [1, 2, 3, 4, 5],
  day: 1,
  cron: "0 9 * * 1-5",
};

/** Minutes that an hour is a multiple of: with others the last step of each hour is shorter. */
export const STEPS = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30] as const;

const MINUTES = /^(?:\*\/(\d+)|(\*)) \* \* \* \*$/;
const HOURLY = /^(\d+) \* \* \* \*$/;
const AT = /^(\d+) (\d+) (\*|\d+) \* (\*|[0-7](?:[-,][0-7])*)$/;

/** Returns the fields that mean an expression; every weekday at 9 without one. Those that the form cannot say are `cron`. */
export function readTimes(text: string | undefined): Times {
  if (text === undefined) return FIRST;
  const known = { ...FIRST, cron: text };
  const cron = text.trim().replaceAll(/\s+/g, " ");
  const minutes = MINUTES.exec(cron);
  if (minutes !== null) {
    const step = Number(minutes[1] ?? 1);
    return STEPS.some((each) => each === step) ? { ...known, repeat: "minutes", step } : { ...known, repeat: "cron" };
  }
  const hourly = HOURLY.exec(cron);
  if (hourly !== null && Number(hourly[1]) < 60) return { ...known, repeat: "hourly", minute: Number(hourly[1]) };
  const [, minute = "", hour = "", day = "", weekdays = ""] = AT.exec(cron) ?? [];
  if (minute === "" || Number(minute) > 59 || Number(hour) > 23) return { ...known, repeat: "cron" };
  const at = { ...known, clock: `${pad(hour)}:${pad(minute)}` };
  if (day === "*" && weekdays === "*") return { ...at, repeat: "daily" };
  if (day === "*") return { ...at, repeat: "weekly", weekdays: listWeekdays(weekdays) };
  if (weekdays === "*") return { ...at, repeat: "monthly", day: Number(day) };
  return { ...known, repeat: "cron" };
}

/** Returns the expression that the fields mean, or undefined while one of them is empty. */
export function toCron(times: Times): string | undefined {
  const { repeat, step, minute, clock, weekdays, day, cron } = times;
  const [hour, minuteOfHour] = clock.split(":").map(Number);
  const at = clock === "" ? undefined : `${minuteOfHour} ${hour}`;
  switch (repeat) {
    case "minutes":
      return step === 1 ? "* * * * *" : `*/${step} * * * *`;
    case "hourly":
      return Number.isInteger(minute) ? `${minute} * * * *` : undefined;
    case "daily":
      return at && `${at} * * *`;
    case "weekly":
      return at && weekdays.length > 0 ? `${at} * * ${joinWeekdays(weekdays)}` : undefined;
    case "monthly":
      return at && Number.isInteger(day) ? `${at} ${day} * *` : undefined;
    case "cron":
      return cron.trim() === "" ? undefined : cron.trim();
  }
}

function listWeekdays(text: string): number[] {
  const days = text.split(",").flatMap((part) => {
    const [first = 0, last = first] = part.split("-").map(Number);
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => (first + at) % 7);
  });
  return [...new Set(days)].toSorted((a, b) => a - b);
}

/** `1-5` of days that follow each other, else `1,3`. */
function joinWeekdays(weekdays: readonly number[]): string {
  const days = weekdays.toSorted((a, b) => a - b);
  const [first = 0, last = 0] = [days[0], days.at(-1)];
  return days.length > 2 && last - first === days.length - 1 ? `${first}-${last}` : days.join(",");
}

function pad(number: string): string {
  return number.padStart(2, "0");
}
