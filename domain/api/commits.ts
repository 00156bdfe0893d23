import { z } from "zod";
import { CommitId, Count, GivenCommitId, StorableText, Time } from "./fields.ts";
import { MESSAGE_CHARACTERS_MAX } from "./limits.ts";
import { FileProblem } from "./problems.ts";

/** A commit as a list shows it. */
export const Commit = z.object({
  commitId: CommitId,
  parentId: CommitId.nullable(),
  message: z.string(),
  author: z
    .object({ email: z.string() })
    .nullable()
    .meta({ description: "`operator` as the address is the operator; null: the service, such as its examples." }),
  createdAt: Time,
  executions: Count.max(10_000).meta({ description: "10000 means so many, or more." }),
  isHead: z.boolean().meta({ description: "Whether it is the latest, which new executions run." }),
});

/** The first commits of a workflow's history, the newest first. */
export const CommitPage = z.object({
  commits: z.array(Commit),
  nextCursor: CommitId.nullable().meta({ description: "Null: there is no other page." }),
});

/** A file with its text. */
export const ShownFile = z.object({
  path: z.string(),
  bytes: Count,
  text: z.string().nullable().meta({ description: "Null: it is not text, or too long to be shown." }),
  executable: z.boolean(),
});

/** A commit with its manifest and files. */
export const ShownCommit = z.object({
  ...Commit.shape,
  manifest: z.looseObject({}).meta({ description: "The parsed config.yaml.", additionalProperties: true }),
  files: z.array(ShownFile),
});

const Message = StorableText.max(MESSAGE_CHARACTERS_MAX);

export const NewCommit = z.strictObject({
  message: Message.default(""),
  version: z.int().min(0),
  expectedHead: GivenCommitId.nullable(),
});
export const Restoration = z.strictObject({ expectedHead: GivenCommitId.nullable(), message: Message.optional() });

/** A commit that was made at once. */
export const Committed = z.object({
  commitId: CommitId,
  changed: z.boolean(),
  warnings: z.array(FileProblem),
  buildId: z.string(),
});

/** A commit whose environment is being made. */
export const CommitBegun = z.object({ buildId: z.string() });

/** What making the environment of a commit printed. */
export const BuildLog = z.object({
  environment: z
    .string()
    .nullable()
    .meta({ description: "Null: the commit needs no packages, so there was nothing to make." }),
  log: z.string().nullable().meta({ description: "Null when there is none, or it is not on this machine any more." }),
});

/** The making of a commit, as far as it has come. */
export const Build = z.object({
  buildId: z.string(),
  workflowId: z.string(),
  state: z.enum(["building", "committed", "failed"]),
  log: z.string(),
  createdAt: Time,
  endedAt: Time.nullable(),
  commitId: CommitId.nullable(),
  error: z.string().nullable(),
  message: z.string().nullable(),
  details: z.array(FileProblem),
});

/** The files that two commits, or a commit and a draft, do not have in common. */
export const Difference = z.object({
  files: z.array(
    z.object({
      path: z.string(),
      status: z.enum(["added", "changed", "removed"]),
      before: z.string().nullable(),
      after: z.string().nullable(),
      binary: z.boolean(),
      bytesBefore: Count.nullable(),
      bytesAfter: Count.nullable(),
    }),
  ),
});
