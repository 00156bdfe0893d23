import { type CheckBudget, createCheckBudget } from "./check-budget.ts";
import { booleanKind, multiSelectKind, selectKind } from "./kinds/choice.ts";
import { jsonKind } from "./kinds/json.ts";
import { integerKind, numberKind } from "./kinds/number.ts";
import { secretKind, textKind } from "./kinds/text.ts";
import { dateKind, dateTimeKind } from "./kinds/time.ts";
import type { ValueKind } from "./kinds/value-kind.ts";
import type { FileInput, FileListInput, Input, InputKind, InputOf, ValueInput } from "./manifest.ts";

/** The table of values: what each kind takes, and how it is described. How a kind is declared is in `DECLARED_KINDS`. */
const VALUE_KINDS: { readonly [Kind in ValueInput["kind"]]: ValueKind<InputOf<Kind, ValueInput>> } = {
  string: textKind,
  text: textKind,
  number: numberKind,
  integer: integerKind,
  boolean: booleanKind,
  select: selectKind,
  multi_select: multiSelectKind,
  date: dateKind,
  datetime: dateTimeKind,
  json: jsonKind,
  secret: secretKind,
};

/** Returns the entry of the table for an input. */
export function valueKindOf(input: ValueInput): ValueKind {
  return VALUE_KINDS[input.kind];
}

/** Returns true for the kinds whose value is an upload: those that are not in the table of values. */
export function isFileInput(input: Input): input is FileInput | FileListInput {
  return !Object.hasOwn(VALUE_KINDS, input.kind);
}

/**
 * Returns JSON text of a value, to show when a part of a form is not JSON. Null for kinds whose value is a text: their
 * parts need no quotes.
 */
export function exampleTextOf(kind: InputKind): string | null {
  return kind === "file" || kind === "file_list" ? "null" : VALUE_KINDS[kind].example;
}

/** Returns whether the texts of values matter to a manifest, apart from the values: see `findJsonTexts`. */
export function keepsTexts(inputs: readonly Input[]): boolean {
  return inputs.some((input) => !isFileInput(input) && valueKindOf(input).keepsText !== null);
}

/**
 * Returns everything that is wrong with a value that was given (not null) for an input: its type, then its constraints.
 * Nothing is converted. Messages follow the input's name, and never repeat a secret. The cost is counted in `budget`; a
 * value that too little budget is left for is a problem, too.
 */
export function checkValue(input: ValueInput, value: unknown, budget: CheckBudget = createCheckBudget()): string[] {
  return valueKindOf(input).check(input, value, budget);
}

/** Returns why a value would not arrive as its JSON text says, or undefined. */
export function findTextProblem(input: Input, text: string | undefined): string | undefined {
  return text === undefined || isFileInput(input) ? undefined : valueKindOf(input).findTextProblem?.(text);
}
