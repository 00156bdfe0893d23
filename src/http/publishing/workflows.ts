import type { RequestHandler } from "express";
import { z } from "zod";
import { findCommitHistory } from "../../../db/commits/history.ts";
import { listForPeople } from "../../../db/commits/workflow-list.ts";
import { createWorkflow, deleteWorkflow, renameWorkflow } from "../../../db/commits/workflows.ts";
import { findLastFailure, listDayFigures, listRecentExecutions } from "../../../db/executions/overview.ts";
import { findUsage } from "../../../db/executions/usage.ts";
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
  WorkflowOverview,
} from "../../../domain/api/workflows.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { explainState } from "../../executions/envelope.ts";
import { createWorkflowId } from "../../ids.ts";
import { createApiKey, hashApiKey } from "../../keys/api-key.ts";
import { toDraftFile } from "../../publish/draft-changes.ts";
import { createDraft, readCommit } from "../../publish/drafts.ts";
import type { CommitFile } from "../../publish/git-objects.ts";
import { requireStorageForCommit } from "../admission/requirements.ts";
import { parseRequest, readBody, sendAnswer } from "../answers/body.ts";
import { type AccountCaller, authorizeAccount } from "../auth/authorize.ts";
import { authorizeAccountWorkflow, findOwnWorkflow } from "../auth/workflow-access.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { toUsageDocument } from "../execute/usage-document.ts";
import { toCommitDocument } from "./commit-document.ts";
import { listTemplates, nameFiles, type Template } from "./templates.ts";
import { beginningOfMonth, toRecentDocument, toWorkflowDocument } from "./workflow-document.ts";

const RECENT_OF_LIST = 20;
const RECENT_OF_OVERVIEW = 30;
const OVERVIEW_DAYS = 14;

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
    const [estimates, recent] = await Promise.all([
      listCostEstimates(db, ids),
      listRecentExecutions(db, { workflowIds: ids, most: RECENT_OF_LIST }),
    ]);
    const workflows = found.map((workflow) =>
      toWorkflowDocument(workflow, now, { estimate: estimates.get(workflow.id), recent: recent.get(workflow.id) }),
    );
    sendAnswer(response, WorkflowList, { workflows });
  };
}

/** `POST /workflows`: makes a workflow without a commit. The files of a template or of another workflow become the caller's draft. */
export function createNewWorkflowRoute(
  deps: Pick<AppDeps, "db" | "editor" | "secretBox" | "keptBytesMax" | "contact">,
): RequestHandler {
  const { db, secretBox } = deps;
  return async (request, response) => {
    const caller = await authorizeAccount(db, request, "write");
    const { userId, accountId } = caller;
    const { name, templateId, copyOf } = await readBody(request, NewWorkflow);
    await requireStorageForCommit(deps, accountId);
    const files = await chooseFiles(deps, caller, { templateId, copyOf });
    if (files !== undefined && userId === null)
      throw new ApiError(
        "forbidden",
        "The operator's token belongs to no user, so it has no draft for these files. Sign in, or leave out templateId and copyOf.",
      );
    const workflowId = createWorkflowId();
    const apiKey = createApiKey();
    const [keyHash, keyEncrypted] = [hashApiKey(apiKey), secretBox.seal(apiKey, workflowId)];
    await db.transaction(async (tx) => {
      await createWorkflow(tx, { id: workflowId, accountId, name, keyHash, keyEncrypted });
      if (files !== undefined && userId !== null)
        await createDraft(tx, { userId, workflowId }, nameFiles(files, name).map(toDraftFile));
    });
    sendAnswer(response, CreatedWorkflow, { workflowId, apiKey }, 201);
  };
}

/** What the draft begins with; undefined for no draft. */
async function chooseFiles(
  { db, editor }: Pick<AppDeps, "db" | "editor">,
  caller: AccountCaller,
  { templateId, copyOf }: Pick<z.infer<typeof NewWorkflow>, "templateId" | "copyOf">,
): Promise<readonly CommitFile[] | undefined> {
  if (templateId !== undefined) return (await getTemplate(editor.examplesDir, templateId)).files;
  if (copyOf === undefined) return undefined;
  const { id, head } = await findOwnWorkflow(db, caller, copyOf);
  if (head === null) throw new ApiError("conflict", "Nothing is committed of this workflow yet. Commit, then copy it.");
  return readCommit(db, id, head);
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
    const [[listed], head, estimate, recent, usage] = await Promise.all([
      listForPeople(db, { accountId: workflow.accountId, workflowId: workflow.id, since: beginningOfMonth(now) }),
      workflow.head === null ? undefined : findCommitHistory(db, workflow.id, workflow.head),
      findCostEstimate(db, workflow.id),
      listRecentExecutions(db, { workflowIds: [workflow.id], most: RECENT_OF_LIST }),
      findUsage(db, workflow.id),
    ]);
    if (listed === undefined) throw new ApiError("workflow_not_found", "The workflow was deleted meanwhile.");
    const address = `${deps.apiUrl()}/workflows/${workflow.id}`;
    sendAnswer(response, ShownWorkflow, {
      ...toWorkflowDocument(listed, now, { estimate, recent: recent.get(workflow.id) }),
      manifest: (head?.manifest ?? null) as Record<string, unknown> | null,
      usage: (head && toUsageDocument(usage, (head.manifest as Manifest).limits)) ?? null,
      head: head === undefined ? null : toCommitDocument(head),
      executeUrl: `${address}/execute`,
      docsUrl: `${address}/docs`,
    });
  };
}

/** `GET /workflows/:workflowId/overview`: how its executions have gone. */
export function createOverviewRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { workflow } = await authorizeAccountWorkflow(db, request, "read");
    const { id: workflowId } = workflow;
    const [recent, days, failure] = await Promise.all([
      listRecentExecutions(db, { workflowIds: [workflowId], most: RECENT_OF_OVERVIEW }),
      listDayFigures(db, { workflowId, days: OVERVIEW_DAYS, now: new Date() }),
      findLastFailure(db, workflowId),
    ]);
    const lastFailure = failure && {
      executionId: failure.id,
      status: failure.state,
      message: explainState(failure),
      createdAt: failure.createdAt,
    };
    const document = { recent: (recent.get(workflowId) ?? []).map(toRecentDocument), days };
    sendAnswer(response, WorkflowOverview, { ...document, lastFailure: lastFailure ?? null });
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
