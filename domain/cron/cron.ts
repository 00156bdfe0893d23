import { countDaysInMonth } from "./calendar-dates.ts";
import { CRON_FIELDS, type CronField, parseCronField } from "./fields.ts";
import { findCronHint } from "./hints.ts";

/** A cron expression in five fields, each as the sorted numbers at which it fires. Plain JSON. */
export interface Cron {
  /** As written, with single spaces. */
  readonly text: string;
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: readonly number[];
  /** 1 to 12. */
  readonly months: readonly number[];
  /** 0 (Sunday) to 6. */
  readonly weekdays: readonly number[];
  /** The field does not begin with `*`. With both restricted a date matches either; otherwise it must match both (Vixie cron). */
  readonly dayRestricted: boolean;
  readonly weekdayRestricted: boolean;
  /** The hour field begins with `*`: ticks follow the clock as it runs. */
  readonly hourStar: boolean;
}

/** `position` is the 1-based character of the expression where the problem begins. */
export interface CronProblem {
  readonly position: number;
  readonly message: string;
}

export type CronResult =
  | { readonly ok: true; readonly cron: Cron }
  | { readonly ok: false; readonly problems: readonly CronProblem[] };

const TEXT_MAX = 1_000;
const SHAPE = "minute, hour, day of month, month, day of week";

/**
 * Parses exactly five fields of classic cron. Everything else is refused, all problems at once, each with what to write
 * instead. An expression that can never fire (30 February) is refused too.
 */
export function parseCron(text: string): CronResult {
  if (text.length > TEXT_MAX) return refuse(1, `A cron expression has at most ${TEXT_MAX} characters.`);
  const hint = findCronHint(text);
  if (hint) return refuse(hint.position, hint.message);
  const words = [...text.matchAll(/[^ \t]+/g)].map((match) => ({ text: match[0], position: match.index + 1 }));
  if (words.length !== CRON_FIELDS.length) return refuse(positionOfCount(words, text), explainCount(words.length));

  const problems: CronProblem[] = [];
  const values = CRON_FIELDS.map((field, index) => {
    const word = words[index] as { text: string; position: number };
    const parsed = parseCronField(word.text, field);
    for (const problem of parsed.problems) {
      problems.push({ position: word.position + problem.offset, message: problem.message });
    }
    return parsed.values;
  });
  if (problems.length > 0) return { ok: false, problems };

  const [minutes, hours, days, months, weekdays] = values as [number[], number[], number[], number[], number[]];
  const begins = (index: number): boolean => (words[index]?.text ?? "").startsWith("*");
  const cron: Cron = {
    text: words.map((word) => word.text).join(" "),
    minutes,
    hours,
    days,
    months,
    weekdays,
    dayRestricted: !begins(2),
    weekdayRestricted: !begins(4),
    hourStar: begins(1),
  };
  return canFire(cron) ? { ok: true, cron } : refuse(words[2]?.position ?? 1, explainNever(cron));
}

/** Returns whether a date (month 1 to 12) is one of the expression's, by the rule of Vixie cron. */
export function matchesDate(cron: Cron, date: { month: number; day: number; weekday: number }): boolean {
  if (!cron.months.includes(date.month)) return false;
  const day = cron.days.includes(date.day);
  const weekday = cron.weekdays.includes(date.weekday);
  return cron.dayRestricted && cron.weekdayRestricted ? day || weekday : day && weekday;
}

/** With a weekday that counts by itself there is always a date; otherwise one of the days must exist in one of the months. */
function canFire(cron: Cron): boolean {
  if (cron.dayRestricted && cron.weekdayRestricted) return true;
  return cron.months.some((month) => cron.days.some((day) => day <= countDaysInMonth(2024, month)));
}

function explainNever(cron: Cron): string {
  const names = cron.months.map((month) => monthName(month)).join(", ");
  return `This never fires: there is no day ${cron.days.join(", ")} in ${names}. Choose a day that exists in one of the months.`;
}

function monthName(month: number): string {
  return (CRON_FIELDS[3] as CronField).names[month - 1] ?? String(month);
}

function explainCount(count: number): string {
  if (count === 0) return `A cron expression has five fields: ${SHAPE}. For example "0 9 * * 1-5".`;
  if (count === 6) {
    return `A cron expression has exactly five fields (${SHAPE}), not 6. Leave out the seconds or the year; the shortest interval is one minute.`;
  }
  return `A cron expression has exactly five fields (${SHAPE}), not ${count}.`;
}

/** The first field too many, or the end of what is there. */
function positionOfCount(words: readonly { position: number }[], text: string): number {
  return words[CRON_FIELDS.length]?.position ?? Math.max(1, text.trimEnd().length + (words.length === 0 ? 0 : 1));
}

function refuse(position: number, message: string): CronResult {
  return { ok: false, problems: [{ position, message }] };
}
