import { toRanges } from "../schedules/ranges.ts";
import type { Cron } from "./cron.ts";

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** More times of a day than this are described by their minutes and hours. */
const TIMES_MAX = 6;

/** A schedule in plain English, such as `every weekday at 07:30, Europe/Berlin`. Says all that the expression says, but not how it is written. */
export function describeSchedule(cron: Cron, timezone: string): string {
  return `${describeDates(cron)}${describeTimes(cron)}, ${timezone}`.replace(/^every day every /, "every ");
}

function describeTimes({ minutes, hours }: Cron): string {
  if (minutes.length * hours.length <= TIMES_MAX) {
    const times = hours.flatMap((hour) => minutes.map((minute) => `${pad(hour)}:${pad(minute)}`));
    return ` at ${joinAnd(times)}`;
  }
  const step = findStep(minutes, 60);
  const within = hours.length === 24 ? "" : ` during ${describeHours(hours)}`;
  if (step === 1) return ` every minute${within}`;
  if (step !== undefined) return ` every ${step} minutes${within}`;
  const past = minutes.length === 1 && minutes[0] === 0 ? "" : ` at ${describeMinutes(minutes)}`;
  if (hours.length === 24) return ` every hour${past}`;
  const hourStep = findStep(hours, 24);
  if (hourStep !== undefined) return ` every ${hourStep} hours${past}`;
  return past === "" ? ` on the hour${within}` : `${past}${within}`;
}

function describeMinutes(minutes: readonly number[]): string {
  return minutes.length === 1 && minutes[0] === 1 ? "1 minute past" : `${describeNumbers(minutes)} minutes past`;
}

function describeHours(hours: readonly number[]): string {
  return joinAnd(splitRuns(hours).map(([first, last]) => `${pad(first)}:00–${pad(last)}:59`));
}

function describeDates(cron: Cron): string {
  const { days, weekdays, months } = cron;
  const byDay = days.length < 31 ? `on day ${describeNumbers(days)} of ${describeMonths(months)}` : undefined;
  const byWeekday = weekdays.length < 7 ? describeWeekdays(weekdays) : undefined;
  const inMonths = months.length < 12 ? ` in ${describeMonths(months)}` : "";
  if (cron.dayRestricted && cron.weekdayRestricted && (byDay === undefined || byWeekday === undefined))
    return `every day${inMonths}`;
  if (byDay === undefined) return `${byWeekday ?? "every day"}${inMonths}`;
  if (byWeekday === undefined) return byDay;
  if (cron.dayRestricted && cron.weekdayRestricted) return `${byDay} and ${byWeekday}${inMonths}`;
  return `${byDay} if that is a ${joinWith(
    weekdays.map((day) => WEEKDAYS[day] as string),
    "or",
  )}`;
}

function describeMonths(months: readonly number[]): string {
  return months.length === 12 ? "the month" : joinAnd(months.map((month) => MONTHS[month - 1] as string));
}

function describeWeekdays(weekdays: readonly number[]): string {
  if (weekdays.join() === "1,2,3,4,5") return "every weekday";
  return `every ${joinAnd(weekdays.map((day) => WEEKDAYS[day] as string))}`;
}

/** `1, 15 and 20–25`. */
function describeNumbers(values: readonly number[]): string {
  return joinAnd(splitRuns(values).map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)));
}

/** The step of values that go through a whole cycle evenly from 0 on. */
function findStep(values: readonly number[], cycle: number): number | undefined {
  const [range, ...more] = toRanges(values);
  if (range === undefined || more.length > 0 || range.start !== 0) return undefined;
  return cycle % range.step === 0 && range.end === cycle - range.step ? range.step : undefined;
}

function splitRuns(values: readonly number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const value of values) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === value - 1) last[1] = value;
    else runs.push([value, value]);
  }
  return runs;
}

function joinAnd(words: readonly string[]): string {
  return joinWith(words, "and");
}

function joinWith(words: readonly string[], word: string): string {
  return words.length < 2 ? (words[0] ?? "") : `${words.slice(0, -1).join(", ")} ${word} ${words.at(-1)}`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}
