import type { RequestHandler, Response } from "express";
import { release } from "../../db/credits.ts";
import { type ExecutionRecord, findExecution, requestCancel } from "../../db/executions.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { authorizeExecution } from "./authenticate.ts";
import type { AppDeps } from "./deps.ts";
import { envelope, executionUrl } from "./envelope.ts";

const LOOK_AGAIN_SECONDS = 2;

/** What is known of one execution. */
export function createExecutionRoute(deps: Pick<AppDeps, "db" | "apiUrl">): RequestHandler {
  return async (request, response) => {
    const { execution } = await authorizeExecution(deps.db, request, "read");
    sendEnvelope(deps, response, execution);
  };
}

/** The request to end one: 202, or 200 when it had ended already. */
export function createCancelRoute(deps: Pick<AppDeps, "db" | "apiUrl" | "executions">): RequestHandler {
  return async (request, response) => {
    const { execution, caller } = await authorizeExecution(deps.db, request, "write");
    if (await requestEnd(deps, execution.id, caller))
      response.status(202).set("Location", executionUrl(deps.apiUrl(), execution.id));
    sendEnvelope(deps, response, (await findExecution(deps.db, execution.id)) ?? execution);
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

function sendEnvelope({ apiUrl }: Pick<AppDeps, "apiUrl">, response: Response, execution: ExecutionRecord): void {
  if (execution.finishedAt === null) response.set("Retry-After", String(LOOK_AGAIN_SECONDS));
  response.json(envelope(execution, apiUrl()));
}

/**
 * One that waits for its turn has nobody to end it. It cannot begin any more: from the request on no attempt is opened,
 * whoever lets it in meanwhile.
 */
async function endWaiting(deps: Pick<AppDeps, "db">, executionId: ExecutionId): Promise<void> {
  const execution = await findExecution(deps.db, executionId);
  if (execution === undefined || execution.queuePosition === null) return;
  await release(deps.db, { executionId, status: "cancelled", failure: null, message: "Cancelled before it ran." });
}
