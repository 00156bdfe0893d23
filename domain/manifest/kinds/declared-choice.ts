import * as z from "zod";
import { quote } from "../json-values.ts";
import type { BooleanInput, MultiSelectInput, SelectInput } from "../manifest.ts";
import { DECLARED_KEYS, declareKind, ofType, plainText, type Reading, withDefault } from "./declared-kind.ts";

const option = z
  .string({ error: "must be a text. Put numbers, true, false and null in quotes." })
  .min(1, { error: "must not be empty." })
  .max(200, { error: "must have at most 200 characters." });

const options = z
  .array(option, { error: "must be a list, such as [small, large]." })
  .min(1, { error: "must offer at least one option." })
  .max(1_000, { error: "must offer at most 1000 options." })
  .meta({ description: "What can be chosen: a list of different texts." });

export const declaredBoolean = declareKind({
  aliases: ["bool"],
  schema: z.strictObject({
    type: ofType("boolean", "True or false."),
    ...DECLARED_KEYS,
    default: withDefault(z.boolean({ error: "must be true or false." })),
  }),
  defaultRefusal: null,
  read: (declaration, declared): BooleanInput => ({
    kind: "boolean",
    ...declared,
    default: declaration.default ?? null,
  }),
});

export const declaredSelect = declareKind({
  aliases: ["enum", "choice", "dropdown"],
  schema: z.strictObject({
    type: ofType("select", "One of several options."),
    ...DECLARED_KEYS,
    default: withDefault(plainText),
    options,
  }),
  defaultRefusal: null,
  read: (declaration, declared, reading): SelectInput => ({
    kind: "select",
    ...declared,
    options: readOptions(declaration.options, reading),
    default: declaration.default ?? null,
  }),
});

export const declaredMultiSelect = declareKind({
  aliases: ["multiselect"],
  schema: z.strictObject({
    type: ofType("multi_select", "Any number of several options."),
    ...DECLARED_KEYS,
    default: withDefault(z.array(plainText, { error: "must be a list of options." })),
    options,
  }),
  defaultRefusal: null,
  read: (declaration, declared, reading): MultiSelectInput => ({
    kind: "multi_select",
    ...declared,
    options: readOptions(declaration.options, reading),
    default: declaration.default ?? null,
  }),
});

function readOptions(list: readonly string[], { report }: Reading): readonly string[] {
  const repeated = list.find((one, index) => list.indexOf(one) !== index);
  if (repeated !== undefined) report("options", `holds ${quote(repeated)} more than once.`);
  return list;
}
