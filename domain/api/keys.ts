import { z } from "zod";
import { Time } from "./fields.ts";
import { GRACE_SECONDS_MAX } from "./limits.ts";

/** One key that opens a workflow now. */
export const Key = z.object({
  keyId: z
    .string()
    .regex(/^key_[0-9a-f]{16}$/)
    .max(20),
  masked: z.string().meta({ description: "Enough to recognise the key by." }),
  createdAt: Time,
  lastUsedAt: Time.nullable().meta({ description: "Within a minute. Null: never used." }),
  expiresAt: Time.nullable().meta({ description: "When a replaced key stops working. Null: this is the current key." }),
});
export const KeyList = z.object({
  keys: z.array(Key).meta({ description: "The current key first." }),
  apiEnabled: z.boolean().meta({ description: "Whether the latest commit lets a key start the workflow." }),
});

/** Calls of programs that were refused before anything ran. */
export const RefusedCallList = z.object({
  calls: z
    .array(
      z.object({
        refusedAt: Time,
        status: z.int().meta({ description: "The HTTP status of the answer." }),
        error: z.string(),
        message: z.string(),
        keyEnd: z.string().meta({ description: "The end of the key that was sent. Empty: there was none." }),
      }),
    )
    .meta({ description: "Of the last week, the newest first; not all of many." }),
});

export const WholeKey = z.object({ apiKey: z.string() });
export const KeyRotation = z.strictObject({ graceSeconds: z.int().min(0).max(GRACE_SECONDS_MAX).default(0) });
export const RotatedKey = z.object({ apiKey: z.string(), previousKeyExpiresAt: Time.nullable() });
export const EndedKey = z.object({ keyId: z.string(), ended: z.boolean() });
