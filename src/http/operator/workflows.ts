import { type Response, Router } from "express";
import { z } from "zod";
import type { Environments } from "../../../activities/environments/builder.ts";
import { findCurrentKey, rotateKey } from "../../../db/api-keys.ts";
import { findNewestEnvironmentKey } from "../../../db/commit-environments.ts";
import { findCommit } from "../../../db/commits.ts";
import type { Db } from "../../../db/connect.ts";
import { listCostEstimates } from "../../../db/credits/estimate.ts";
import { findPreviousKeyExpiry } from "../../../db/replaced-keys.ts";
import { createWorkflow, deleteWorkflow, listWorkflows, type Workflow } from "../../../db/workflows.ts";
import { isCommitId, type WorkflowId } from "../../../domain/ids.ts";
import { createWorkflowId } from "../../ids.ts";
import { createApiKey, hashApiKey } from "../../keys/api-key.ts";
import type { SecretBox } from "../../keys/secret-box.ts";
import type { Log } from "../../log.ts";
import { toEstimate } from "../cost-estimate.ts";
import { ApiError } from "../errors.ts";
import { demandRight } from "../person.ts";
import { parseRequest, queryText, StorableText, sendDocument } from "./body.ts";
import { callerOf, getAccount, getWorkflow } from "./caller.ts";

const GRACE_SECONDS_MAX = 30 * 86_400;

const NewWorkflow = z.strictObject({
  name: StorableText.trim().min(1).max(200),
  account: StorableText.min(1).max(200).optional(),
});
const Rotation = z.strictObject({ graceSeconds: z.int().min(0).max(GRACE_SECONDS_MAX).default(0) });

/** Workflows, their keys, and what building their environments said. */
export function createWorkflowRoutes(deps: {
  db: Db;
  secretBox: SecretBox;
  environments: Pick<Environments, "readLog">;
  log: Log;
}): Router {
  const { db, secretBox, environments } = deps;
  const router = Router();

  router.get("/workflows", async (request, response) => {
    const caller = callerOf(response);
    const name = queryText(request, "account");
    const accountId = name === undefined ? caller.accountId : (await getAccount(db, caller, name)).id;
    const found = await listWorkflows(db, accountId);
    const ids = found.map((workflow) => workflow.id);
    const estimates = await listCostEstimates(db, ids);
    const toListed = (workflow: Workflow) => ({ ...toDocument(workflow), ...toEstimate(estimates.get(workflow.id)) });
    sendDocument(response, { workflows: found.map(toListed) });
  });

  router.post("/workflows", async (request, response) => {
    const input = parseRequest(NewWorkflow, request.body);
    const account = await getAccount(db, callerOf(response), input.account);
    const id = createWorkflowId();
    const apiKey = createApiKey();
    await createWorkflow(db, {
      id,
      accountId: account.id,
      name: input.name,
      keyHash: hashApiKey(apiKey),
      keyEncrypted: secretBox.seal(apiKey, id),
    });
    sendDocument(response, { workflowId: id, apiKey }, 201);
  });

  router.get("/workflows/:workflowId", async (request, response) => {
    sendDocument(response, toDocument(await getWorkflow(db, callerOf(response), request.params.workflowId)));
  });

  router.delete("/workflows/:workflowId", async (request, response) => {
    const workflow = await getWorkflow(db, callerOf(response), request.params.workflowId);
    await deleteWorkflow(db, workflow.id, () => new Date());
    sendDocument(response, { workflowId: workflow.id, deleted: true });
  });

  router.get("/workflows/:workflowId/build-log", async (request, response) => {
    const workflow = await getWorkflow(db, callerOf(response), request.params.workflowId);
    const wanted = queryText(request, "commit") ?? workflow.head;
    const commit = wanted !== null && isCommitId(wanted) ? await findCommit(db, workflow.id, wanted) : undefined;
    if (commit === undefined) throw new ApiError("not_found", `The workflow has no commit ${wanted ?? "yet"}.`);
    const environment = await findNewestEnvironmentKey(db, commit);
    const log = environment === null ? undefined : await environments.readLog(environment);
    sendDocument(response, { commitId: commit.id, environment, log: log ?? null });
  });

  addKeyRoutes(router, deps);
  return router;
}

/** Keys, whole: for whoever may change what they open. */
function addKeyRoutes(router: Router, { db, secretBox, log }: { db: Db; secretBox: SecretBox; log: Log }): void {
  const note = (event: string, workflowId: WorkflowId, response: Response): void =>
    log.info({ event, workflowId, userId: callerOf(response).userId }, "By the command line.");

  router.get("/workflows/:workflowId/key", async (request, response) => {
    demandRight(callerOf(response), "write");
    const workflow = await getWorkflow(db, callerOf(response), request.params.workflowId);
    const encrypted = await findCurrentKey(db, workflow.id);
    if (encrypted === undefined) throw new ApiError("workflow_not_found", "The workflow was deleted meanwhile.");
    const previousKeyExpiresAt = await findPreviousKeyExpiry(db, workflow.id);
    note("key.revealed", workflow.id, response);
    sendDocument(response, { apiKey: secretBox.open(encrypted, workflow.id).toString(), previousKeyExpiresAt });
  });

  router.post("/workflows/:workflowId/key/rotate", async (request, response) => {
    const workflow = await getWorkflow(db, callerOf(response), request.params.workflowId);
    const { graceSeconds } = parseRequest(Rotation, request.body);
    const apiKey = createApiKey();
    const rotated = await rotateKey(db, {
      workflowId: workflow.id,
      keyHash: hashApiKey(apiKey),
      keyEncrypted: secretBox.seal(apiKey, workflow.id),
      graceSeconds,
    });
    if (rotated === undefined) throw new ApiError("workflow_not_found", "The workflow was deleted meanwhile.");
    note("key.rotated", workflow.id, response);
    sendDocument(response, { apiKey, previousKeyExpiresAt: rotated.previousKeyExpiresAt });
  });
}

function toDocument(workflow: Workflow) {
  return {
    workflowId: workflow.id,
    name: workflow.name,
    accountId: workflow.accountId,
    commitId: workflow.head,
    createdAt: workflow.createdAt,
  };
}
