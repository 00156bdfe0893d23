import { findExecution } from "../../../db/executions/executions.ts";
import { release } from "../../../db/ledger/credits.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { limitsHere } from "../admission/requirements.ts";
import type { Authenticated } from "../auth/authenticate.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";

/**
 * Starts what was recorded. A start that failed may have happened, its answer lost. When the record shows that the
 * execution goes on, so does the call. Otherwise the execution is closed, so that it cannot begin any more. The answer
 * is then 503, and the call may be repeated under the same idempotency key. When closing fails too, the sweeper decides
 * later, and the answer says where to look.
 */
export async function startExecution(
  deps: AppDeps,
  { executionId, target }: { executionId: ExecutionId; target: Authenticated },
): Promise<void> {
  const { retry, name } = target.manifest;
  try {
    await deps.executions.start({
      executionId,
      workflowId: target.workflowId,
      commitId: target.commitId,
      accountId: target.accountId,
      trigger: target.trigger,
      timeoutSeconds: limitsHere(deps, target.manifest).timeoutSeconds,
      attemptsMax: retry.attemptsMax,
      workflowName: name ?? target.workflowId,
    });
  } catch (error) {
    deps.log.error({ event: "execution.fault", executionId, error }, "An execution could not be started.");
    const { retryAfterSeconds } = deps.executions.capacity(target.accountId);
    const headers = { "Retry-After": String(retryAfterSeconds) };
    const closed = await closeUnstarted(deps, executionId).catch((failure: unknown) => {
      deps.log.error(
        { event: "execution.fault", executionId, error: failure },
        "An execution that could not be started could not be closed either.",
      );
      throw new ApiError(
        "no_capacity",
        "The execution was accepted, but it is not known whether it started. Look at its address before sending it again.",
        { executionId },
        headers,
      );
    });
    if (!closed) return;
    throw new ApiError(
      "no_capacity",
      `The execution could not be started. Nothing was charged; send it again in ${retryAfterSeconds} seconds.`,
      { executionId },
      headers,
    );
  }
}

async function closeUnstarted(deps: AppDeps, executionId: ExecutionId): Promise<boolean> {
  const execution = await findExecution(deps.db, executionId);
  if (execution?.state !== "queued") return false;
  return release(deps.db, {
    executionId,
    status: "failed",
    failure: "no_capacity",
    message: "It could not be started.",
  });
}

/** For an execution whose start was perhaps lost with the process that accepted it. When it fails, the sweeper is next. */
export async function startAgain(deps: Pick<AppDeps, "executions" | "log">, executionId: ExecutionId): Promise<void> {
  await deps.executions.startAgain(executionId).catch((error: unknown) => {
    deps.log.warn({ event: "execution.fault", executionId, error }, "An execution could not be started again yet.");
  });
}
