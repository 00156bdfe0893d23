import { isExact } from "./json-text.ts";
import type { JsonValue } from "./json-values.ts";
import type { Input, ValueInput } from "./manifest.ts";
import { checkValue, isFileInput, valueKindOf } from "./values.ts";

/**
 * Returns a value for each input that is no file: its default, if JavaScript can write it, or else one within its
 * constraints. Leaves out an input for which none was found, as for some patterns.
 */
export function findExampleValues(inputs: readonly Input[]): ReadonlyMap<string, JsonValue> {
  const found = new Map<string, JsonValue>();
  for (const input of inputs) {
    const value = isFileInput(input) ? undefined : findExampleValue(input);
    if (value !== undefined) found.set(input.name, value);
  }
  return found;
}

/** The checks of real calls decide: no example is shown that would be refused. */
function findExampleValue(input: ValueInput): JsonValue | undefined {
  const candidates = [...defaultOf(input), ...valueKindOf(input).listExamples(input)];
  return candidates.find((value) => checkValue(input, value).length === 0);
}

function defaultOf(input: ValueInput): JsonValue[] {
  if (input.kind === "secret" || input.default === null) return [];
  // As JavaScript writes it, it would be another value than config.yaml has.
  const text = "defaultText" in input ? input.defaultText : undefined;
  return valueKindOf(input).defaultIsText && !isExact(text ?? "null") ? [] : [input.default as JsonValue];
}
