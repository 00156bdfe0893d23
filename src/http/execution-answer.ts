import type { Response } from "express";
import { findBalance, findRefusal } from "../../db/credits.ts";
import { type ExecutionRecord, findExecution } from "../../db/executions.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import type { AppDeps } from "./deps.ts";
import { failureCode, failureMessage, toResult } from "./envelope.ts";
import { ApiError } from "./errors.ts";
import type { Wait } from "./prefer.ts";
import { insufficientCredits } from "./room.ts";

const LOOK_AGAIN_SECONDS = 5;

/**
 * Answers a call from the record, so that every call for an execution gets the same: 200 for a success, the failure, or
 * 202 with where to look while it goes on.
 */
export async function answerExecution(
  deps: AppDeps,
  call: { executionId: ExecutionId; wait: Wait },
  response: Response,
): Promise<void> {
  const execution = await findExecution(deps.db, call.executionId);
  if (execution === undefined) throw new Error(`${call.executionId} is not in the record.`);
  const applied = call.wait.toApplied(execution.finishedAt !== null);
  if (applied !== undefined) response.set("Preference-Applied", applied);
  if (execution.finishedAt === null) {
    response.status(202).set("Retry-After", String(LOOK_AGAIN_SECONDS));
    // What waits neither for its turn nor for a slot runs, or will within milliseconds.
    const waits = execution.queuePosition !== null || deps.executions.placeOf(execution.id) !== undefined;
    const status = waits ? "queued" : "running";
    return void response.json({ ...toResult(execution, deps.apiUrl()), status });
  }
  deps.log.info({
    event: "execution.ended",
    executionId: execution.id,
    workflowId: execution.workflowId,
    status: execution.state,
  });
  if (failureCode(execution) !== undefined) throw await toError(deps, execution);
  response.status(200).json(toResult(execution, deps.apiUrl()));
}

async function toError(deps: AppDeps, execution: ExecutionRecord): Promise<ApiError> {
  const code = failureCode(execution) ?? "internal";
  if (code === "insufficient_credits") {
    const refusal = await findRefusal(deps.db, execution.id);
    const available =
      refusal?.available ?? (await findBalance(deps.db, execution.accountId))?.available ?? microCredits(0n);
    const needed = refusal?.needed ?? execution.chargeMax;
    return insufficientCredits(deps, { needed, available, executionId: execution.id });
  }
  const retry =
    code === "no_capacity"
      ? { "Retry-After": String(deps.executions.capacity(execution.accountId).retryAfterSeconds) }
      : undefined;
  return new ApiError(code, failureMessage(execution), { ...toResult(execution, deps.apiUrl()) }, retry);
}
