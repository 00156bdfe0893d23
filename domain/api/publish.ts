import { z } from "zod";
import { CommitId, Count, ExecutionId, StorableText, Time, WorkflowId } from "./fields.ts";
import { MESSAGE_CHARACTERS_MAX } from "./limits.ts";
import { FileProblem } from "./problems.ts";
import { NextRun, Timetable } from "./schedules.ts";

/** Where a folder is published to. Without a workflow, publishing makes one. */
export const PublishTarget = z.strictObject({
  workflow: StorableText.optional(),
  account: StorableText.min(1).optional(),
  message: StorableText.max(MESSAGE_CHARACTERS_MAX).default(""),
  name: StorableText.max(255).default(""),
  expectedHead: CommitId.optional(),
});

export const Published = z.object({
  workflowId: WorkflowId,
  commitId: CommitId,
  created: z.boolean().meta({ description: "Whether publishing made the workflow." }),
  changed: z
    .boolean()
    .meta({ description: "False: the latest commit has exactly these files, so there is no new one." }),
  apiKey: z.string().optional().meta({ description: "Only of a new workflow." }),
  warnings: z.array(FileProblem),
  buildLog: z.string().optional().meta({ description: "What the installer printed." }),
});

const Change = z.enum(["added", "removed", "changed"]);

/** What a commit changes for callers. */
export const InputChange = z.object({
  input: z.string(),
  change: Change,
  message: z.string(),
  breaking: z.boolean().meta({ description: "Calls that are right before may be refused after." }),
});

/** What a commit changes in the schedule, in plain words. */
export const ScheduleChange = z.object({
  change: z.enum(["added", "removed", "changed", "paused", "resumed"]),
  before: z.string().nullable(),
  after: z.string().nullable(),
});

/** What a commit means for `triggers.schedules`. Missing where neither it nor the commit before has any. */
export const NAMED_SCHEDULES = {
  schedules: z.array(Timetable).optional().meta({ description: "Those of `triggers.schedules`, where there are any." }),
  scheduleChanges: z
    .array(ScheduleChange.extend({ name: z.string() }))
    .optional()
    .meta({ description: "What changes in them. One with a new name is removed and added." }),
};

/** What a commit would do with calls that were accepted. Missing where there are none. */
export const JudgedCalls = z
  .object({
    triggers: z.array(z.object({ trigger: z.enum(["api", "form"]), calls: Count, refused: Count })),
    examples: z
      .array(
        z.object({
          executionId: ExecutionId,
          trigger: z.enum(["api", "form"]),
          createdAt: Time,
          problems: z.array(z.object({ input: z.string(), message: z.string() })),
        }),
      )
      .meta({ description: "The newest three that would be refused." }),
  })
  .meta({ description: "Of the last 100 accepted calls, how many this commit would refuse, by trigger." });

export const PublishPreview = z.object({
  workflowId: WorkflowId.nullable(),
  head: CommitId.nullable(),
  files: z.array(
    z.object({
      path: z.string(),
      change: Change,
      linesAdded: Count.nullable().meta({ description: "Null: a binary file." }),
      linesRemoved: Count.nullable(),
    }),
  ),
  inputs: z.array(InputChange),
  scheduleChange: ScheduleChange.nullable(),
  nextRuns: z.array(NextRun),
  schedule: z.object({ description: z.string(), paused: z.boolean() }).optional(),
  ...NAMED_SCHEDULES,
  warnings: z.array(FileProblem),
  calls: JudgedCalls.optional(),
});
