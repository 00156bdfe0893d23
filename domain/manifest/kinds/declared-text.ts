import * as z from "zod";
import { checkPattern, PATTERN_VALUE_CHARACTERS_MAX } from "../../patterns/patterns.ts";
import { CHARACTERS } from "../bounds.ts";
import type { SecretInput, StringInput, TextInput } from "../manifest.ts";
import { DECLARED_KEYS, declareKind, ofType, plainText, type Reading, withDefault } from "./declared-kind.ts";

/** A whole number of characters. */
const length = z
  .int({ error: "must be a whole number of characters." })
  .min(0, { error: "must not be negative." })
  .max(CHARACTERS.max, { error: `must be at most ${CHARACTERS.max}.` });

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

export const declaredString = declareKind({
  aliases: ["str"],
  schema: z.strictObject({
    type: ofType("string", "One line of text."),
    ...DECLARED_KEYS,
    default: withDefault(plainText),
    ...lengths,
    pattern,
  }),
  defaultRefusal: null,
  read: (declaration, declared, reading): StringInput => ({
    kind: "string",
    ...declared,
    ...readPatterned(declaration, reading),
    default: declaration.default ?? null,
  }),
});

export const declaredText = declareKind({
  aliases: ["textarea", "multiline"],
  schema: z.strictObject({
    type: ofType("text", "Text of many lines."),
    ...DECLARED_KEYS,
    default: withDefault(plainText),
    ...lengths,
  }),
  defaultRefusal: null,
  read: (declaration, declared, reading): TextInput => ({
    kind: "text",
    ...declared,
    ...readLengths(declaration, reading),
    default: declaration.default ?? null,
  }),
});

export const declaredSecret = declareKind({
  aliases: ["password"],
  schema: z.strictObject({
    type: ofType("secret", "A text that is kept encrypted and never shown."),
    ...DECLARED_KEYS,
    ...lengths,
    pattern,
  }),
  defaultRefusal:
    "A secret cannot have a default, because config.yaml is stored readable. Remove it, and give the value with each execution.",
  read: (declaration, declared, reading): SecretInput => ({
    kind: "secret",
    ...declared,
    ...readPatterned(declaration, reading),
  }),
});

interface Lengths {
  readonly type: "string" | "text" | "secret";
  readonly min_length?: number | undefined;
  readonly max_length?: number | undefined;
}

function readLengths(declaration: Lengths, { report }: Reading) {
  const charactersMin = declaration.min_length ?? 0;
  const charactersMax = declaration.max_length ?? CHARACTERS[declaration.type];
  if (charactersMin > charactersMax) {
    const most =
      declaration.max_length === undefined
        ? `the ${charactersMax} characters allowed without max_length`
        : `max_length, ${charactersMax}`;
    report("min_length", `is ${charactersMin}, more than ${most}. Lower it, or raise max_length.`);
  }
  return { charactersMin, charactersMax };
}

function readPatterned(declaration: Lengths & { readonly pattern?: string | undefined }, reading: Reading) {
  const { pattern: own, max_length: charactersMax } = declaration;
  const read = { ...readLengths(declaration, reading), pattern: own ?? null };
  if (own === undefined) return read;
  const check = checkPattern(own);
  if (!check.ok) reading.report("pattern", check.message);
  if (charactersMax !== undefined && charactersMax > PATTERN_VALUE_CHARACTERS_MAX) {
    reading.report("max_length", `must be at most ${PATTERN_VALUE_CHARACTERS_MAX} together with a pattern.`);
  }
  return read;
}
