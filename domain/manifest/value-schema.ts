import type { JsonObject, JsonValue } from "./json-values.ts";
import type { Input, ValueInput } from "./manifest.ts";
import { isFileInput, valueKindOf } from "./values.ts";

/** A schema of JSON Schema 2020-12, which OpenAPI 3.1 uses as it is. */
export type JsonSchema = JsonObject;

/** The id of an upload, as `domain/ids.ts` makes it. Generators make ids of any length of a pattern alone. */
const UPLOAD_ID = { type: "string", pattern: "^up_[0-9a-z]{16,40}$", maxLength: 43, examples: ["up_0123456789abcdef"] };

/** What a call takes as a JSON body in its flat form. In the place of a file it names one that was uploaded before. */
export function describeJsonBody(inputs: readonly Input[]): JsonSchema {
  return describeObject(
    inputs.map((input) => [input.name, describeMember(input)]),
    inputs.filter(({ required }) => required).map(({ name }) => name),
  );
}

function describeMember(input: Input): JsonSchema {
  if (!isFileInput(input)) return input.required ? describeValue(input) : orNull(describeValue(input));
  return describeFile(input, describeObject([["upload", UPLOAD_ID]], ["upload"]), "Uploaded before the call.");
}

/** The parts of a form, and those whose content is not plain text, with its type. */
export function describeForm(inputs: readonly Input[]): {
  readonly schema: JsonSchema;
  readonly encoding: Readonly<Record<string, { readonly contentType: string }>>;
} {
  const schema = describeObject(
    inputs.map((input) => [input.name, isFileInput(input) ? describeFile(input, FILE_PART) : describePart(input)]),
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

const FILE_PART = { type: "string", contentMediaType: "application/octet-stream" };

function describeFile(input: Extract<Input, { kind: "file" | "file_list" }>, file: JsonSchema, how = ""): JsonSchema {
  const accepted = input.accept.length === 0 ? "" : ` Accepted: ${input.accept.join(", ")}.`;
  const size = `At most ${input.bytesMax.toLocaleString("en")} bytes${input.kind === "file_list" ? " each" : ""}.`;
  const description = [toSentence(input.description), how, size + accepted].filter((text) => text !== "").join(" ");
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
