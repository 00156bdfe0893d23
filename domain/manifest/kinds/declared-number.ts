import * as z from "zod";
import type { NumberInput } from "../manifest.ts";
import {
  DECLARED_KEYS,
  type Declared,
  declareKind,
  ofType,
  type Reading,
  wholeNumber,
  withDefault,
} from "./declared-kind.ts";

const anyNumber = z.number({ error: "must be a number, without quotes." });

export const declaredNumber = declareKind({
  aliases: ["float"],
  schema: z.strictObject({
    type: ofType("number", "A number."),
    ...DECLARED_KEYS,
    default: withDefault(anyNumber),
    ...boundsOf(anyNumber),
  }),
  defaultRefusal: null,
  read: readNumber,
});

export const declaredInteger = declareKind({
  aliases: ["int"],
  schema: z.strictObject({
    type: ofType("integer", "A whole number."),
    ...DECLARED_KEYS,
    default: withDefault(wholeNumber),
    ...boundsOf(wholeNumber),
  }),
  defaultRefusal: null,
  read: readNumber,
});

function boundsOf<T extends z.ZodNumber>(number: T) {
  return {
    min: number.optional().meta({ description: "Smallest value." }),
    max: number.optional().meta({ description: "Largest value." }),
    step: number
      .positive({ error: "must be greater than 0." })
      .optional()
      .meta({ description: "Distance of allowed values, counted from min, or from 0." }),
  };
}

interface Bounds {
  readonly type: NumberInput["kind"];
  readonly default?: number | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly step?: number | undefined;
}

function readNumber(declaration: Bounds, declared: Declared, { report }: Reading): NumberInput {
  const { type, min = null, max = null, step = null } = declaration;
  if (min !== null && max !== null && min > max)
    report("min", `is ${min}, more than max, ${max}. No number could be given.`);
  return { kind: type, ...declared, min, max, step, default: declaration.default ?? null };
}
