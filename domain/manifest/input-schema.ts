import * as z from "zod";
import { CHARACTERS, DEFAULT_BOUNDS } from "./bounds.ts";
import { parseSize } from "./sizes.ts";

/** A whole number of characters. */
const length = z
  .int({ error: "must be a whole number of characters." })
  .min(0, { error: "must not be negative." })
  .max(CHARACTERS.max, {
    error: `must be at most ${CHARACTERS.max}.`,
  });

const number = z.number({ error: "must be a number, without quotes." });
const integer = z.int({ error: "must be a whole number, without quotes." });

const option = z
  .string({ error: "must be a text. Put numbers, true, false and null in quotes." })
  .min(1, { error: "must not be empty." })
  .max(200, { error: "must have at most 200 characters." });

const options = z
  .array(option, { error: "must be a list, such as [small, large]." })
  .min(1, { error: "must offer at least one option." })
  .max(1_000, { error: "must offer at most 1000 options." })
  .meta({ description: "What can be chosen: a list of different texts." });

const accepted = z
  .string({ error: "must be a text such as .csv or image/*." })
  .regex(/^(?:\.[^\s/\\]{1,63}|[a-zA-Z0-9][\w!#$&^.+-]{0,126}\/(?:\*|[a-zA-Z0-9][\w!#$&^.+-]{0,126}))$/, {
    error: "must be an extension with its dot (.csv), a media type (text/csv) or a family of them (image/*).",
  });

const accept = z
  .array(accepted, { error: "must be a list, such as [.csv, image/*]." })
  .min(1, { error: "must name at least one extension or media type. Leave it out to accept any file." })
  .max(100, { error: "must have at most 100 entries." })
  .optional()
  .meta({
    description:
      "Which files are taken: extensions (.csv), media types (text/csv) or families (image/*). Without it any file.",
  });

/** Bytes from a size as people write it. */
const size = z
  .union([z.string(), z.number()], { error: "must be a size such as 50MB, or a number of bytes." })
  .transform((value, context) => {
    const bytes = parseSize(value);
    if (bytes !== undefined && bytes > 0) return bytes;
    context.issues.push({
      code: "custom",
      message: "must be a size such as 50MB or 1GiB, or a number of bytes.",
      input: value,
    });
    return z.NEVER;
  });

const maxSize = size
  .optional()
  .meta({ description: "Largest file: 50MB (decimal), 1GiB (binary) or a number of bytes." });

const declared = {
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

const lengths = {
  min_length: length.optional().meta({ description: "Fewest characters." }),
  max_length: length.optional().meta({
    description: `Most characters: ${CHARACTERS.string} for string and secret, ${CHARACTERS.text} for text unless given.`,
  }),
};

const pattern = z
  .string({ error: "must be a text with a regular expression." })
  .optional()
  .meta({ description: "A regular expression that the whole value must match." });

const textDefault = z.string({ error: "must be a text." });

function withDefault<T extends z.ZodType>(schema: T) {
  return schema.optional().meta({ description: "The value when none is given." });
}

function ofType<const Kind extends string>(kind: Kind, description: string) {
  return z.literal(kind).meta({ description });
}

const bounds = {
  min: number.optional().meta({ description: "Smallest value." }),
  max: number.optional().meta({ description: "Largest value." }),
  step: number
    .positive({ error: "must be greater than 0." })
    .optional()
    .meta({ description: "Distance of allowed values, counted from min, or from 0." }),
};

const wholeBounds = {
  min: integer.optional().meta({ description: "Smallest value." }),
  max: integer.optional().meta({ description: "Largest value." }),
  step: integer
    .positive({ error: "must be greater than 0." })
    .optional()
    .meta({ description: "Distance of allowed values, counted from min, or from 0." }),
};

const times = {
  min: textDefault.optional().meta({ description: "Earliest value." }),
  max: textDefault.optional().meta({ description: "Latest value." }),
};

const maxFiles = integer
  .min(1, { error: "must be at least 1." })
  .optional()
  .meta({ description: `Most files: ${DEFAULT_BOUNDS.filesMax} unless given.` });

/** The declaration of one input, by its kind: each kind has exactly the constraints that mean something for it. */
export const INPUT_SCHEMAS = {
  string: z.strictObject({
    type: ofType("string", "One line of text."),
    ...declared,
    default: withDefault(textDefault),
    ...lengths,
    pattern,
  }),
  text: z.strictObject({
    type: ofType("text", "Text of many lines."),
    ...declared,
    default: withDefault(textDefault),
    ...lengths,
  }),
  number: z.strictObject({ type: ofType("number", "A number."), ...declared, default: withDefault(number), ...bounds }),
  integer: z.strictObject({
    type: ofType("integer", "A whole number."),
    ...declared,
    default: withDefault(integer),
    ...wholeBounds,
  }),
  boolean: z.strictObject({
    type: ofType("boolean", "True or false."),
    ...declared,
    default: withDefault(z.boolean({ error: "must be true or false." })),
  }),
  select: z.strictObject({
    type: ofType("select", "One of several options."),
    ...declared,
    default: withDefault(textDefault),
    options,
  }),
  multi_select: z.strictObject({
    type: ofType("multi_select", "Any number of several options."),
    ...declared,
    default: withDefault(z.array(textDefault, { error: "must be a list of options." })),
    options,
  }),
  date: z.strictObject({
    type: ofType("date", "A date, YYYY-MM-DD."),
    ...declared,
    default: withDefault(textDefault),
    ...times,
  }),
  datetime: z.strictObject({
    type: ofType("datetime", "A date and time, such as 2026-05-01T09:30:00+02:00."),
    ...declared,
    default: withDefault(textDefault),
    ...times,
  }),
  json: z.strictObject({
    type: ofType("json", "Any JSON value."),
    ...declared,
    default: z.unknown().optional().meta({ description: "The value when none is given." }),
  }),
  secret: z.strictObject({
    type: ofType("secret", "A text that is kept encrypted and never shown."),
    ...declared,
    ...lengths,
    pattern,
  }),
  file: z.strictObject({ type: ofType("file", "One uploaded file."), ...declared, accept, max_size: maxSize }),
  file_list: z.strictObject({
    type: ofType("file_list", "One or more uploaded files."),
    ...declared,
    accept,
    max_size: maxSize,
    max_files: maxFiles,
  }),
} as const;

export const InputSchema = z.discriminatedUnion("type", [
  INPUT_SCHEMAS.string,
  INPUT_SCHEMAS.text,
  INPUT_SCHEMAS.number,
  INPUT_SCHEMAS.integer,
  INPUT_SCHEMAS.boolean,
  INPUT_SCHEMAS.select,
  INPUT_SCHEMAS.multi_select,
  INPUT_SCHEMAS.date,
  INPUT_SCHEMAS.datetime,
  INPUT_SCHEMAS.json,
  INPUT_SCHEMAS.secret,
  INPUT_SCHEMAS.file,
  INPUT_SCHEMAS.file_list,
]);

export type InputDeclaration = z.output<typeof InputSchema>;
export { declared as DECLARED, size as SizeSchema };
