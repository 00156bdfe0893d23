import * as z from "zod";
import { DEFAULT_BOUNDS } from "../bounds.ts";
import type { FileInput, FileListInput } from "../manifest.ts";
import { formatSize, parseSize } from "../sizes.ts";
import { DECLARED_KEYS, declareKind, ofType, type Reading, wholeNumber } from "./declared-kind.ts";

const DEFAULT_REFUSAL = "A file cannot have a default. Say required: false if it may be left out.";

/** Bytes from a size as people write it. */
export const SizeSchema = z
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

const accepted = z
  .string({ error: "must be a text such as .csv or image/*." })
  .regex(/^(?:\.[^\s/\\]{1,63}|[a-zA-Z0-9][\w!#$&^.+-]{0,126}\/(?:\*|[a-zA-Z0-9][\w!#$&^.+-]{0,126}))$/, {
    error: "must be an extension with its dot (.csv), a media type (text/csv) or a family of them (image/*).",
  });

const fileKeys = {
  accept: z
    .array(accepted, { error: "must be a list, such as [.csv, image/*]." })
    .min(1, { error: "must name at least one extension or media type. Leave it out to accept any file." })
    .max(100, { error: "must have at most 100 entries." })
    .optional()
    .meta({
      description:
        "Which files are taken: extensions (.csv), media types (text/csv) or families (image/*). Without it any file.",
    }),
  max_size: SizeSchema.optional().meta({
    description: "Largest file: 50MB (decimal), 1GiB (binary) or a number of bytes.",
  }),
};

export const declaredFile = declareKind({
  aliases: [],
  schema: z.strictObject({ type: ofType("file", "One uploaded file."), ...DECLARED_KEYS, ...fileKeys }),
  defaultRefusal: DEFAULT_REFUSAL,
  read: (declaration, declared, reading): FileInput => ({
    kind: "file",
    ...declared,
    ...readFiles(declaration, reading),
  }),
});

export const declaredFileList = declareKind({
  aliases: ["files", "filelist", "list"],
  schema: z.strictObject({
    type: ofType("file_list", "One or more uploaded files."),
    ...DECLARED_KEYS,
    ...fileKeys,
    max_files: wholeNumber
      .min(1, { error: "must be at least 1." })
      .optional()
      .meta({ description: `Most files: ${DEFAULT_BOUNDS.filesMax} unless given.` }),
  }),
  defaultRefusal: DEFAULT_REFUSAL,
  read: (declaration, declared, reading): FileListInput => {
    const { filesMax: most } = reading.bounds;
    const filesMax = declaration.max_files ?? most;
    const files = readFiles(declaration, reading);
    if (filesMax > most) reading.report("max_files", `must be at most ${most}.`);
    return { kind: "file_list", ...declared, ...files, filesMax };
  },
});

interface Files {
  readonly accept?: readonly string[] | undefined;
  readonly max_size?: number | undefined;
}

function readFiles(declaration: Files, { report, bounds }: Reading) {
  const bytesMax = declaration.max_size ?? bounds.fileBytesMax;
  if (bytesMax > bounds.fileBytesMax) report("max_size", `must be at most ${formatSize(bounds.fileBytesMax)}.`);
  const accept = [...new Set((declaration.accept ?? []).map((entry) => entry.toLowerCase()))];
  return { accept, bytesMax };
}
