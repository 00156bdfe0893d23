import type { Response } from "express";
import { type ExecutionRecord, findExecution } from "../../../db/executions/executions.ts";
import { findBalance, findRefusal } from "../../../db/ledger/credits.ts";
import { Accepted, Success } from "../../../domain/api/results.ts";
import { microCredits } from "../../../domain/credits.ts";
import type { ExecutionResult, ExecutionState } from "../../../domain/execution.ts";
import type { ExecutionId, WorkflowId } from "../../../domain/ids.ts";
import { explainState, failureCode, toResult } from "../../executions/envelope.ts";
import { insufficientCredits } from "../admission/requirements.ts";
import { sendAnswer } from "../answers/body.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import type { Wait } from "./prefer.ts";

const LOOK_AGAIN_SECONDS = 5;

/** An execution that a call is for. */
export interface CalledExecution {
  readonly executionId: ExecutionId;
  readonly workflowId: WorkflowId;
  readonly wait: Wait;
  /** What the record has of its end, where this process wrote it. */
  readonly result: ExecutionResult | undefined;
}

/**
 * Sends the answer of a call from the record, so that every call for an execution gets the same. It is 200 for a
 * success, the failure, or 202 with where to look while it goes on.
 */
export async function answerExecution(deps: AppDeps, call: CalledExecution, response: Response): Promise<void> {
  if (call.result !== undefined) return answerResult(deps, call, call.result, response);
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
  logEnd(deps, call, execution.state);
  if (failureCode(execution) !== undefined) throw await toError(deps, execution);
  sendAnswer(response, Success, { ...toResult(execution, deps.apiUrl()), status: "success" });
}

/** The same where this process wrote the end: it reads nothing. Only a program's own end is written so. */
function answerResult(deps: AppDeps, call: CalledExecution, result: ExecutionResult, response: Response): void {
  const applied = call.wait.toApplied(true);
  if (applied !== undefined) response.set("Preference-Applied", applied);
  logEnd(deps, call, result.status);
  const { status, message, secondsUsed, chargeCompute, chargeTotal, draft, outputs } = result;
  const removed = { queuePosition: null, filesRemovedAt: null, logRemovedAt: null };
  const ended = { id: call.executionId, state: status, secondsUsed, chargeCompute, chargeTotal, draft, outputs };
  const answer = toResult({ ...ended, ...removed }, deps.apiUrl());
  if (status !== "success") throw new ApiError("execution_failed", explainState({ state: status, message }), answer);
  sendAnswer(response, Success, { ...answer, status });
}

function logEnd(deps: AppDeps, { executionId, workflowId }: CalledExecution, status: ExecutionState): void {
  deps.log.info({ event: "execution.ended", executionId, workflowId, status });
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
  return new ApiError(code, explainState(execution), { ...toResult(execution, deps.apiUrl()) }, retry);
}
