import { z } from "zod";
import type { JsonValue } from "../../../domain/manifest/json-values.ts";
import type { JsonSchema } from "../../../domain/manifest/value-schema.ts";
import type { Contents, Credential, Route } from "./route.ts";

/** Somebody of an account: in the editor, or by a program of theirs. */
export const IN_PERSON: readonly Credential[] = ["session", "accessToken"];

export const TEXT: JsonSchema = { type: "string" };
export const TIME: JsonSchema = { type: "string", format: "date-time" };
/** An id of ours: its prefix, and then these characters, at most so many. */
export function describeId(prefix: string, characters = "[0-9a-z]{16,40}", charactersMax = 40): JsonSchema {
  return { type: "string", pattern: `^${prefix}_${characters}$`, maxLength: prefix.length + 1 + charactersMax };
}

export const CREDITS: JsonSchema = { type: "number", description: "Credits, with at most 6 decimals." };

export function orNull(schema: JsonSchema): JsonSchema {
  return { anyOf: [schema, { type: "null" }] };
}

/** An object with all of these fields, or all but those named. */
export function describeFields(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: readonly string[] = [],
): JsonSchema {
  return { type: "object", properties, required: Object.keys(properties).filter((name) => !optional.includes(name)) };
}

/** One text, with its type: generators make a field of it that can be read, where a bare `const` is of any type to them. */
export function exactly(value: string): JsonSchema {
  return { type: "string", const: value };
}

/** No constant: of one that is no text, openapi-generator for Java makes code that does not compile. */
export const ALWAYS_TRUE: JsonSchema = { type: "boolean", description: "Always true." };

/** An object of any fields. Without saying so, generators make a type of it that has none. */
export const ANY_OBJECT: JsonSchema = { type: "object", additionalProperties: true };

/** Bytes of any type: generators that cannot read "any" take the type before it. */
export const BYTES: Contents = Object.fromEntries(
  ["application/octet-stream", "*/*"].map((mediaType) => [mediaType, { schema: { type: "string", format: "binary" } }]),
);

export function listOf(items: JsonSchema): JsonSchema {
  return { type: "array", items };
}

/** A JSON answer with an example. */
export function answerWith(schema: JsonSchema, example: JsonValue): Contents {
  return { "application/json": { schema, example } };
}

/** A JSON body that has to fit the schema its handler believes. */
export function bodyOf(schema: z.ZodType, example: JsonValue): NonNullable<Route["body"]> {
  return {
    required: true,
    content: { "application/json": { schema: z.toJSONSchema(schema, { io: "input" }) as JsonSchema, example } },
  };
}
