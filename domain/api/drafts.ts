import { z } from "zod";
import { PATH_BYTES_MAX } from "../file-path.ts";
import { ShownFile } from "./commits.ts";
import { CommitId, Count, GivenCommitId, StorableText, Time } from "./fields.ts";
import { FOLDER_FILES_MAX } from "./limits.ts";
import { FileProblem } from "./problems.ts";
import { InputChange, JudgedCalls, NAMED_SCHEDULES, ScheduleChange } from "./publish.ts";
import { NamedNextRun } from "./schedules.ts";

/** Half of a surrogate pair is no character: it could not come back as it was sent. */
const HALF_CHARACTER = /\p{Surrogate}/u;
const NOT_BASE64 = /[^A-Za-z0-9+/]/;

const FilePath = StorableText.min(1).max(PATH_BYTES_MAX);

/** Looks at one character after the other: an expression that repeats groups goes too deep in a text of megabytes. */
function isBase64(text: string): boolean {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return text.length % 4 === 0 && !NOT_BASE64.test(text.slice(0, text.length - padding));
}

const FATES = ["text", "base64", "renameTo", "delete"] as const;

/**
 * One change of a draft: a path, and one of `text`, `base64`, `renameTo` and `delete`. With the path of a folder, `renameTo` and
 * `delete` change all files in it. One object rather than four alternatives: generators of clients make a type of it that compiles.
 */
export const FileChange = z
  .strictObject({
    path: FilePath,
    text: z
      .string()
      .refine((text) => !HALF_CHARACTER.test(text), "holds half of a character")
      .optional(),
    base64: z.string().refine(isBase64, "must be base64 with its padding").optional(),
    executable: z.boolean().optional().describe("Of a file with `text` or `base64`."),
    renameTo: FilePath.optional(),
    delete: z
      .boolean()
      .refine((wanted) => wanted, "must be true")
      .optional(),
  })
  .refine((change) => FATES.filter((fate) => fate in change).length === 1, `needs one of ${FATES.join(", ")}`)
  .refine(
    (change) => change.executable === undefined || "text" in change || "base64" in change,
    "has `executable`, which is for a file with `text` or `base64`",
  );

const Version = z.int().min(0);

export const DraftChanges = z.strictObject({
  version: Version,
  changes: z.array(FileChange).min(1).max(FOLDER_FILES_MAX),
});
export const DraftVersion = z.strictObject({ version: Version });
export const SettledFile = z.strictObject({ path: FilePath, commitId: GivenCommitId });

const Conflicts = z.array(z.object({ path: z.string(), commitId: CommitId })).meta({
  description:
    "Files that another member has changed as well, in that commit, when it was taken over. Each stays until it is settled or committed.",
});
const Problems = z
  .array(FileProblem)
  .meta({ description: "What publishing would refuse. Packages are not looked for yet." });
const Warnings = z.array(FileProblem).meta({ description: "What publishing would warn of, and not refuse." });

/** The caller's draft of a workflow, or the files of its latest commit. */
export const Draft = z.object({
  workflowId: z.string(),
  base: CommitId.nullable().meta({ description: "The commit it began with." }),
  head: CommitId.nullable().meta({ description: "The latest. Another than `base` when another member committed." }),
  changed: z.boolean().meta({ description: "Whether its files differ from those of `base`." }),
  updatedAt: Time.nullable(),
  version: Version.meta({ description: "0: there is no draft, these are the files of the latest commit." }),
  files: z.array(ShownFile),
  conflicts: Conflicts,
  problems: Problems,
  warnings: Warnings,
});

export const SavedDraft = z.object({
  version: Version,
  updatedAt: Time,
  changed: z.boolean(),
  problems: Problems,
  warnings: Warnings,
});
export const DiscardedDraft = z.object({ discarded: z.boolean() });
export const DraftConflicts = z.object({ conflicts: Conflicts });

/** A draft that goes on from the latest commit. */
export const RebasedDraft = z.object({
  draft: Draft,
  conflicts: z.array(z.string()).meta({ description: "Files that both have changed: the draft keeps its own." }),
});

const Lines = z.array(
  z.object({
    path: z.string(),
    linesAdded: Count.nullable().meta({ description: "Null: a binary file." }),
    linesRemoved: Count.nullable(),
  }),
);

/** What committing a draft would change, and what is wrong with it. */
export const DraftPreview = z.object({
  head: CommitId.nullable(),
  problems: z.array(FileProblem),
  warnings: z.array(FileProblem),
  files: z.object({ added: Lines, changed: Lines, removed: Lines }),
  inputs: z
    .array(InputChange)
    .meta({ description: "Empty while there are problems, as are `schedule` and `nextRuns`." }),
  schedule: ScheduleChange.nullable(),
  nextRuns: z.array(NamedNextRun).max(10),
  ...NAMED_SCHEDULES,
  calls: JudgedCalls.optional(),
});
