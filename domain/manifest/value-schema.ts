import type { JsonObject, JsonValue } from "./json-values.ts";
import type { DateInput, Input, NumberInput } from "./manifest.ts";
import { isFileInput, type ValueInput } from "./values.ts";

/** A schema of JSON Schema 2020-12, which OpenAPI 3.1 uses as it is. */
export type JsonSchema = JsonObject;

const DATE = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$";
const DATE_TIME =
  "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?$";
/** Python, JavaScript and JSON agree about whole numbers up to here. */
const INTEGER_MAX = Number.MAX_SAFE_INTEGER;

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
  const structured = inputs.filter(({ kind }) => kind === "json" || kind === "multi_select");
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
  return { title: input.label, ...describeKind(input), ...withDefault(input), ...describe(input) };
}

function describeKind(input: ValueInput): JsonSchema {
  switch (input.kind) {
    case "string":
    case "text":
    case "secret":
      return {
        type: "string",
        ...(input.charactersMin > 0 ? { minLength: input.charactersMin } : {}),
        maxLength: input.charactersMax,
        ...("pattern" in input && input.pattern !== null ? { pattern: `^(?:${input.pattern})$` } : {}),
        ...(input.kind === "secret" ? { format: "password", writeOnly: true } : {}),
      };
    case "number":
      return { type: "number", ...boundsOf(input) };
    case "integer":
      return { type: "integer", minimum: -INTEGER_MAX, maximum: INTEGER_MAX, ...boundsOf(input) };
    case "boolean":
      return { type: "boolean" };
    case "select":
      return { type: "string", enum: [...input.options] };
    case "multi_select":
      return { type: "array", items: { type: "string", enum: [...input.options] }, uniqueItems: true };
    case "date":
      return { type: "string", format: "date", pattern: DATE };
    case "datetime":
      return { type: "string", pattern: DATE_TIME };
    case "json":
      return {};
  }
}

function boundsOf({ kind, min, max, step }: NumberInput): JsonSchema {
  // Of fractions, JSON Schema's own test is exact where ours forgives what binary numbers do to 0.1.
  const isMultiple = kind === "integer" && step !== null && (min ?? 0) % step === 0;
  return {
    ...(min === null ? {} : { minimum: min }),
    ...(max === null ? {} : { maximum: max }),
    ...(isMultiple ? { multipleOf: step } : {}),
  };
}

function describe(input: ValueInput): JsonSchema {
  const sentences: string[] = [];
  if (input.kind === "date" || input.kind === "datetime") sentences.push(...describeTimes(input));
  if ((input.kind === "number" || input.kind === "integer") && input.step !== null)
    sentences.push(`Goes in steps of ${input.step} from ${input.min ?? 0}.`);
  if (input.kind === "datetime")
    sentences.push("A date and time such as 2026-05-01T09:30:00+02:00; without an offset it is a local time.");
  if (input.kind === "json" && input.default !== null && input.defaultText !== undefined)
    sentences.push(`${input.defaultText} unless given.`);
  const own = input.description.trim();
  const text = [sentences.length === 0 ? own : toSentence(own), ...sentences].join(" ").trim();
  return text === "" ? {} : { description: text };
}

/** Ended, where something follows that is a sentence too. */
function toSentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === "" || /[.!?:;…]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

function describeTimes({ min, max }: DateInput): string[] {
  return [...(min === null ? [] : [`Not before ${min}.`]), ...(max === null ? [] : [`Not after ${max}.`])];
}

function withDefault(input: ValueInput): JsonSchema {
  // Of a value of any type, openapi-generator for Java writes the default as JSON into its code; and clients would read other numbers.
  if (input.kind === "secret" || input.kind === "json" || input.default === null) return {};
  return { default: input.default as JsonValue };
}

function describeFile(input: Extract<Input, { kind: "file" | "file_list" }>): JsonSchema {
  const accepted = input.accept.length === 0 ? "" : ` Accepted: ${input.accept.join(", ")}.`;
  const size = `At most ${input.bytesMax.toLocaleString("en")} bytes${input.kind === "file_list" ? " each" : ""}.`;
  const description = `${toSentence(input.description)} ${size}${accepted}`.trim();
  const file = { type: "string", contentMediaType: "application/octet-stream" };
  if (input.kind === "file") return { title: input.label, ...file, description };
  // In words: of bounds on a list of files, openapi-generator for Go makes code that does not compile.
  const many = `At most ${input.filesMax.toLocaleString("en")} files.`;
  return { title: input.label, type: "array", items: file, description: `${description} ${many}` };
}

/** `null` means not given, which is the same as leaving it out. */
function orNull(schema: JsonSchema): JsonSchema {
  if (schema.enum !== undefined) return { ...schema, type: ["string", "null"], enum: [...(schema.enum as []), null] };
  return typeof schema.type === "string" ? { ...schema, type: [schema.type, "null"] } : schema;
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
