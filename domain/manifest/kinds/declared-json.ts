import * as z from "zod";
import type { JsonValue } from "../json-values.ts";
import type { JsonInput } from "../manifest.ts";
import { DECLARED_KEYS, declareKind, ofType, withDefault } from "./declared-kind.ts";

export const declaredJson = declareKind({
  aliases: ["object", "dict", "array"],
  schema: z.strictObject({
    type: ofType("json", "Any JSON value."),
    ...DECLARED_KEYS,
    default: withDefault(z.unknown()),
  }),
  defaultRefusal: null,
  read: (declaration, declared): JsonInput => ({
    kind: "json",
    ...declared,
    default: (declaration.default ?? null) as JsonValue,
  }),
});
