import type { RequestHandler } from "express";
import { z } from "zod";
import { findCostEstimate } from "../../../db/credits/estimate.ts";
import { findCommitHistory } from "../../../db/history.ts";
import { listForPeople } from "../../../db/workflow-list.ts";
import { createWorkflow, deleteWorkflow, renameWorkflow } from "../../../db/workflows.ts";
import { toDraftFile } from "../../drafts/changes.ts";
import { createDraft } from "../../drafts/drafts.ts";
import { createWorkflowId } from "../../ids.ts";
import { createApiKey, hashApiKey } from "../../keys/api-key.ts";
import { toEstimate } from "../cost-estimate.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { parseRequest, StorableText } from "../operator/body.ts";
import { demandStorageForCommit } from "../room.ts";
import { authorizeEditor } from "./authorize.ts";
import { readBody } from "./body.ts";
import { toCommitDocument } from "./commit-document.ts";
import { listTemplates, type Template } from "./templates.ts";
import { authorizeWorkflowEditor } from "./workflow-access.ts";
import { beginningOfMonth, toWorkflowDocument } from "./workflow-document.ts";

const Name = StorableText.trim().min(1).max(200);
const Query = z.object({ search: StorableText.max(200).optional() });
export const NewWorkflow = z.strictObject({ name: Name, templateId: StorableText.min(1).max(255).optional() });
export const WorkflowName = z.strictObject({ name: Name });

/** `GET /editor/workflows`: the workflows of the account, by name. */
export function createWorkflowsRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeEditor(db, request, "read");
    const { search } = parseRequest(Query, request.query);
    const now = new Date();
    const wanted = search === undefined || search === "" ? {} : { search };
    const found = await listForPeople(db, { accountId, since: beginningOfMonth(now), ...wanted });
    response.json({ workflows: found.map((workflow) => toWorkflowDocument(workflow, now)) });
  };
}

/** `POST /editor/workflows`: a workflow without a commit; the files of a template are the draft of whoever makes it. */
export function createNewWorkflowRoute(
  deps: Pick<AppDeps, "db" | "editor" | "secretBox" | "keptBytesMax" | "contact">,
): RequestHandler {
  const { db, secretBox } = deps;
  return async (request, response) => {
    const { userId, accountId } = await authorizeEditor(db, request, "write");
    const { name, templateId } = await readBody(request, NewWorkflow);
    await demandStorageForCommit(deps, accountId);
    const template = templateId === undefined ? undefined : await getTemplate(deps.editor.examplesDir, templateId);
    if (template !== undefined && userId === null)
      throw new ApiError("forbidden", "A template becomes somebody's draft, and the operator's token is nobody's.");
    const workflowId = createWorkflowId();
    const apiKey = createApiKey();
    const [keyHash, keyEncrypted] = [hashApiKey(apiKey), secretBox.seal(apiKey, workflowId)];
    await db.transaction(async (tx) => {
      await createWorkflow(tx, { id: workflowId, accountId, name, keyHash, keyEncrypted });
      if (template !== undefined && userId !== null)
        await createDraft(tx, { userId, workflowId }, template.files.map(toDraftFile));
    });
    response.status(201).json({ workflowId });
  };
}

async function getTemplate(dir: string, templateId: string): Promise<Template> {
  const templates = await listTemplates(dir);
  const template = templates.find((each) => each.templateId === templateId);
  if (template !== undefined) return template;
  const message = `There is no template of this name; there are ${templates.map((each) => each.templateId).join(", ")}.`;
  throw new ApiError("invalid_request", message, { details: [{ input: "templateId", message }] });
}

/** `GET /editor/workflows/:workflowId`: a workflow with its latest commit. */
export function createWorkflowRoute(deps: Pick<AppDeps, "db" | "apiUrl">): RequestHandler {
  const { db } = deps;
  return async (request, response) => {
    const { workflow } = await authorizeWorkflowEditor(db, request, "read");
    const now = new Date();
    const [[listed], head, estimate] = await Promise.all([
      listForPeople(db, { accountId: workflow.accountId, workflowId: workflow.id, since: beginningOfMonth(now) }),
      workflow.head === null ? undefined : findCommitHistory(db, workflow.id, workflow.head),
      findCostEstimate(db, workflow.id),
    ]);
    if (listed === undefined) throw new ApiError("workflow_not_found", "The workflow was deleted meanwhile.");
    const address = `${deps.apiUrl()}/workflows/${workflow.id}`;
    response.json({
      ...toWorkflowDocument(listed, now),
      manifest: head?.manifest ?? null,
      head: head === undefined ? null : toCommitDocument(head),
      estimate: toEstimate(estimate).estimate ?? null,
      executeUrl: `${address}/execute`,
      docsUrl: `${address}/docs`,
    });
  };
}

/** `POST /editor/workflows/:workflowId`: gives it another name. */
export function createRenameRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { workflow } = await authorizeWorkflowEditor(db, request, "write");
    const { name } = await readBody(request, WorkflowName);
    const renamed = await renameWorkflow(db, workflow.id, name);
    if (renamed === undefined) throw new ApiError("workflow_not_found", "The workflow was deleted meanwhile.");
    response.json({ workflowId: renamed.id, name: renamed.name });
  };
}

/** `DELETE /editor/workflows/:workflowId`: its key and schedule end at once, its executions stay on record. */
export function createDeleteRoute({ db, log }: Pick<AppDeps, "db" | "log">): RequestHandler {
  return async (request, response) => {
    const { caller, workflow } = await authorizeWorkflowEditor(db, request, "write");
    await deleteWorkflow(db, workflow.id, () => new Date());
    log.info({ event: "workflow.deleted", workflowId: workflow.id, userId: caller.userId }, "A workflow was deleted.");
    response.json({ workflowId: workflow.id, deleted: true });
  };
}
