import type { InputProblem } from "../../../domain/errors.ts";
import { createCheckBudget } from "../../../domain/manifest/check-budget.ts";
import { findJsonTexts, parseInputs } from "../../../domain/manifest/inputs.ts";
import { type JsonTexts, layOut, textOf } from "../../../domain/manifest/json-text.ts";
import type { JsonValue } from "../../../domain/manifest/json-values.ts";
import type { Input, ValueInput } from "../../../domain/manifest/manifest.ts";
import { isFileInput } from "../../../domain/manifest/values.ts";
import { messageOf } from "../../../domain/message-of.ts";

/** A file of an earlier execution that goes in again, without being sent again. */
export interface KeptFile {
  readonly kind: "kept";
  readonly from: { readonly executionId: string; readonly input: string; readonly position: number };
  readonly fileName: string;
  readonly bytes: number;
}

/** A file that was chosen or dropped. */
export interface ChosenFile {
  readonly kind: "chosen";
  readonly file: File;
}

export type FormFile = KeptFile | ChosenFile;

/**
 * What stands in the controls. Texts for everything that is written, and for numbers, JSON, and yes or no (`true`, `false`);
 * a list for what is chosen of several; files. Empty always means not given.
 */
export type FormValue = string | readonly string[] | readonly FormFile[];
export type FormValues = Readonly<Record<string, FormValue>>;

/** A form that may be sent: JSON values and files by input. */
export interface ReadForm {
  readonly values: Readonly<Record<string, JsonValue>>;
  /** Those of kind `json` as they were written. */
  readonly texts: JsonTexts;
  readonly files: Readonly<Record<string, readonly FormFile[]>>;
}

/**
 * Returns what the controls begin with: `given` values, and `texts` of JSON, or else the defaults. Secrets always begin
 * empty.
 */
export function beginValues(
  inputs: readonly Input[],
  given: Readonly<Record<string, JsonValue>> = {},
  files: Readonly<Record<string, readonly FormFile[]>> = {},
  texts: JsonTexts = {},
): FormValues {
  return Object.fromEntries(
    inputs.map((input): [string, FormValue] => {
      if (isFileInput(input)) return [input.name, Object.hasOwn(files, input.name) ? (files[input.name] ?? []) : []];
      if (input.kind === "secret") return [input.name, ""];
      if (!Object.hasOwn(given, input.name))
        return [input.name, toControl(input, input.default, "defaultText" in input ? input.defaultText : undefined)];
      return [input.name, toControl(input, given[input.name] ?? null, textOf(texts, input.name))];
    }),
  );
}

function toControl(input: Input, value: JsonValue, text: string | undefined): FormValue {
  if (input.kind === "multi_select") return Array.isArray(value) ? value.map(String) : [];
  if (value === null) return "";
  if (input.kind === "json") return layOut(text ?? JSON.stringify(value));
  return typeof value === "string" ? value : (text ?? JSON.stringify(value));
}

/**
 * Reads the controls with the service's own check of the manifest's declarations. Returns all problems at once, in the
 * order of the form.
 */
export function readForm(
  inputs: readonly Input[],
  values: FormValues,
): { readonly form: ReadForm; readonly problems: readonly InputProblem[] } {
  const given: [string, JsonValue][] = [];
  const files: [string, readonly FormFile[]][] = [];
  const unreadable: InputProblem[] = [];
  for (const input of inputs) {
    const value = values[input.name] ?? "";
    if (value.length === 0) continue;
    if (isFileInput(input)) files.push([input.name, value as readonly FormFile[]]);
    else {
      const read = fromControl(input, value as string | readonly string[]);
      if (read.ok) given.push([input.name, read.value]);
      else unreadable.push({ input: input.name, message: read.message });
    }
  }
  const written = Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
  const read = Object.fromEntries(given);
  const form = { values: read, texts: findJsonTexts({ inputs }, read, written), files: Object.fromEntries(files) };
  const uploads = Object.fromEntries(files.map(([name, list]) => [name, list.map(describeFile)]));
  const result = parseInputs({ inputs }, form.values, uploads, createCheckBudget(), written);
  const known = new Set(unreadable.map(({ input }) => input));
  const found = result.ok ? [] : result.problems.filter(({ input }) => !known.has(input));
  const order = new Map(inputs.map(({ name }, index) => [name, index]));
  const problems = [...unreadable, ...found].sort((a, b) => (order.get(a.input) ?? -1) - (order.get(b.input) ?? -1));
  return { form, problems };
}

type Read = { readonly ok: true; readonly value: JsonValue } | { readonly ok: false; readonly message: string };

/** The table of what is read from the text in a control, by kind. A list is a value as it is. */
const READERS: Readonly<Record<ValueInput["kind"], (text: string) => Read>> = {
  string: readText,
  text: readText,
  secret: readText,
  select: readText,
  date: readText,
  datetime: readText,
  multi_select: readText,
  number: (text) => readNumber(text, "a number, such as 1.5"),
  integer: (text) => readNumber(text, "a whole number, such as 3"),
  boolean: (text) => ({ ok: true, value: text === "true" }),
  json: readJson,
};

function fromControl({ kind }: ValueInput, value: string | readonly string[]): Read {
  return typeof value === "string" ? READERS[kind](value) : { ok: true, value };
}

function readText(text: string): Read {
  return { ok: true, value: text };
}

function readNumber(text: string, words: string): Read {
  const number = Number(text.trim());
  if (Number.isNaN(number) || text.trim() === "") return { ok: false, message: `must be ${words}.` };
  return { ok: true, value: number };
}

function readJson(text: string): Read {
  try {
    return { ok: true, value: JSON.parse(text) as JsonValue };
  } catch (error) {
    return { ok: false, message: `must be JSON. ${messageOf(error)}.` };
  }
}

function describeFile(file: FormFile) {
  return file.kind === "kept"
    ? { fileName: file.fileName, bytes: file.bytes, contentType: "" }
    : { fileName: file.file.name, bytes: file.file.size, contentType: file.file.type };
}

/** How many bytes of chosen files a form sends. */
export function chosenBytes({ files }: ReadForm): number {
  const chosen = Object.values(files).flat();
  return chosen.reduce((sum, file) => sum + (file.kind === "chosen" ? file.file.size : 0), 0);
}
