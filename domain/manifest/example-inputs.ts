import { isExact } from "./json-text.ts";
import type { JsonValue } from "./json-values.ts";
import type { Input } from "./manifest.ts";
import { checkValue, isFileInput, type ValueInput } from "./values.ts";

const TEXTS = ["text", "A", "a", "abc", "ABC", "0", "1", "123", "ABC-123", "2026-01-31", "ada@example.com", "EU", "en"];
const NUMBERS = [1, 0, 10, 100, 0.5, -1];
const DATES = ["2026-01-31", "2026-12-31", "2020-01-01", "2030-01-01"];

/**
 * A value for each input that is no file: its default, if JavaScript can write it, or else one within its constraints. Left out is an input for which
 * none was found, as for some patterns.
 */
export function findExampleValues(inputs: readonly Input[]): ReadonlyMap<string, JsonValue> {
  const found = new Map<string, JsonValue>();
  for (const input of inputs) {
    const value = isFileInput(input) ? undefined : findExampleValue(input);
    if (value !== undefined) found.set(input.name, value);
  }
  return found;
}

/** The judge of real calls decides: no example is shown that would be refused. */
function findExampleValue(input: ValueInput): JsonValue | undefined {
  return listCandidates(input).find((value) => checkValue(input, value).length === 0);
}

function listCandidates(input: ValueInput): JsonValue[] {
  switch (input.kind) {
    case "string":
    case "text":
    case "secret": {
      const filled = "text ".repeat(Math.ceil(input.charactersMin / 5)).slice(0, input.charactersMin);
      const cut = "text".slice(0, input.charactersMax);
      return [...defaultOf(input), ...TEXTS, filled, cut];
    }
    case "number":
    case "integer":
      return [...defaultOf(input), ...[input.min, input.max].filter((bound) => bound !== null), ...NUMBERS];
    case "boolean":
      return [...defaultOf(input), true];
    case "select":
      return [...defaultOf(input), ...input.options];
    case "multi_select":
      return [...defaultOf(input), input.options.slice(0, 1)];
    case "date":
      return [...defaultOf(input), ...[input.min, input.max].filter((bound) => bound !== null), ...DATES];
    case "datetime": {
      const times = DATES.flatMap((date) => [`${date}T09:30:00Z`, `${date}T09:30:00`]);
      return [...defaultOf(input), ...[input.min, input.max].filter((bound) => bound !== null), ...times];
    }
    case "json":
      return [...defaultOf(input), {}];
  }
}

function defaultOf(input: ValueInput): JsonValue[] {
  if (input.kind === "secret" || input.default === null) return [];
  // As JavaScript writes it, it would be another value than config.yaml has.
  return input.kind === "json" && !isExact(input.defaultText ?? "null") ? [] : [input.default as JsonValue];
}
