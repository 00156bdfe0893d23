import type { JsonObject, JsonValue } from "./json-values.ts";
import type { Input, ValueInput } from "./manifest.ts";
import { isFileInput, valueKindOf } from "./values.ts";

/** A schema of JSON Schema 2020-12, which OpenAPI 3.1 uses as it is. */
export type JsonSchema = JsonObject;

/** What `parseInputs` takes as a JSON body in its flat form; undefined when a required file makes that impossible. */
export function describeJsonBody(inputs: readonly Input[]): JsonSchema | undefined {
  if (inputs.some((input) => isFileInput(input) && input.required)) return undefined;
  const given = inputs.filter((input): input is ValueInput => !isFileInput(input));
  return describeObject(
    given.map((input) => [input.name, input.required ? describeValue(input) : orNull(describeValue(input))]),
    given.filter(({ required }) => required).map(({ name }) => name),
  );
}

/** The parts of a form, and those whose content is not plain text, with its type. */
export function describeForm(inputs: readonly Input[]): {
  readonly schema: JsonSchema;
  readonly encoding: Readonly<Record<string, { readonly contentType: string }>>;
} {
  const schema = describeObject(
    inputs.map((input) => [input.name, isFileInput(input) ? describeFile(input) : describePart(input)]),
    inputs.filter(({ required }) => required).map(({ name }) => name),
  );
  const structured = inputs.filter((input) => !isFileInput(input) && valueKindOf(input).structured);
  return {
    schema,
    encoding: Object.fromEntries(structured.map(({ name }) => [name, { contentType: "application/json" }])),
  };
}

/** Without `uniqueItems`: openapi-generator for Java makes a set of it, which a part of a form cannot be. */
function describePart(input: ValueInput): JsonSchema {
  const { uniqueItems, ...part } = describeValue(input);
  if (uniqueItems === undefined) return part;
  return { ...part, description: `${toSentence(input.description)} Each at most once.`.trim() };
}

/** The values that `checkValue` accepts, as far as JSON Schema can say it; the rest is in the description. */
export function describeValue(input: ValueInput): JsonSchema {
  return { title: input.label, ...valueKindOf(input).describe(input), ...withDefault(input), ...explainValue(input) };
}

function explainValue(input: ValueInput): JsonSchema {
  const sentences = valueKindOf(input).explain(input);
  const own = input.description.trim();
  const text = [sentences.length === 0 ? own : toSentence(own), ...sentences].join(" ").trim();
  return text === "" ? {} : { description: text };
}

/** Ended, where something follows that is a sentence too. */
function toSentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === "" || /[.!?:;…]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

function withDefault(input: ValueInput): JsonSchema {
  if (input.kind === "secret" || valueKindOf(input).defaultIsText || input.default === null) return {};
  return { default: input.default as JsonValue };
}

/** In words: of two bodies that differ in a file, hey-api takes the wrong one. */
const UPLOADED = ' One that was uploaded before is named in JSON: {"upload": "up_…"}.';

function describeFile(input: Extract<Input, { kind: "file" | "file_list" }>): JsonSchema {
  const accepted = input.accept.length === 0 ? "" : ` Accepted: ${input.accept.join(", ")}.`;
  const size = `At most ${input.bytesMax.toLocaleString("en")} bytes${input.kind === "file_list" ? " each" : ""}.`;
  const description = `${toSentence(input.description)} ${size}${accepted}${UPLOADED}`.trim();
  const file = { type: "string", contentMediaType: "application/octet-stream" };
  if (input.kind === "file") return { title: input.label, ...file, description };
  // In words: of bounds on a list of files, openapi-generator for Go makes code that does not compile.
  const many = `At most ${input.filesMax.toLocaleString("en")} files.`;
  return { title: input.label, type: "array", items: file, description: `${description} ${many}` };
}

/**
 * `null` means not given, which is the same as leaving it out. It is an alternative to the options of a select. As one of them, beside
 * a default, openapi-generator for Go would make code of it that does not compile.
 */
function orNull({ type, enum: options, ...schema }: JsonSchema): JsonSchema {
  if (options !== undefined) return { ...schema, anyOf: [{ type: "string", enum: options }, { type: "null" }] };
  return typeof type === "string" ? { ...schema, type: [type, "null"] } : schema;
}

function describeObject(
  properties: readonly (readonly [name: string, schema: JsonSchema])[],
  required: readonly string[],
): JsonSchema {
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required: [...required] }),
    additionalProperties: false,
  };
}
