import type { RequestHandler } from "express";
import { z } from "zod";
import { findCommitHistory } from "../../../db/commits/history.ts";
import { listForPeople } from "../../../db/commits/workflow-list.ts";
import { createWorkflow, deleteWorkflow, renameWorkflow } from "../../../db/commits/workflows.ts";
import { findCostEstimate, listCostEstimates } from "../../../db/ledger/estimate.ts";
import { StorableText } from "../../../domain/api/fields.ts";
import {
  CreatedWorkflow,
  DeletedWorkflow,
  NewWorkflow,
  RenamedWorkflow,
  ShownWorkflow,
  WorkflowList,
  WorkflowName,
} from "../../../domain/api/workflows.ts";
import { toDraftFile } from "../../drafts/changes.ts";
import { createDraft } from "../../drafts/drafts.ts";
import { createWorkflowId } from "../../ids.ts";
import { createApiKey, hashApiKey } from "../../keys/api-key.ts";
import { requireStorageForCommit } from "../admission/room.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import { authorizeAccountWorkflow } from "../auth/workflow-access.ts";
import { parseRequest, readBody, sendAnswer } from "../body.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { toCommitDocument } from "./commit-document.ts";
import { listTemplates, type Template } from "./templates.ts";
import { beginningOfMonth, toWorkflowDocument } from "./workflow-document.ts";

const Query = z.object({ search: StorableText.max(200).optional() });

/** `GET /workflows`: the workflows of the account, by name. */
export function createWorkflowsRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "read");
    const { search } = parseRequest(Query, request.query);
    const now = new Date();
    const wanted = search === undefined || search === "" ? {} : { search };
    const found = await listForPeople(db, { accountId, since: beginningOfMonth(now), ...wanted });
    const ids = found.map(({ id }) => id);
    const estimates = await listCostEstimates(db, ids);
    const workflows = found.map((workflow) => toWorkflowDocument(workflow, now, estimates.get(workflow.id)));
    sendAnswer(response, WorkflowList, { workflows });
  };
}

/** `POST /workflows`: makes a workflow without a commit. The files of a template become the caller's draft. */
export function createNewWorkflowRoute(
  deps: Pick<AppDeps, "db" | "editor" | "secretBox" | "keptBytesMax" | "contact">,
): RequestHandler {
  const { db, secretBox } = deps;
  return async (request, response) => {
    const { userId, accountId } = await authorizeAccount(db, request, "write");
    const { name, templateId } = await readBody(request, NewWorkflow);
    await requireStorageForCommit(deps, accountId);
    const template = templateId === undefined ? undefined : await getTemplate(deps.editor.examplesDir, templateId);
    if (template !== undefined && userId === null)
      throw new ApiError(
        "forbidden",
        "The operator's token belongs to no user, so it has no draft for a template's files. Sign in, or leave out templateId.",
      );
    const workflowId = createWorkflowId();
    const apiKey = createApiKey();
    const [keyHash, keyEncrypted] = [hashApiKey(apiKey), secretBox.seal(apiKey, workflowId)];
    await db.transaction(async (tx) => {
      await createWorkflow(tx, { id: workflowId, accountId, name, keyHash, keyEncrypted });
      if (template !== undefined && userId !== null)
        await createDraft(tx, { userId, workflowId }, template.files.map(toDraftFile));
    });
    sendAnswer(response, CreatedWorkflow, { workflowId, apiKey }, 201);
  };
}

async function getTemplate(dir: string, templateId: string): Promise<Template> {
  const templates = await listTemplates(dir);
  const template = templates.find((each) => each.templateId === templateId);
  if (template !== undefined) return template;
  const message = `There is no template of this name; there are ${templates.map((each) => each.templateId).join(", ")}.`;
  throw new ApiError("invalid_request", message, { details: [{ input: "templateId", message }] });
}

/** `GET /workflows/:workflowId`: a workflow with its latest commit. */
export function createWorkflowRoute(deps: Pick<AppDeps, "db" | "apiUrl">): RequestHandler {
  const { db } = deps;
  return async (request, response) => {
    const { workflow } = await authorizeAccountWorkflow(db, request, "read");
    const now = new Date();
    const [[listed], head, estimate] = await Promise.all([
      listForPeople(db, { accountId: workflow.accountId, workflowId: workflow.id, since: beginningOfMonth(now) }),
      workflow.head === null ? undefined : findCommitHistory(db, workflow.id, workflow.head),
      findCostEstimate(db, workflow.id),
    ]);
    if (listed === undefined) throw new ApiError("workflow_not_found", "The workflow was deleted meanwhile.");
    const address = `${deps.apiUrl()}/workflows/${workflow.id}`;
    sendAnswer(response, ShownWorkflow, {
      ...toWorkflowDocument(listed, now, estimate),
      manifest: (head?.manifest ?? null) as Record<string, unknown> | null,
      head: head === undefined ? null : toCommitDocument(head),
      executeUrl: `${address}/execute`,
      docsUrl: `${address}/docs`,
    });
  };
}

/** `PATCH /workflows/:workflowId`: gives it another name. */
export function createRenameRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { workflow } = await authorizeAccountWorkflow(db, request, "write");
    const { name } = await readBody(request, WorkflowName);
    const renamed = await renameWorkflow(db, workflow.id, name);
    if (renamed === undefined) throw new ApiError("workflow_not_found", "The workflow was deleted meanwhile.");
    sendAnswer(response, RenamedWorkflow, { workflowId: renamed.id, name: renamed.name });
  };
}

/** `DELETE /workflows/:workflowId`: its key and schedule end at once, its executions stay on record. */
export function createDeleteRoute({ db, log }: Pick<AppDeps, "db" | "log">): RequestHandler {
  return async (request, response) => {
    const { caller, workflow } = await authorizeAccountWorkflow(db, request, "write");
    await deleteWorkflow(db, workflow.id, () => new Date());
    log.info({ event: "workflow.deleted", workflowId: workflow.id, userId: caller.userId }, "A workflow was deleted.");
    sendAnswer(response, DeletedWorkflow, { workflowId: workflow.id, deleted: true });
  };
}
