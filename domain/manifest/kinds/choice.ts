import type { CheckBudget } from "../check-budget.ts";
import { describeKind, quote } from "../json-values.ts";
import type { BooleanInput, MultiSelectInput, SelectInput } from "../manifest.ts";
import { suggest } from "../nearest.ts";
import type { ValueKind } from "./value-kind.ts";

const OPTIONS_SHOWN = 10;
/** Wrong entries of one list that are named; the others are counted. */
const ENTRIES_REPORTED_MAX = 20;

export const booleanKind: ValueKind<BooleanInput> = {
  example: "true",
  structured: false,
  keepsText: null,
  defaultIsText: false,
  check: (_, value) => (typeof value === "boolean" ? [] : [`must be true or false, not ${describeKind(value)}.`]),
  describe: () => ({ type: "boolean" }),
  explain: () => [],
  listExamples: () => [true],
};

export const selectKind: ValueKind<SelectInput> = {
  example: null,
  structured: false,
  keepsText: null,
  defaultIsText: false,
  check: checkOption,
  describe: ({ options }) => ({ type: "string", enum: [...options] }),
  explain: () => [],
  listExamples: ({ options }) => [...options],
};

export const multiSelectKind: ValueKind<MultiSelectInput> = {
  example: '["a", "b"]',
  structured: true,
  keepsText: null,
  defaultIsText: false,
  check: checkOptions,
  describe: ({ options }) => ({ type: "array", items: { type: "string", enum: [...options] }, uniqueItems: true }),
  explain: () => [],
  listExamples: ({ options }) => [options.slice(0, 1)],
};

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
