import { explainForeign } from "./hints.ts";

export interface CronField {
  readonly name: string;
  readonly article: string;
  readonly min: number;
  readonly max: number;
  /** How many different values it has; weekday 7 is weekday 0. */
  readonly count: number;
  readonly names: readonly string[];
  /** The value of the first name. */
  readonly namesFrom: number;
}

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

export const CRON_FIELDS: readonly CronField[] = [
  { name: "minute", article: "a", min: 0, max: 59, count: 60, names: [], namesFrom: 0 },
  { name: "hour", article: "an", min: 0, max: 23, count: 24, names: [], namesFrom: 0 },
  { name: "day of month", article: "a", min: 1, max: 31, count: 31, names: [], namesFrom: 0 },
  { name: "month", article: "a", min: 1, max: 12, count: 12, names: MONTHS, namesFrom: 1 },
  { name: "day of week", article: "a", min: 0, max: 7, count: 7, names: WEEKDAYS, namesFrom: 0 },
];

/** A problem of one field; `offset` counts characters from the beginning of the field. */
export interface FieldProblem {
  readonly offset: number;
  readonly message: string;
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

class Refusal extends Error {
  readonly offset: number;
  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** The sorted values of a field, weekday 7 as 0, and everything that is wrong with it. */
export function parseCronField(text: string, field: CronField): { values: number[]; problems: FieldProblem[] } {
  const parts = splitParts(text);
  const values = new Set<number>();
  const problems: FieldProblem[] = [];
  for (const part of parts) {
    try {
      const range = parsePart(part.text, field);
      if (part.text === "*" && parts.length > 1) {
        throw new Refusal(0, `* in a list makes the rest pointless in ${field.name}. Write * alone, or leave it out.`);
      }
      for (let value = range.from; value <= range.to; value += range.step) {
        values.add(field.name === "day of week" && value === 7 ? 0 : value);
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      problems.push({ offset: part.offset + error.offset, message: error.message });
    }
  }
  return { values: [...values].toSorted((one, other) => one - other), problems };
}

function splitParts(text: string): { text: string; offset: number }[] {
  let offset = 0;
  return text.split(",").map((part) => {
    const found = { text: part, offset };
    offset += part.length + 1;
    return found;
  });
}

function parsePart(part: string, field: CronField): Range {
  if (part === "") throw new Refusal(0, `A value is missing in the list of ${field.name}. Remove the comma.`);
  const foreign = explainForeign(part, field);
  if (foreign !== undefined) throw new Refusal(0, foreign);
  const [body = "", stepText, ...more] = part.split("/");
  const stepOffset = body.length + 1;
  if (more.length > 0) throw new Refusal(stepOffset, "Only one step (/) may follow a range.");
  const range = body === "*" ? wholeRange(field) : parseRange(body, field);
  if (stepText === undefined) return { ...range, step: 1 };
  if (!/^\d{1,3}$/.test(stepText) || Number(stepText) === 0) {
    throw new Refusal(stepOffset, "A step is a whole number from 1 on, as in */15.");
  }
  const step = Number(stepText);
  if (body !== "*" && !body.includes("-")) {
    throw new Refusal(0, `A step needs a range. Write ${body}-${field.max}/${step} or */${step}.`);
  }
  const count = range.to - range.from + 1;
  if (step > count) {
    throw new Refusal(
      stepOffset,
      `The step ${step} is larger than its range of ${count} values. Write ${range.from} if it shall fire only there.`,
    );
  }
  return { ...range, step };
}

/** `*` in day of week is 0 to 6: Sunday once. */
function wholeRange(field: CronField): { from: number; to: number } {
  return { from: field.min, to: field.min + field.count - 1 };
}

function parseRange(text: string, field: CronField): { from: number; to: number } {
  const [first = "", last, ...more] = text.split("-");
  if (more.length > 0 || first === "" || last === "") {
    throw new Refusal(
      0,
      `"${text}" is not a range. Write two values with one - between them, such as ${field.min}-${field.max}.`,
    );
  }
  const from = parseValue(first, 0, field);
  if (last === undefined) return { from, to: from };
  const to = parseValue(last, first.length + 1, field);
  if (from > to) throw new Refusal(0, explainWrapped(from, to, field));
  return { from, to };
}

function explainWrapped(from: number, to: number, field: CronField): string {
  const upper = field.name === "day of week" && to === 0 ? `${from}-7` : undefined;
  const first = from === field.min + field.count - 1 ? `${from}` : `${from}-${field.min + field.count - 1}`;
  const second = to === field.min ? `${to}` : `${field.min}-${to}`;
  return `A range runs upwards: it cannot go from ${from} to ${to}. Write ${upper ?? `${first},${second}`}.`;
}

function parseValue(text: string, offset: number, field: CronField): number {
  const name = field.names.indexOf(text.toUpperCase());
  if (name >= 0) return name + field.namesFrom;
  const bounds = `${field.min} to ${field.max}`;
  const orName = field.names.length > 0 ? `, or a name such as ${field.names[1]}` : "";
  if (!/^\d+$/.test(text)) {
    throw new Refusal(
      offset,
      `"${text}" is not ${field.article} ${field.name}. Write ${bounds}${orName}, or * for any.`,
    );
  }
  const value = Number(text);
  if (text.length > 2 || value < field.min || value > field.max) {
    throw new Refusal(offset, `${text} is not ${field.article} ${field.name}. It goes from ${bounds}.`);
  }
  return value;
}
