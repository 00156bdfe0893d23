import { findJsonProblem } from "../json-values.ts";
import type { JsonInput } from "../manifest.ts";
import type { ValueKind } from "./value-kind.ts";

export const jsonKind: ValueKind<JsonInput> = {
  example: '{"a": 1}',
  structured: true,
  keepsText: () => true,
  // Of a value of any type, openapi-generator for Java writes the default as JSON into its code. Clients would read other numbers.
  defaultIsText: true,
  check: (_, value) => {
    const problem = findJsonProblem(value);
    return problem === undefined ? [] : [`${problem}.`];
  },
  describe: () => ({}),
  explain: (input) =>
    input.default !== null && input.defaultText !== undefined ? [`${input.defaultText} unless given.`] : [],
  listExamples: () => [{}],
};
