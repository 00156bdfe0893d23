import { Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from "@temporalio/client";
import { defineSearchAttributeKey } from "@temporalio/common";
import type { NativeConnection } from "@temporalio/worker";
import { TASK_QUEUE } from "../../activities/task-queues.ts";
import { CANCEL_SIGNAL, type ExecutionInput, type ExecutionStory, type Trigger } from "../../domain/execution.ts";
import type { AccountId, CommitId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { executeCommit } from "../../workflows/index.ts";

const WORKFLOW = defineSearchAttributeKey("TreadleWorkflow", "KEYWORD");
const COMMIT = defineSearchAttributeKey("TreadleCommit", "KEYWORD");
const TRIGGER = defineSearchAttributeKey("TreadleTrigger", "KEYWORD");
const ACCOUNT = defineSearchAttributeKey("TreadleAccount", "KEYWORD");

const SUMMARY_CHARACTERS_MAX = 120;
/** A caller that describes has thousands to describe, and tries again later. */
const DESCRIBE_MS_MAX = 5_000;

/** What starts the Workflow Execution of an execution. */
export interface WorkflowStart {
  readonly executionId: ExecutionId;
  readonly workflowId: WorkflowId;
  readonly workflowName: string;
  readonly commitId: CommitId;
  readonly accountId: AccountId;
  readonly trigger: Trigger;
  readonly timeoutSeconds: number;
  readonly attemptsMax: number;
  /** Of one that has ended already: Temporal keeps its story, and drives nothing. */
  readonly story?: ExecutionStory;
}

/** What became of a Temporal Workflow Execution, in the words the sweeper needs. */
export type WorkflowState = "running" | "completed" | "terminated" | "expired" | "gone";

/** How Temporal calls each end. Any other state, such as paused, has not ended. */
const STATES: Readonly<Record<string, WorkflowState | undefined>> = {
  COMPLETED: "completed",
  FAILED: "completed",
  CONTINUED_AS_NEW: "completed",
  TERMINATED: "terminated",
  CANCELLED: "terminated",
  TIMED_OUT: "expired",
};

/** Temporal as this service uses it: six calls. It throws when Temporal does not answer. */
export interface TemporalClient {
  /** Starts an execution's Workflow Execution; one that runs or ran already is left as it is. */
  start(input: WorkflowStart): Promise<{ eagerly: boolean }>;
  /** Drives an execution from its beginning again, in the place of what drives it now. */
  restart(input: WorkflowStart): Promise<void>;
  /** Makes Temporal forget one that the record has ended. */
  terminate(executionId: ExecutionId): Promise<void>;
  /** Has one that waits for its next attempt look at the record now. Temporal may not know it yet: then it will look anyway. */
  wake(executionId: ExecutionId): Promise<void>;
  describe(executionId: ExecutionId): Promise<WorkflowState>;
  check(): Promise<void>;
}

/**
 * The client shares the worker's connection. Only then can the server hand the first workflow task back with the answer
 * to the start, which saves a hop (eager start).
 */
export function createTemporalClient(connection: NativeConnection, namespace: string): TemporalClient {
  const client = new Client({ connection, namespace });
  return {
    async start(input) {
      try {
        const handle = await client.workflow.start<typeof executeCommit>("executeCommit", startOptions(input));
        return { eagerly: handle.eagerlyStarted === true };
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        return { eagerly: false };
      }
    },
    async restart(input) {
      await client.workflow.start<typeof executeCommit>("executeCommit", {
        ...startOptions(input),
        workflowIdReusePolicy: "ALLOW_DUPLICATE",
        workflowIdConflictPolicy: "TERMINATE_EXISTING",
      });
    },
    async terminate(executionId) {
      try {
        await client.workflow.getHandle(executionId).terminate("It has ended in the record.");
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },
    async wake(executionId) {
      try {
        await client.workflow.getHandle(executionId).signal(CANCEL_SIGNAL);
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },
    async describe(executionId) {
      try {
        const look = () => client.workflow.getHandle(executionId).describe();
        const { status } = await client.withDeadline(Date.now() + DESCRIBE_MS_MAX, look);
        return STATES[status.name] ?? "running";
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
        return "gone";
      }
    },
    async check() {
      await client.workflowService.describeNamespace({ namespace });
    },
  };
}

function startOptions(input: WorkflowStart) {
  const executionInput: ExecutionInput = {
    timeoutSeconds: input.timeoutSeconds * input.attemptsMax,
    accountId: input.accountId,
    ...(input.story === undefined ? {} : { story: input.story }),
  };
  return {
    workflowId: input.executionId,
    taskQueue: TASK_QUEUE,
    args: [executionInput] as [ExecutionInput],
    workflowIdReusePolicy: "REJECT_DUPLICATE" as const,
    workflowIdConflictPolicy: "USE_EXISTING" as const,
    requestEagerStart: true,
    staticSummary: `${input.workflowName.slice(0, SUMMARY_CHARACTERS_MAX)} by ${input.trigger}`,
    typedSearchAttributes: [
      { key: WORKFLOW, value: input.workflowId },
      { key: COMMIT, value: input.commitId },
      { key: TRIGGER, value: input.trigger },
      { key: ACCOUNT, value: input.accountId },
    ],
  };
}
