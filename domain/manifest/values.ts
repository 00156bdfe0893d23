import { parseDate, parseDateTime } from "./calendar-dates.ts";
import { type CheckBudget, createCheckBudget } from "./check-budget.ts";
import { countCharacters, describeKind, findJsonProblem, isStorable, quote } from "./json-values.ts";
import type {
  DateInput,
  Input,
  MultiSelectInput,
  NumberInput,
  SecretInput,
  SelectInput,
  StringInput,
  TextInput,
} from "./manifest.ts";
import { suggest } from "./nearest.ts";
import { matchesPattern, PATTERN_VALUE_CHARACTERS_MAX } from "./patterns.ts";

const OPTIONS_SHOWN = 10;
/** Wrong entries of one list that are named; the others are counted. */
const ENTRIES_REPORTED_MAX = 20;

/** JSON's text of a number without a point or an exponent. */
const WHOLE = /^\s*-?\d+\s*$/;

/** An input whose value is JSON: every kind but the files. */
export type ValueInput = Exclude<Input, { readonly kind: "file" | "file_list" }>;

/** True for the kinds whose value is an upload. */
export function isFileInput(input: Input): input is Exclude<Input, ValueInput> {
  return input.kind === "file" || input.kind === "file_list";
}

/**
 * Everything that is wrong with a value that was given (not null) for an input: its type, then its constraints.
 * Nothing is converted. Messages follow the input's name, and never repeat a secret. What it costs is counted in `budget`; a
 * value that there is not enough left for is a problem, too.
 */
export function checkValue(input: ValueInput, value: unknown, budget: CheckBudget = createCheckBudget()): string[] {
  switch (input.kind) {
    case "string":
    case "text":
    case "secret":
      return typeof value === "string"
        ? checkText(input, value, budget)
        : [`must be a string, not ${describeKind(value)}.`];
    case "number":
    case "integer":
      return checkNumber(input, value);
    case "boolean":
      return typeof value === "boolean" ? [] : [`must be true or false, not ${describeKind(value)}.`];
    case "select":
      return checkOption(input, value, budget);
    case "multi_select":
      return checkOptions(input, value, budget);
    case "date":
    case "datetime":
      return checkTime(input, value);
    case "json": {
      const problem = findJsonProblem(value);
      return problem === undefined ? [] : [`${problem}.`];
    }
  }
}

function checkText(input: StringInput | TextInput | SecretInput, value: string, budget: CheckBudget): string[] {
  if (!isStorable(value)) return ["holds a NUL character or half of a surrogate pair, which cannot be stored."];
  const problems: string[] = [];
  const characters = countCharacters(value);
  if (characters < input.charactersMin)
    problems.push(`must have at least ${input.charactersMin} characters, not ${characters}.`);
  if (characters > input.charactersMax)
    problems.push(`must have at most ${input.charactersMax} characters, not ${characters}.`);
  if (input.kind === "text" || input.pattern === null) return problems;
  if (characters > PATTERN_VALUE_CHARACTERS_MAX) return problems;
  const matches = matchesPattern(input.pattern, value, budget);
  if (matches === undefined)
    problems.push(
      "takes too long to compare with its pattern, together with the values before it. Send shorter values, or simplify the patterns in config.yaml.",
    );
  else if (!matches) problems.push(`must match the pattern ${input.pattern}`);
  return problems;
}

function checkNumber(input: NumberInput, value: unknown): string[] {
  if (typeof value !== "number") return [`must be ${nameOf(input)}, not ${describeKind(value)}.`];
  if (!Number.isFinite(value)) return [`must be ${nameOf(input)}, not ${value}.`];
  if (input.kind === "integer" && !Number.isSafeInteger(value)) {
    return [
      Number.isInteger(value)
        ? `must be between ±${Number.MAX_SAFE_INTEGER}.`
        : `must be a whole number, not ${value}.`,
    ];
  }
  const problems: string[] = [];
  if (input.min !== null && value < input.min) problems.push(`must be at least ${input.min}, not ${value}.`);
  if (input.max !== null && value > input.max) problems.push(`must be at most ${input.max}, not ${value}.`);
  if (input.step !== null && !isOnStep(value, input.min ?? 0, input.step)) {
    problems.push(`must go in steps of ${input.step} from ${input.min ?? 0}, unlike ${value}.`);
  }
  return problems;
}

/**
 * Why a number would not arrive as it was written, or undefined. Whole digits beyond 2^53 mean a whole number to Python, and
 * JavaScript would change them; with a point or an exponent both read the same number.
 */
export function findDigitsProblem(input: Input, text: string | undefined): string | undefined {
  if (input.kind !== "number" || text === undefined || !WHOLE.test(text) || Number.isSafeInteger(Number(text)))
    return undefined;
  return `must be between ±${Number.MAX_SAFE_INTEGER}, or be written with a point or an exponent.`;
}

function nameOf(input: NumberInput): string {
  return input.kind === "integer" ? "a whole number" : "a number";
}

/** Tolerates what binary fractions do to 0.1 + 0.2: one part in 10⁹ of a step. */
function isOnStep(value: number, base: number, step: number): boolean {
  const steps = (value - base) / step;
  return Math.abs(steps - Math.round(steps)) <= 1e-9 * Math.max(1, Math.abs(steps));
}

function checkOption(input: SelectInput, value: unknown, budget: CheckBudget): string[] {
  if (typeof value !== "string") return [`must be one of its options, a string, not ${describeKind(value)}.`];
  return input.options.includes(value) ? [] : [explainOption(input.options, value, budget)];
}

function checkOptions(input: MultiSelectInput, value: unknown, budget: CheckBudget): string[] {
  if (!Array.isArray(value)) return [`must be a list of its options, not ${describeKind(value)}.`];
  if (value.length > input.options.length)
    return [`must have at most ${input.options.length} entries, one for each option.`];
  const problems: string[] = [];
  const options = new Set(input.options);
  const seen = new Set<string>();
  let more = 0;
  for (const chosen of value as unknown[]) {
    if (typeof chosen === "string" && options.has(chosen) && !seen.has(chosen)) seen.add(chosen);
    else if (problems.length === ENTRIES_REPORTED_MAX) more += 1;
    else if (typeof chosen !== "string") problems.push(`must be a list of strings; it holds ${describeKind(chosen)}.`);
    else if (seen.has(chosen)) problems.push(`holds ${quote(chosen)} more than once.`);
    else problems.push(explainOption(input.options, chosen, budget));
  }
  return more === 0 ? problems : [...problems, `holds ${more} more entries that are wrong.`];
}

function explainOption(options: readonly string[], value: string, budget: CheckBudget): string {
  const shown = options.slice(0, OPTIONS_SHOWN).map(quote).join(", ");
  const rest = options.length > OPTIONS_SHOWN ? ` and ${options.length - OPTIONS_SHOWN} more` : "";
  return `${quote(value)} is not one of the options.${suggest(value, options, budget)} They are ${shown}${rest}.`;
}

/** A number that grows with time for a text of a `date` or `datetime`, or undefined. */
export function parseTime(kind: DateInput["kind"], text: string): number | undefined {
  return kind === "date" ? parseDate(text) : parseDateTime(text);
}

/** How a value of the kind is written, to complete "must be …". */
export function describeTime(kind: DateInput["kind"]): string {
  return kind === "date"
    ? "a date that exists, as YYYY-MM-DD"
    : "a date and time that exists, such as 2026-05-01T09:30:00+02:00";
}

function checkTime(input: DateInput, value: unknown): string[] {
  if (typeof value !== "string") return [`must be ${describeTime(input.kind)}, not ${describeKind(value)}.`];
  const time = parseTime(input.kind, value);
  if (time === undefined) return [`must be ${describeTime(input.kind)}, not ${quote(value)}.`];
  const problems: string[] = [];
  if (input.min !== null && time < (parseTime(input.kind, input.min) ?? time))
    problems.push(`must not be before ${input.min}.`);
  if (input.max !== null && time > (parseTime(input.kind, input.max) ?? time))
    problems.push(`must not be after ${input.max}.`);
  return problems;
}
