import { z } from "zod";
import { EXECUTION_ENDS } from "../execution.ts";
import { Commit } from "./commits.ts";
import { CommitId, Count, Credits, Failure, Name, StorableText, Time, WorkflowId } from "./fields.ts";

/** What an execution usually costs. */
export const Estimate = z.object({ credits: Credits, basedOn: Count });

const Seconds = z.number().min(0);

/** What the last executions, at most 100, used at most, beside the limits of each attempt. */
export const Usage = z.object({
  basedOn: Count,
  seconds: Seconds,
  memoryBytes: Count.nullable().meta({ description: "Null: of none of them it is known." }),
  processorSeconds: Seconds.nullable(),
  limits: z.object({ timeoutSeconds: Seconds, memoryBytes: Count, cpu: z.number() }),
});

const RecentExecution = z.object({
  executionId: z.string(),
  status: z.enum(["queued", "running", ...EXECUTION_ENDS]),
  failure: Failure.nullable(),
  createdAt: Time,
  duration: z.number().min(0).meta({ description: "Seconds that its program ran." }),
});

const LISTED = {
  workflowId: WorkflowId,
  name: z.string(),
  description: z.string(),
  commitId: CommitId.nullable().meta({ description: "The latest; null: there is none yet." }),
  createdAt: Time,
  lastExecution: z
    .object({
      executionId: z.string(),
      status: z.enum(["queued", "running", ...EXECUTION_ENDS]),
      failure: Failure.nullable(),
      createdAt: Time,
    })
    .nullable(),
  recent: z.array(RecentExecution).meta({ description: "The last 20 executions, the newest first." }),
  nextRun: z
    .object({ utc: Time, local: Time, timezone: z.string() })
    .nullable()
    .meta({ description: "By its schedule." }),
  schedulePaused: z.boolean(),
  apiEnabled: z.boolean(),
  spentThisMonth: Credits.meta({ description: "In credits, of executions that ended since the month began in UTC." }),
  executionsThisMonth: Count.meta({ description: "Those that ended." }),
  estimate: Estimate.nullable(),
};

/** A workflow as the list of an account shows it. */
export const ListedWorkflow = z.object(LISTED);
export const WorkflowList = z.object({ workflows: z.array(ListedWorkflow) });

/** A workflow with its latest commit. */
export const ShownWorkflow = z.object({
  ...LISTED,
  manifest: z.looseObject({}).nullable().meta({ description: "The parsed config.yaml." }),
  usage: Usage.nullable().meta({ description: "Null: none of its executions has ended." }),
  head: Commit.nullable(),
  executeUrl: z.url(),
  docsUrl: z.url(),
});

/** How the executions of a workflow have gone. */
export const WorkflowOverview = z.object({
  recent: z.array(RecentExecution).meta({ description: "The last 30 executions, the newest first." }),
  days: z
    .array(
      z.object({
        day: z.string().meta({ description: "In UTC." }),
        succeeded: Count,
        failed: Count,
        median: z.number().nullable().meta({ description: "Seconds, of the successful ones. Null without any." }),
        p95: z.number().nullable(),
      }),
    )
    .meta({ description: "The last 14 days, the oldest first; of each day the newest 100 executions." }),
  lastFailure: z
    .object({ executionId: z.string(), status: z.enum(EXECUTION_ENDS), message: z.string(), createdAt: Time })
    .nullable()
    .meta({ description: "Among the last 500 executions." }),
});

export const NewWorkflow = z
  .strictObject({
    name: Name,
    templateId: StorableText.min(1).max(255).optional(),
    copyOf: WorkflowId.optional().meta({ description: "A workflow of the account: its latest files are the draft." }),
  })
  .refine(({ templateId, copyOf }) => templateId === undefined || copyOf === undefined, {
    error: "is one of templateId and copyOf, not both",
    path: ["copyOf"],
  });
export const CreatedWorkflow = z.object({ workflowId: WorkflowId, apiKey: z.string() });
export const WorkflowName = z.strictObject({ name: Name });
export const RenamedWorkflow = z.object({ workflowId: WorkflowId, name: z.string() });
export const DeletedWorkflow = z.object({ workflowId: WorkflowId, deleted: z.boolean() });

/** What a new workflow can begin with. */
export const TemplateList = z.object({
  templates: z.array(
    z.object({
      templateId: z.string(),
      name: z.string(),
      description: z.string(),
      files: z.array(z.string()).meta({ description: "Their paths." }),
    }),
  ),
});

/** Commits that cannot run on this host. */
export const UnrunnableCommits = z.object({
  commits: z.array(
    z.object({
      workflowId: WorkflowId,
      name: z.string(),
      commitId: CommitId,
      reason: z.string(),
      isBeingMade: z.boolean().meta({ description: "Whether its environment is being built again now." }),
    }),
  ),
});
