import type { ExecutionSteps } from "../../activities/index.ts";
import type { Begun, Lead, LedExecution, RunCommit } from "../../activities/lead.ts";

/** What carries out executions before Temporal knows of them. */
export interface Executor {
  /** Whether it can begin one of a commit now, as far as it knows. */
  isOpen(commit: RunCommit): boolean;
  /** Whether an execution of a commit would begin now, as far as it knows. */
  canBegin(execution: LedExecution, commit: RunCommit): boolean;
  /** Takes a slot for an execution that is about to be recorded with it; undefined when none is free, or none is here. */
  lead(execution: LedExecution): Lead | undefined;
  /** Chooses the host that an execution is offered to as it is recorded. Undefined: none can begin it, or this one carries it out. */
  chooseHost(commit: RunCommit): string | undefined;
  /**
   * Carries out an execution that was recorded. Rejects when its workflow has to be started now. `begun`: its first attempt is open.
   */
  execute(execution: LedExecution, commit: RunCommit, begun?: Begun): Promise<void>;
}

/** Carries out executions in this process. */
export function createOwnExecutor(steps: ExecutionSteps): Executor {
  return {
    isOpen: () => true,
    canBegin(execution) {
      const lead = steps.lead(execution);
      lead?.giveUp();
      return lead !== undefined;
    },
    lead: steps.lead,
    chooseHost: () => undefined,
    execute: async (execution, _commit, begun) => carryOut(steps, execution, begun ?? (await steps.begin(execution))),
  };
}

/** Takes the steps of an execution, as its workflow would. Rejects as the step does that fails. */
export async function carryOut(steps: ExecutionSteps, execution: LedExecution, begun?: Begun): Promise<void> {
  if (begun === undefined) await steps.reserve(execution);
  const progress = await (begun === undefined ? steps.run(execution) : begun.lead.run(begun.work));
  if (progress.kind === "ended") await steps.isFinished(execution.executionId);
}
