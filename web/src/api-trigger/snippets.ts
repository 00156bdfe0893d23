import { findExampleValues } from "../../../domain/manifest/example-inputs.ts";
import { findJsonTexts } from "../../../domain/manifest/inputs.ts";
import { isExact, type JsonTexts, textOf } from "../../../domain/manifest/json-text.ts";
import type { JsonObject, JsonValue } from "../../../domain/manifest/json-values.ts";
import type { Input } from "../../../domain/manifest/manifest.ts";
import { exampleTextOf, isFileInput } from "../../../domain/manifest/values.ts";
import type { Body, Call, ExampleBody, FilePart } from "./call.ts";
import { writeCurl } from "./curl.ts";
import { writeJavaScript } from "./javascript.ts";
import { writePython } from "./python.ts";

export const LANGUAGES = ["curl", "python", "javascript"] as const;
export type Language = (typeof LANGUAGES)[number];

/** In place of a value that only the reader can know. */
const UNKNOWN = "REPLACE_ME";
/** Extensions of the media types that workflows ask for most. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  "text/*": ".txt",
  "text/csv": ".csv",
  "image/*": ".png",
  "image/jpeg": ".jpg",
  "audio/*": ".wav",
  "video/*": ".mp4",
  "application/*": ".bin",
  "text/plain": ".txt",
};
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".tsv": "text/tab-separated-values",
  ".txt": "text/plain",
  ".md": "text/markdown",
  ".json": "application/json",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".wav": "audio/wav",
  ".mp3": "audio/mpeg",
  ".mp4": "video/mp4",
};

/** A program that calls the workflow when it is pasted, and prints what came out. */
export function writeSnippet(language: Language, body: Body, call: Call): string {
  const example = findExampleBody(call.inputs, call.known, call.knownTexts);
  switch (language) {
    case "curl":
      return writeCurl(body, call, example);
    case "python":
      return writePython(body, call, example);
    case "javascript":
      return writeJavaScript(body, call, example);
  }
}

/** JSON carries no files, so a workflow that requires one takes a form only. */
export function canSendJson(inputs: readonly Input[]): boolean {
  return !inputs.some((input) => isFileInput(input) && input.required);
}

/** Inputs whose example value the reader has to put in, because none could be found that would be accepted. */
export function listUnknownValues(inputs: readonly Input[], known: JsonObject = {}): string[] {
  const examples = findExampleValues(inputs);
  return inputs
    .filter((input) => !isFileInput(input) && input.required && !examples.has(input.name) && !(input.name in known))
    .map(({ name }) => name);
}

/** Values for what is required, known or has a default, in the order of declaration; what else may be left out is left out. */
export function findExampleBody(
  inputs: readonly Input[],
  known: JsonObject = {},
  knownTexts: JsonTexts = {},
): ExampleBody {
  const examples = findExampleValues(inputs);
  const shown = inputs.filter((input) => isShown(input) || (known[input.name] ?? null) !== null);
  const found = shown.flatMap((input): [string, JsonValue][] =>
    isFileInput(input) ? [] : [[input.name, known[input.name] ?? examples.get(input.name) ?? UNKNOWN]],
  );
  const texts = findJsonTexts({ inputs }, Object.fromEntries(found), knownTexts);
  const exact = Object.fromEntries(Object.entries(texts).filter(([, text]) => !isExact(text)));
  // The texts have the keys in their order, which the database does not keep.
  const values = found.map(([name, value]): [string, JsonValue] => {
    const text = textOf(texts, name);
    return [name, text === undefined ? value : (JSON.parse(text) as JsonValue)];
  });
  return {
    values,
    exact,
    texts: values.map(([name, value]) => [name, textOf(exact, name) ?? toFormText(inputs, name, value)]),
    files: inputs.flatMap((input) => (isFileInput(input) ? [toFilePart(input)] : [])),
  };
}

function isShown(input: Input): boolean {
  if (input.required || isFileInput(input)) return true;
  return input.kind !== "secret" && input.default !== null;
}

/** As the service reads parts: JSON text, or for textual inputs plain text, where that means the same. */
function toFormText(inputs: readonly Input[], name: string, value: JsonValue): string {
  const kind = inputs.find((input) => input.name === name)?.kind ?? "json";
  if (typeof value !== "string" || exampleTextOf(kind) !== null) return JSON.stringify(value);
  // Forms turn line breaks into CR LF, and a text in quotes would be read as JSON.
  return /[\r\n]/.test(value) || isJsonText(value) ? JSON.stringify(value) : value;
}

function isJsonText(text: string): boolean {
  try {
    return typeof JSON.parse(text) === "string";
  } catch {
    return false;
  }
}

function toFilePart(input: Extract<Input, { accept: readonly string[] }>): FilePart {
  const wanted = input.accept[0] ?? ".txt";
  const extension = wanted.startsWith(".") ? wanted : (EXTENSIONS[wanted] ?? `.${wanted.split("/")[1] ?? "bin"}`);
  const declared = input.accept.find((entry) => !entry.startsWith(".") && !entry.endsWith("/*"));
  return {
    name: input.name,
    file: `${input.name}${extension}`,
    contentType: declared ?? CONTENT_TYPES[extension] ?? "application/octet-stream",
  };
}
