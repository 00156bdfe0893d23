import { type Request, type Response, Router } from "express";
import { release } from "../../db/credits.ts";
import { type ExecutionRecord, findExecution, requestCancel } from "../../db/executions.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { refuseMethod } from "./answers.ts";
import { authorizeExecution } from "./authenticate.ts";
import type { AppDeps } from "./deps.ts";
import { envelope, executionUrl } from "./envelope.ts";
import { createLogRoute } from "./execution-log.ts";
import { createLinkRoute } from "./file-link.ts";
import { createFileRoute } from "./files.ts";

const LOOK_AGAIN_SECONDS = 2;

/** What is known of one execution: its result, its log, its files; and the request to end it. */
export function createRunLogRoutes(deps: AppDeps): Router {
  const router = Router();
  const sendEnvelope = (response: Response, execution: ExecutionRecord): void => {
    if (execution.finishedAt === null) response.set("Retry-After", String(LOOK_AGAIN_SECONDS));
    response.json(envelope(execution, deps.apiUrl()));
  };

  router
    .route("/run-logs/:executionId")
    .get(async (request, response) => {
      const { execution } = await authorizeExecution(deps.db, request);
      sendEnvelope(response, execution);
    })
    .all(refuseMethod("GET", "HEAD"));

  router
    .route("/run-logs/:executionId/cancel")
    .post(async (request: Request, response: Response) => {
      const { execution, caller } = await authorizeExecution(deps.db, request);
      const asked = await requestCancel(deps.db, execution.id, caller);
      if (asked?.open === true) {
        await deps.executions.cancel(execution.id, caller);
        await endWaiting(deps, execution.id);
        response.status(202).set("Location", executionUrl(deps.apiUrl(), execution.id));
      }
      sendEnvelope(response, (await findExecution(deps.db, execution.id)) ?? execution);
    })
    .all(refuseMethod("POST"));

  router.route("/run-logs/:executionId/logs").get(createLogRoute(deps)).all(refuseMethod("GET", "HEAD"));
  router.route("/run-logs/:executionId/files/:fileName/link").post(createLinkRoute(deps)).all(refuseMethod("POST"));
  router.route("/run-logs/:executionId/files/:fileName").get(createFileRoute(deps)).all(refuseMethod("GET", "HEAD"));
  return router;
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
