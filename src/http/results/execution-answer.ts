import type { Response } from "express";
import { type ExecutionRecord, findExecution } from "../../../db/executions/executions.ts";
import { findBalance, findRefusal } from "../../../db/ledger/credits.ts";
import { Accepted, Success } from "../../../domain/api/results.ts";
import { microCredits } from "../../../domain/credits.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { sendAnswer } from "../body.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import type { Wait } from "../execute/prefer.ts";
import { insufficientCredits } from "../execute/room.ts";
import { failureCode, failureMessage, toResult } from "./envelope.ts";

const LOOK_AGAIN_SECONDS = 5;

/**
 * Sends the answer of a call from the record, so that every call for an execution gets the same. It is 200 for a
 * success, the failure, or 202 with where to look while it goes on.
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
    response.set("Retry-After", String(LOOK_AGAIN_SECONDS));
    // What waits neither for its turn nor for a slot runs, or will within milliseconds.
    const waits = execution.queuePosition !== null || deps.executions.placeOf(execution.id) !== undefined;
    const status = waits ? "queued" : "running";
    return sendAnswer(response, Accepted, { ...toResult(execution, deps.apiUrl()), status }, 202);
  }
  deps.log.info({
    event: "execution.ended",
    executionId: execution.id,
    workflowId: execution.workflowId,
    status: execution.state,
  });
  if (failureCode(execution) !== undefined) throw await toError(deps, execution);
  sendAnswer(response, Success, { ...toResult(execution, deps.apiUrl()), status: "success" });
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
