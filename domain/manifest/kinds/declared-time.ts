import * as z from "zod";
import type { DateInput } from "../manifest.ts";
import {
  DECLARED_KEYS,
  type Declared,
  declareKind,
  ofType,
  plainText,
  type Reading,
  withDefault,
} from "./declared-kind.ts";
import { NOTATIONS } from "./time.ts";

const keys = {
  ...DECLARED_KEYS,
  default: withDefault(plainText),
  min: plainText.optional().meta({ description: "Earliest value." }),
  max: plainText.optional().meta({ description: "Latest value." }),
};

export const declaredDate = declareKind({
  aliases: [],
  schema: z.strictObject({ type: ofType("date", "A date, YYYY-MM-DD."), ...keys }),
  defaultRefusal: null,
  read: readTime,
});

export const declaredDateTime = declareKind({
  aliases: ["timestamp"],
  schema: z.strictObject({
    type: ofType("datetime", "A date and time, such as 2026-05-01T09:30:00+02:00."),
    ...keys,
  }),
  defaultRefusal: null,
  read: readTime,
});

interface Times {
  readonly type: DateInput["kind"];
  readonly default?: string | undefined;
  readonly min?: string | undefined;
  readonly max?: string | undefined;
}

function readTime(declaration: Times, declared: Declared, { report }: Reading): DateInput {
  const { type, min = null, max = null } = declaration;
  const { parse, words } = NOTATIONS[type];
  const earliest = min === null ? undefined : parse(min);
  const latest = max === null ? undefined : parse(max);
  if (min !== null && earliest === undefined) report("min", `must be ${words}.`);
  if (max !== null && latest === undefined) report("max", `must be ${words}.`);
  if (earliest !== undefined && latest !== undefined && earliest > latest)
    report("min", `is ${min}, after max, ${max}. No value could be given.`);
  return { kind: type, ...declared, min, max, default: declaration.default ?? null };
}
