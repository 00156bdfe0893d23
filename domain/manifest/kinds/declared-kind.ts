import * as z from "zod";
import type { ManifestBounds } from "../bounds.ts";
import type { Input } from "../manifest.ts";

/** What the declarations of all kinds have in common, as an input keeps it. */
export type Declared = Pick<Input, "name" | "label" | "description" | "required">;

/** Where the problems of one declaration go, and what the installation allows. */
export interface Reading {
  /** Reports a problem at the value of one of the declaration's keys. */
  readonly report: (key: string, message: string) => void;
  readonly bounds: ManifestBounds;
}

/** How a kind of input is declared in `config.yaml`. */
export interface DeclaredKind<Schema extends z.ZodType = z.ZodType, In extends Input = Input> {
  /** What other systems call the kind, in lower case. A message then suggests ours. */
  readonly aliases: readonly string[];
  /** Exactly the keys that mean something for the kind. */
  readonly schema: Schema;
  /** What to say to a `default`, where the kind has none. */
  readonly defaultRefusal: string | null;
  /** Returns the input that a declaration means. Reports constraints that contradict each other. */
  read(declaration: z.output<Schema>, declared: Declared, reading: Reading): In;
}

/** Returns its argument. Infers the type of `read`'s declaration from the schema. */
export function declareKind<Schema extends z.ZodType, In extends Input>(
  kind: DeclaredKind<Schema, In>,
): DeclaredKind<Schema, In> {
  return kind;
}

/** The keys that every kind has. Outputs share the first two. */
export const DECLARED_KEYS = {
  label: z
    .string({ error: "must be a text." })
    .min(1, { error: "must not be empty." })
    .max(200, { error: "must have at most 200 characters." })
    .optional()
    .meta({ description: "What the form calls it. The name when left out." }),
  description: z
    .string({ error: "must be a text." })
    .max(2_000, { error: "must have at most 2000 characters." })
    .optional()
    .meta({ description: "A sentence of help under the field." }),
  required: z
    .boolean({ error: "must be true or false." })
    .optional()
    .meta({ description: "Whether a value must be given. True unless there is a default." }),
};

export const plainText = z.string({ error: "must be a text." });
export const wholeNumber = z.int({ error: "must be a whole number, without quotes." });

/** Returns the key `type` of a kind. */
export function ofType<const Kind extends string>(kind: Kind, description: string) {
  return z.literal(kind).meta({ description });
}

/** Returns the key `default` of a kind with such values. */
export function withDefault<T extends z.ZodType>(schema: T) {
  return schema.optional().meta({ description: "The value when none is given." });
}
