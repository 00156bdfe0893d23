import type { RequestHandler, Response } from "express";
import { type ExecutionRecord, findExecution, requestCancel } from "../../../db/executions/executions.ts";
import { release } from "../../../db/ledger/credits.ts";
import { Execution } from "../../../domain/api/results.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { envelope, executionUrl } from "../../executions/envelope.ts";
import { sendAnswer } from "../answers/body.ts";
import { authorizeExecution } from "../auth/authenticate.ts";
import type { AppDeps } from "../deps.ts";

const LOOK_AGAIN_SECONDS = 2;

/** What is known of one execution. */
export function createExecutionRoute(deps: Pick<AppDeps, "db" | "keyUses" | "apiUrl">): RequestHandler {
  return async (request, response) => {
    const { execution } = await authorizeExecution(deps, request, "read");
    sendEnvelope(deps, response, execution, 200);
  };
}

/** The request to end one: 202, or 200 when it had ended already. */
export function createCancelRoute(deps: Pick<AppDeps, "db" | "keyUses" | "apiUrl" | "executions">): RequestHandler {
  return async (request, response) => {
    const { execution, caller } = await authorizeExecution(deps, request, "write");
    const isUnderWay = await requestEnd(deps, execution.id, caller);
    if (isUnderWay) response.set("Location", executionUrl(deps.apiUrl(), execution.id));
    sendEnvelope(deps, response, (await findExecution(deps.db, execution.id)) ?? execution, isUnderWay ? 202 : 200);
  };
}

/** Asks to end an execution, and notes who did; false when it had ended already, or there is none. */
export async function requestEnd(
  deps: Pick<AppDeps, "db" | "executions">,
  id: ExecutionId,
  caller: string,
): Promise<boolean> {
  const asked = await requestCancel(deps.db, id, caller);
  if (asked?.open !== true) return false;
  await deps.executions.cancel(id, caller);
  await endWaiting(deps, id);
  return true;
}

function sendEnvelope(
  { apiUrl }: Pick<AppDeps, "apiUrl">,
  response: Response,
  execution: ExecutionRecord,
  status: 200 | 202,
): void {
  if (execution.finishedAt === null) response.set("Retry-After", String(LOOK_AGAIN_SECONDS));
  sendAnswer(response, Execution, envelope(execution, apiUrl()), status);
}

/**
 * Ends an execution that waits for its turn, which no process has yet. It cannot begin any more: from the request on no
 * attempt is opened, even when it is admitted meanwhile.
 */
async function endWaiting(deps: Pick<AppDeps, "db">, executionId: ExecutionId): Promise<void> {
  const execution = await findExecution(deps.db, executionId);
  if (execution === undefined || execution.queuePosition === null) return;
  await release(deps.db, { executionId, status: "cancelled", failure: null, message: "Cancelled before it ran." });
}
