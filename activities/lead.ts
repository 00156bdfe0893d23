import type { FirstClaim } from "../db/executions/acceptance.ts";
import type { ExecutionWork } from "../db/executions/attempts.ts";
import type { PythonProgress } from "../domain/execution.ts";
import type { AccountId, CommitId, ExecutionId, WorkflowId } from "../domain/ids.ts";
import type { Manifest } from "../domain/manifest/manifest.ts";

/** An execution that its process begins, before Temporal knows of it. */
export interface LedExecution {
  readonly executionId: ExecutionId;
  readonly accountId: AccountId;
}

/** The commit that an execution is to run. */
export interface RunCommit {
  readonly manifest: Manifest;
  readonly workflowId: WorkflowId;
  readonly commitId: CommitId;
}

/** A slot of this host for an execution that is about to be recorded. It is used once: for the first attempt, or given up. */
export interface Lead {
  /** What the acceptance opens the attempt with. */
  readonly claim: FirstClaim;
  /** Runs the attempt that was opened, to its end. Rejects as `executePython` does. */
  run(work: ExecutionWork): Promise<PythonProgress>;
  giveUp(): void;
}

/** The slot that an execution has, and what its first attempt is to do. */
export interface Begun {
  readonly lead: Lead;
  readonly work: ExecutionWork;
}
