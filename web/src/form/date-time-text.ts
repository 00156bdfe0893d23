/** A date and time taken apart: the clock's reading, and which clock it is. */
export interface DateTimeParts {
  /** `YYYY-MM-DDTHH:MM[:SS]`, or empty. */
  readonly local: string;
  /** Empty: of no zone; `Z`, or an offset such as `+02:00`. */
  readonly offset: string;
}

const WRITTEN = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:\d{2})?$/;

/** Takes a written date and time apart. What is not one is all `local`. */
export function splitDateTime(text: string): DateTimeParts {
  const match = WRITTEN.exec(text);
  return match === null ? { local: text, offset: "" } : { local: match[1] ?? "", offset: match[2] ?? "" };
}

/** Joins the parts again. Returns an empty text without a date, for any offset. */
export function joinDateTime({ local, offset }: DateTimeParts): string {
  return local === "" ? "" : `${local}${offset}`;
}

/** An offset in minutes east of Greenwich as ISO 8601 writes it: `+05:30`. */
export function writeOffset(minutesEast: number): string {
  const minutes = Math.abs(minutesEast);
  const two = (number: number): string => String(number).padStart(2, "0");
  return `${minutesEast < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
