import { z } from "zod";
import { Count, StorableText, Time } from "./fields.ts";

export const FILE_NAME_CHARACTERS_MAX = 255;

/** A file that is to be uploaded, as its sender knows it beforehand. */
export const NewUpload = z.strictObject({
  input: z.string().max(200).meta({ description: "The input of the kind `file` or `file_list` that it is meant for." }),
  fileName: StorableText.min(1).max(FILE_NAME_CHARACTERS_MAX),
  contentType: z
    .string()
    .max(201)
    .regex(/^[a-z0-9!#$&^_.+-]{1,100}\/[a-z0-9!#$&^_.+-]{1,100}$/)
    .default("application/octet-stream"),
  bytes: Count.meta({ description: "Its size." }),
  sha256: z
    .string()
    .length(64)
    .regex(/^[0-9a-f]{64}$/)
    .meta({ description: "The SHA-256 of its content, as `sha256sum` prints it." }),
});

const MissingPart = z.object({
  number: z.int().min(1).max(10_000),
  bytes: Count,
  url: z.url().meta({ description: "Where to PUT exactly these bytes of the file, without a key." }),
});

export const Upload = z.object({
  uploadId: z
    .string()
    .regex(/^up_[0-9a-z]{16,40}$/)
    .max(43),
  fileName: z.string(),
  bytes: Count,
  sha256: z.string().max(64),
  complete: z.boolean().meta({ description: "Whether executions may have it." }),
  expiresAt: Time.meta({ description: "When the upload ends, complete or not. Copies of executions stay." }),
  partBytes: z.int().min(1).meta({ description: "The size of each part; the last has the rest." }),
  missing: z.array(MissingPart).meta({ description: "The first 100 parts that are not there yet." }),
  missingParts: Count.meta({ description: "How many parts are not there yet." }),
  linksExpireAt: Time.nullable().meta({
    description: "Until when the addresses in `missing` are good. Ask again for new ones.",
  }),
});

export const RemovedUpload = z.object({ uploadId: z.string().max(43), removed: z.boolean() });

export const SentPart = z.object({ number: z.int().min(1), bytes: Count });
