import { z } from "zod";
import type { JsonValue } from "../../../domain/manifest/json-values.ts";
import type { JsonSchema } from "../../../domain/manifest/value-schema.ts";
import type { Answer, Content, Contents, Credential, Route } from "./route.ts";

/** A member of an account: in the editor, or by a program of theirs. */
export const IN_PERSON: readonly Credential[] = ["session", "accessToken"];

export const TIME: JsonSchema = { type: "string", format: "date-time" };
/** An id of ours: its prefix, and then these characters, at most so many. */
export function describeId(prefix: string, characters = "[0-9a-z]{16,40}", charactersMax = 40): JsonSchema {
  return { type: "string", pattern: `^${prefix}_${characters}$`, maxLength: prefix.length + 1 + charactersMax };
}

/** One text, with its type: generators make a field of it that can be read, where a bare `const` is of any type to them. */
export function exactly(value: string): JsonSchema {
  return { type: "string", const: value };
}

/** An object of any fields. Without saying so, generators make a type of it that has none. */
export const ANY_OBJECT: JsonSchema = { type: "object", additionalProperties: true };

/** Bytes of any type: generators that cannot read "any" take the type before it. */
export const BYTES: Contents = Object.fromEntries(
  ["application/octet-stream", "*/*"].map((mediaType) => [mediaType, { schema: { type: "string", format: "binary" } }]),
);

/** A JSON answer with an example. */
export function answerWith(schema: JsonSchema, example: JsonValue): Contents {
  return { "application/json": { schema, example } };
}

/** Returns a JSON body that has to fit the schema its handler parses it with. */
export function bodyOf(schema: z.ZodType, example: JsonValue): NonNullable<Route["body"]> {
  return { required: true, content: answerWith(z.toJSONSchema(schema, { io: "input" }) as JsonSchema, example) };
}

/** Returns a JSON answer. The compiler refuses an example that its schema does not allow. */
export function answerOf<Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  example?: z.output<Schema> & JsonValue,
  headers: Pick<Answer, "always" | "sometimes"> = {},
): Answer & { content: { "application/json": Content } } {
  const content = { schema: toAnswerSchema(schema), ...(example === undefined ? {} : { example }) };
  return { description, ...headers, content: { "application/json": content } };
}

/** Returns the schema of an answer as documents show it: a reference where it is a component. */
function toAnswerSchema(schema: z.ZodType): JsonSchema {
  return toJsonSchema(schema, () => true);
}

/** Returns a component itself, with references to the components that it is made of. */
export function toComponent(schema: z.ZodType): JsonSchema {
  return toJsonSchema(schema, ({ isRoot }) => !isRoot);
}

/**
 * Returns a schema as callers see it. Answers may get more fields, so it does not forbid them. Patterns of times and bounds of
 * whole numbers say nothing that `format` and `type` do not, and generators make code of them.
 */
function toJsonSchema(schema: z.ZodType, isReference: (component: { isRoot: boolean }) => boolean): JsonSchema {
  const { $schema: _dialect, ...made } = z.toJSONSchema(schema, {
    override({ jsonSchema, path }) {
      const { component, description } = jsonSchema;
      if (typeof component === "string" && isReference({ isRoot: path.length === 0 })) {
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
        jsonSchema.$ref = `#/components/schemas/${component}`;
        if (description !== undefined) jsonSchema.description = description;
      }
      delete jsonSchema["component"];
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      if (jsonSchema.format === "date-time" || jsonSchema.format === "date") delete jsonSchema.pattern;
      // The names of a record's fields are texts anyhow, and an object without fields of its own has any.
      delete jsonSchema.propertyNames;
      if (Object.keys(jsonSchema.properties ?? { any: true }).length === 0) delete jsonSchema.properties;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return made as JsonSchema;
}
