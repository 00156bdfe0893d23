import type { Request } from "express";
import { findTarget } from "../../../db/commits/commits.ts";
import { hashApiKey } from "../../keys/api-key.ts";
import { readWorkingCopy } from "../../publish/drafts.ts";
import { requireStorage } from "../admission/requirements.ts";
import type { Authenticated } from "../auth/authenticate.ts";
import { chooseRates, toRateState } from "../auth/rates.ts";
import { authorizeAccountWorkflow, requireUser } from "../auth/workflow-access.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";

/** The caller's draft as what is to be executed: kept as a commit of no history, its environment made. */
export async function chooseDraft(
  deps: Pick<AppDeps, "db" | "editor" | "rateLimits" | "keptBytesMax" | "contact">,
  request: Request,
  { idempotencyKey }: { idempotencyKey: string | null },
): Promise<Authenticated> {
  const access = await authorizeAccountWorkflow(deps.db, request, "write");
  const userId = requireUser(access);
  const { id: workflowId, head } = access.workflow;
  const target = await findTarget(deps.db, workflowId, hashApiKey(""), idempotencyKey);
  if (target === undefined) throw unknownWorkflow();
  // The draft is kept as a commit, too.
  if (target.keyedId === null) requireStorage(deps, target);
  const { files } = await readWorkingCopy(deps.db, { userId, workflowId, head });
  const author = { userId, email: access.caller.email };
  const { accountId, available, keyedId } = target;
  const keptDraft = await deps.editor.keepDraft({ workflowId, accountId, parentId: head, files, author });
  if (keptDraft.kind === "unknown_workflow") throw unknownWorkflow();
  if (keptDraft.kind === "invalid") {
    const { problems, buildLog } = keptDraft;
    throw new ApiError("invalid_request", "The draft cannot be executed as it is.", {
      details: problems,
      ...(buildLog === "" ? {} : { buildLog }),
    });
  }
  const { commitId, manifest } = keptDraft;
  const rates = chooseRates(deps.rateLimits, { ...target, workflowId, inPerson: true });
  const { accessId } = access.caller;
  const money = { accountId, available, kept: target.kept };
  const called = { workflowId, commitId, manifest, ...money, trigger: "form" as const, accessId };
  return { ...called, idempotencyKey, keyedId, rates, rateState: toRateState(rates, target) };
}

function unknownWorkflow(): ApiError {
  return new ApiError("workflow_not_found", "There is no such workflow. It may have been deleted.");
}
