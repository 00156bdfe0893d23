import { parseDate, parseDateTime } from "../../cron/calendar-dates.ts";
import { describeKind, type JsonObject, quote } from "../json-values.ts";
import type { DateInput } from "../manifest.ts";
import type { ValueKind } from "./value-kind.ts";

const DATE = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$";
const DATE_TIME =
  "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?$";
const EXAMPLES = ["2026-01-31", "2026-12-31", "2020-01-01", "2030-01-01"];

/** How the texts of a kind are read and written. */
interface Notation {
  /** Returns a number that grows with time, or undefined for another text. */
  readonly parse: (text: string) => number | undefined;
  /** How a value is written, to complete "must be …". */
  readonly words: string;
}

export const NOTATIONS: Readonly<Record<DateInput["kind"], Notation>> = {
  date: { parse: parseDate, words: "a date that exists, as YYYY-MM-DD" },
  datetime: { parse: parseDateTime, words: "a date and time that exists, such as 2026-05-01T09:30:00+02:00" },
};

export const dateKind = timeKind({
  schema: { type: "string", format: "date", pattern: DATE },
  examples: EXAMPLES,
  sentences: [],
});

export const dateTimeKind = timeKind({
  schema: { type: "string", pattern: DATE_TIME },
  examples: EXAMPLES.flatMap((date) => [`${date}T09:30:00Z`, `${date}T09:30:00`]),
  sentences: ["A date and time such as 2026-05-01T09:30:00+02:00; without an offset it is a local time."],
});

interface Shown {
  readonly schema: JsonObject;
  readonly examples: readonly string[];
  readonly sentences: readonly string[];
}

function timeKind({ schema, examples, sentences }: Shown): ValueKind<DateInput> {
  return {
    example: null,
    structured: false,
    keepsText: null,
    defaultIsText: false,
    check: checkTime,
    describe: () => schema,
    explain: ({ min, max }) => [
      ...(min === null ? [] : [`Not before ${min}.`]),
      ...(max === null ? [] : [`Not after ${max}.`]),
      ...sentences,
    ],
    listExamples: ({ min, max }) => [...[min, max].filter((bound) => bound !== null), ...examples],
  };
}

function checkTime({ kind, min, max }: DateInput, value: unknown): string[] {
  const { parse, words } = NOTATIONS[kind];
  if (typeof value !== "string") return [`must be ${words}, not ${describeKind(value)}.`];
  const time = parse(value);
  if (time === undefined) return [`must be ${words}, not ${quote(value)}.`];
  return [
    ...(min !== null && time < (parse(min) ?? time) ? [`must not be before ${min}.`] : []),
    ...(max !== null && time > (parse(max) ?? time) ? [`must not be after ${max}.`] : []),
  ];
}
