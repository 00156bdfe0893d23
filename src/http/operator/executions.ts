import { Router } from "express";
import { z } from "zod";
import type { Db } from "../../../db/connect.ts";
import { type ExecutionRecord, listExecutions } from "../../../db/executions.ts";
import { refusedAmounts } from "../envelope.ts";
import { parseRequest, StorableText, sendDocument } from "./body.ts";
import { callerOf, getAccount, getExecution, getWorkflow } from "./caller.ts";

const Filter = z.object({
  workflow: StorableText.optional(),
  account: StorableText.min(1).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(50),
});

/** The record of executions. What one answered, its log and its files are had by the workflow's key, like everybody's. */
export function createExecutionRoutes(deps: { db: Db }): Router {
  const { db } = deps;
  const router = Router();

  router.get("/executions", async (request, response) => {
    const caller = callerOf(response);
    const filter = parseRequest(Filter, request.query);
    const workflow = filter.workflow === undefined ? undefined : await getWorkflow(db, caller, filter.workflow);
    const accountId =
      filter.account === undefined ? caller.accountId : (await getAccount(db, caller, filter.account)).id;
    const found = await listExecutions(db, { accountId, workflowId: workflow?.id ?? null, limit: filter.limit });
    sendDocument(response, { executions: found.map(toDocument) });
  });

  router.get("/executions/:executionId", async (request, response) => {
    sendDocument(response, toDocument(await getExecution(db, callerOf(response), request.params.executionId)));
  });

  return router;
}

function toDocument(execution: ExecutionRecord) {
  return {
    executionId: execution.id,
    workflowId: execution.workflowId,
    status: execution.state,
    trigger: execution.trigger,
    createdAt: execution.createdAt,
    ...refusedAmounts(execution),
  };
}
