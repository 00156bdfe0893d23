import type { InputProblem } from "../errors.ts";
import { type CheckBudget, createCheckBudget } from "./check-budget.ts";
import { hasEndlessNumber, type JsonTexts, splitMembers, textOf } from "./json-text.ts";
import { describeKind, isJsonObject, type JsonValue, quote } from "./json-values.ts";
import type { Input, InputKind, Manifest } from "./manifest.ts";
import { suggest } from "./nearest.ts";
import { checkUploads, type UploadedFile } from "./uploads.ts";
import { checkValue, exampleTextOf, findTextProblem, isFileInput, valueKindOf } from "./values.ts";

/**
 * The values of an execution. `inputs` has every declared input but those given as files or secrets: null where nothing
 * was given and there is no default. `secrets` has the secrets that were given. Both in the order of declaration.
 */
export type InputsResult =
  | { readonly ok: true; readonly inputs: Record<string, JsonValue>; readonly secrets: Record<string, string> }
  | { readonly ok: false; readonly problems: readonly InputProblem[] };

/** Declarations alone are enough to read values. */
type Declarations = Pick<Manifest, "inputs">;

type Given =
  | { readonly kind: "none" | "files" }
  | { readonly kind: "value"; readonly value: JsonValue }
  | { readonly kind: "problems"; readonly messages: readonly string[] };

/** What an object may hold beyond its declared keys without flooding the answer. */
const UNKNOWN_REPORTED_MAX = 20;

/**
 * Reads what a caller sent: a JSON object, flat or nested (see `flattenBody`), and the files of a multipart request, by
 * input. Applies defaults, converts nothing, and reports every problem at once. `null` and `undefined` mean not given.
 * An `undefined` body is an empty one. All values share one budget: see `checkValue`. `texts` are the values as they were
 * written, where that is known.
 */
export function parseInputs(
  manifest: Declarations,
  body: unknown,
  files: Readonly<Record<string, readonly UploadedFile[]>> = {},
  budget: CheckBudget = createCheckBudget(),
  texts: JsonTexts = {},
): InputsResult {
  const values = body === undefined ? {} : flattenBody(manifest, body);
  if (!isJsonObject(values)) {
    return {
      ok: false,
      problems: [{ input: "", message: `The inputs must be a JSON object, not ${describeKind(body)}.` }],
    };
  }
  const problems = findUndeclared(manifest, namesOf(values, files), budget);
  const inputs: [string, JsonValue][] = [];
  const secrets: [string, string][] = [];
  for (const input of manifest.inputs) {
    const value = Object.hasOwn(values, input.name) ? values[input.name] : undefined;
    const uploads = Object.hasOwn(files, input.name) ? (files[input.name] ?? []) : [];
    const digits = findTextProblem(input, textOf(texts, input.name));
    const given = digits === undefined ? readGiven(input, value, uploads, budget) : refuse(digits);
    if (given.kind === "problems") problems.push(...given.messages.map((message) => ({ input: input.name, message })));
    else if (given.kind === "none") inputs.push([input.name, null]);
    else if (given.kind === "value" && input.kind === "secret") secrets.push([input.name, given.value as string]);
    else if (given.kind === "value") inputs.push([input.name, given.value]);
  }
  if (problems.length > 0) return { ok: false, problems };
  // fromEntries defines properties and so is safe for any name; an assignment to "__proto__" would not be.
  return { ok: true, inputs: Object.fromEntries(inputs), secrets: Object.fromEntries(secrets) };
}

/**
 * Returns the flat form of an execute body. When its only key is `inputs`, holding an object, that is the inner object,
 * unless the workflow declares an input of that name. Returns any other body unchanged.
 */
export function flattenBody(manifest: Declarations, body: unknown): unknown {
  if (!isJsonObject(body) || !Object.hasOwn(body, "inputs") || Object.keys(body).length !== 1) return body;
  const nested = body["inputs"];
  return isJsonObject(nested) && !manifest.inputs.some((input) => input.name === "inputs") ? nested : body;
}

/** Returns the texts of the values in an execute body, flat or nested, whose JSON text is `text`. */
export function splitBody(manifest: Declarations, body: unknown, text: string): JsonTexts {
  const members = splitMembers(text);
  return flattenBody(manifest, body) === body ? members : splitMembers(members["inputs"] ?? "");
}

/**
 * Returns the texts of inputs that have a value in `inputs` and whose text says more than JavaScript's value. They are as
 * they were sent, or as config.yaml writes the default. What Python could not read has none: there the value counts.
 */
export function findJsonTexts(
  manifest: Declarations,
  inputs: Readonly<Record<string, unknown>>,
  sent: JsonTexts,
): JsonTexts {
  const found = manifest.inputs.flatMap((input) => {
    const keepsText = isFileInput(input) ? null : valueKindOf(input).keepsText;
    if (keepsText === null || (inputs[input.name] ?? null) === null) return [];
    const text = textOf(sent, input.name)?.trim();
    // Null means not given, so the value is the default.
    const own = text === undefined || text === "null" ? defaultTextOf(input) : text;
    if (own === undefined || !keepsText(own) || hasEndlessNumber(own)) return [];
    return [[input.name, own] as const];
  });
  return Object.fromEntries(found);
}

export type TextPart =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly message: string };

/**
 * Returns the value of a part of a multipart request that is not a file. It is JSON text; for textual kinds what is not a
 * JSON string is plain text, `null` too.
 */
export function parseTextPart(kind: InputKind, text: string): TextPart {
  const parsed = parseJson(text);
  const example = exampleTextOf(kind);
  if (example === null) return { ok: true, value: parsed.ok && typeof parsed.value === "string" ? parsed.value : text };
  return parsed.ok ? parsed : { ok: false, message: `must be JSON text, such as ${example}.` };
}

/** The value of a part that says it is JSON, for any kind: a text in it has quotes. */
export function parseJsonPart(text: string): TextPart {
  const parsed = parseJson(text);
  return parsed.ok ? parsed : { ok: false, message: "came as application/json, but is not JSON." };
}

function parseJson(text: string): { readonly ok: true; readonly value: JsonValue } | { readonly ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) as JsonValue };
  } catch {
    return { ok: false };
  }
}

function defaultTextOf(input: Input): string | undefined {
  return "defaultText" in input ? input.defaultText : undefined;
}

/** The names of everything that was given, each once. There may be a hundred thousand. */
function namesOf(values: Readonly<Record<string, unknown>>, files: Readonly<Record<string, unknown>>): string[] {
  const names = Object.keys(values);
  return names.concat(Object.keys(files).filter((name) => !Object.hasOwn(values, name)));
}

function findUndeclared(manifest: Declarations, given: readonly string[], budget: CheckBudget): InputProblem[] {
  const declared = new Set(manifest.inputs.map((input) => input.name));
  const unknown = given.filter((name) => !declared.has(name));
  const problems = unknown.slice(0, UNKNOWN_REPORTED_MAX).map((name) => ({
    input: name.slice(0, 100),
    message: `There is no input ${quote(name)}.${suggest(name, declared, budget) || listNames(declared)}`,
  }));
  const more = unknown.length - problems.length;
  return more > 0 ? [...problems, { input: "", message: `${more} more inputs are not declared.` }] : problems;
}

function listNames(names: ReadonlySet<string>): string {
  if (names.size === 0) return " The workflow has no inputs.";
  const shown = [...names].slice(0, UNKNOWN_REPORTED_MAX).join(", ");
  return ` The workflow's inputs are ${shown}${names.size > UNKNOWN_REPORTED_MAX ? ", …" : ""}.`;
}

function readGiven(input: Input, value: unknown, uploads: readonly UploadedFile[], budget: CheckBudget): Given {
  const isGiven = value !== undefined && value !== null;
  if (isFileInput(input)) {
    if (isGiven) {
      return refuse(
        `is a ${input.kind === "file" ? "file" : "list of files"}. Send it as multipart/form-data, in a part named ${input.name}.`,
      );
    }
    if (uploads.length > 0) return decide(checkUploads(input, uploads), { kind: "files" });
    return input.required
      ? refuse(`is required. Send it as multipart/form-data, in a part named ${input.name}.`)
      : { kind: "none" };
  }
  if (uploads.length > 0)
    return refuse(
      `is of type ${input.kind}, not a file. Send its value as text, in a part without a file name, or as application/json.`,
    );
  if (!isGiven) {
    if (input.required) return refuse("is required.");
    const fallback = input.kind === "secret" ? null : input.default;
    return fallback === null ? { kind: "none" } : { kind: "value", value: fallback };
  }
  return decide(checkValue(input, value, budget), { kind: "value", value: value as JsonValue });
}

/** What was given when nothing is wrong with it; otherwise the problems. */
function decide(messages: readonly string[], given: Given): Given {
  return messages.length === 0 ? given : { kind: "problems", messages };
}

function refuse(message: string): Given {
  return { kind: "problems", messages: [message] };
}
