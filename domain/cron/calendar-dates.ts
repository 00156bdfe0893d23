const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,6}))?)?(Z|([+-])([01]\d|2[0-3]):([0-5]\d))?$/;

/** Days in a month of the proleptic Gregorian calendar. `month` counts from 1. */
export function countDaysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/** The day number since 1970-01-01 of a real date `YYYY-MM-DD` from year 1 on, or undefined. */
export function parseDate(text: string): number | undefined {
  const match = DATE.exec(text);
  if (!match) return undefined;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > countDaysInMonth(year, month)) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getTime() / 86_400_000;
}

/**
 * The microseconds since 1970 of an RFC 3339 date-time with seconds and offset optional, or undefined. Without an offset
 * it is a local ("naive") time and counts as UTC where it is compared. No leap second: Python has none.
 */
export function parseDateTime(text: string): number | undefined {
  const match = DATE_TIME.exec(text);
  if (!match) return undefined;
  const [, date, hour, minute, second = "0", fraction = "", , sign, offsetHour = "0", offsetMinute = "0"] = match;
  const days = parseDate(date as string);
  if (days === undefined) return undefined;
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === "-" ? -1 : 1);
  const seconds = days * 86_400 + Number(hour) * 3_600 + (Number(minute) - offset) * 60 + Number(second);
  return seconds * 1_000_000 + Number(fraction.padEnd(6, "0"));
}
