import { matchesPattern, PATTERN_VALUE_CHARACTERS_MAX } from "../../patterns/patterns.ts";
import type { CheckBudget } from "../check-budget.ts";
import { countCharacters, describeKind, isStorable, type JsonObject } from "../json-values.ts";
import type { SecretInput, StringInput, TextInput } from "../manifest.ts";
import type { ValueKind } from "./value-kind.ts";

const EXAMPLES = [
  "text",
  "A",
  "a",
  "abc",
  "ABC",
  "0",
  "1",
  "123",
  "ABC-123",
  "2026-01-31",
  "ada@example.com",
  "EU",
  "en",
];

type AnyText = StringInput | TextInput | SecretInput;

/** The kinds `string` and `text`. */
export const textKind: ValueKind<AnyText> = {
  example: null,
  structured: false,
  keepsText: null,
  defaultIsText: false,
  check: (input, value, budget) =>
    typeof value === "string" ? checkText(input, value, budget) : [`must be a string, not ${describeKind(value)}.`],
  describe: describeText,
  explain: () => [],
  listExamples: ({ charactersMin, charactersMax }) => [
    ...EXAMPLES,
    "text ".repeat(Math.ceil(charactersMin / 5)).slice(0, charactersMin),
    "text".slice(0, charactersMax),
  ],
};

export const secretKind: ValueKind<SecretInput> = {
  ...textKind,
  describe: (input) => ({ ...describeText(input), format: "password", writeOnly: true }),
};

function describeText(input: AnyText): JsonObject {
  return {
    type: "string",
    ...(input.charactersMin > 0 ? { minLength: input.charactersMin } : {}),
    maxLength: input.charactersMax,
    ...("pattern" in input && input.pattern !== null ? { pattern: `^(?:${input.pattern})$` } : {}),
  };
}

function checkText(input: AnyText, value: string, budget: CheckBudget): string[] {
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
