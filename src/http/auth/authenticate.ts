import type { Request } from "express";
import type { RateState, RateUse } from "../../../db/accounts/rates.ts";
import { findExecutionAccess, findTarget, type Target } from "../../../db/commits/commits.ts";
import { type ExecutionRecord, findExecution } from "../../../db/executions/executions.ts";
import type { Trigger } from "../../../domain/execution.ts";
import { type CommitId, type ExecutionId, isExecutionId, isWorkflowId, type WorkflowId } from "../../../domain/ids.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import type { Right } from "../../../domain/members.ts";
import { hashApiKey } from "../../keys/api-key.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { findPerson, type Person, requireRight } from "./person.ts";
import { chooseRates, toRateState } from "./rates.ts";

/** A workflow that may be executed by this request, at its latest commit. */
export interface Authenticated {
  readonly workflowId: WorkflowId;
  readonly commitId: CommitId;
  readonly manifest: Manifest;
  /** What the commit runs with; absent for a draft's. */
  readonly runtime?: Pick<Target, "environmentKey" | "python">;
  readonly accountId: Target["accountId"];
  /** `api` for a program with the workflow's key, `form` for a person. */
  readonly trigger: Trigger;
  /** The id of the session or of the token by which a person came. Undefined for a key. */
  readonly accessId: string | undefined;
  /** Micro-credits that are not reserved. Advice: the reservation decides. */
  readonly available: bigint;
  readonly kept: Target["kept"];
  readonly idempotencyKey: string | null;
  /** The execution that the idempotency key belongs to. */
  readonly keyedId: ExecutionId | null;
  readonly rates: RateUse;
  /** The limits as they stood. Advice, like the balance. */
  readonly rateState: RateState;
}

/**
 * Returns the workflow that a request may execute, with its latest commit, balance, rate limits and repeated execution.
 * One statement finds them, and costs the same whether the workflow exists or not. Throws 401 without a key, and for a
 * key of another workflow. Throws 404 for a workflow that is unknown or has no commit, and 403 when the API trigger is
 * not enabled. A repeated call is let through all the same. Members of the account need no key, only the right, and no
 * enabled trigger. For other people the workflow is unknown.
 */
export async function authenticate(
  deps: Pick<AppDeps, "db" | "rateLimits" | "keyUses">,
  request: Request,
  { right, idempotencyKey }: { right: Right; idempotencyKey: string | null },
): Promise<Authenticated> {
  const { person, target, workflowId, commitId } = await findCalled(deps, request, idempotencyKey);
  if (person !== undefined) requireRight(person, right);
  const manifest = target.manifest as Manifest;
  // A repeated call gets its answer, whatever was committed meanwhile.
  if (person === undefined && target.keyedId === null && manifest.triggers.api?.enabled !== true) {
    throw new ApiError(
      "api_trigger_disabled",
      "The API trigger of this workflow is not enabled. Set triggers.api.enabled to true in its config.yaml and commit.",
    );
  }
  const { accountId, available, kept, keyedId } = target;
  const trigger: Trigger = person === undefined ? "api" : "form";
  const runtime = { environmentKey: target.environmentKey, python: target.python };
  const money = { accountId, available, kept };
  const called = { workflowId, commitId, manifest, runtime, ...money, trigger, accessId: person?.accessId };
  const rates = chooseRates(deps.rateLimits, { ...target, workflowId, inPerson: person !== undefined });
  return { ...called, idempotencyKey, keyedId, rates, rateState: toRateState(rates, target) };
}

/**
 * The latest commit of the path's workflow, to read about it: for whom `authenticate` lets in, also while the API trigger
 * is not enabled.
 */
export async function authorizeWorkflow(
  deps: Pick<AppDeps, "db" | "keyUses">,
  request: Request,
): Promise<{ workflowId: WorkflowId; commitId: CommitId; manifest: Manifest }> {
  const { target, workflowId, commitId } = await findCalled(deps, request, null);
  return { workflowId, commitId, manifest: target.manifest as Manifest };
}

/** The workflow that a request is for, and who asks; undefined for a program with its key. */
async function findCalled(
  { db, keyUses }: Pick<AppDeps, "db" | "keyUses">,
  request: Request,
  idempotencyKey: string | null,
): Promise<{ person: Person | undefined; target: Target; workflowId: WorkflowId; commitId: CommitId }> {
  const key = request.get("x-api-key");
  const person = key === undefined ? await findPerson(db, request) : undefined;
  if (person === undefined) requireKey(request);
  const { workflowId } = request.params;
  if (typeof workflowId !== "string" || !isWorkflowId(workflowId)) throw unknownWorkflow();
  const hash = hashApiKey(key ?? "");
  const target = await findTarget(db, workflowId, hash, idempotencyKey);
  if (target === undefined || (person !== undefined && !maySee(person, target.accountId))) throw unknownWorkflow();
  if (target.commitId === null) throw uncommitted();
  if (person === undefined) {
    if (!target.keyValid) throw unauthorized();
    keyUses.note(hash);
  }
  return { person, target, workflowId, commitId: target.commitId };
}

/**
 * Returns the execution of the path and who asks: by the key of its workflow, or as a member of its account with the
 * right. Throws 404 for an unknown one and 401 for a foreign key. Throws 404 for members of other accounts, who must
 * not learn that the execution exists. `accessId` is the session or token of a person.
 */
export async function authorizeExecution(
  { db, keyUses }: Pick<AppDeps, "db" | "keyUses">,
  request: Request,
  right: Right,
): Promise<{ execution: ExecutionRecord; caller: string; accessId: string | undefined }> {
  const { executionId } = request.params;
  const known = typeof executionId === "string" && isExecutionId(executionId);
  const key = request.get("x-api-key");
  const person = key === undefined ? await findPerson(db, request) : undefined;
  if (key === undefined && person === undefined) throw unauthorized();
  const hash = hashApiKey(key ?? "");
  const access = known ? await findExecutionAccess(db, executionId, hash) : undefined;
  if (access === undefined) throw unknownExecution();
  if (person !== undefined && !maySee(person, access.accountId)) throw unknownExecution();
  if (person !== undefined) requireRight(person, right);
  else if (access.keyValid) keyUses.note(hash);
  else throw unauthorized();
  const execution = await findExecution(db, executionId as ExecutionId);
  if (execution === undefined) throw unknownExecution();
  return { execution, caller: person === undefined ? "API key" : person.email, accessId: person?.accessId };
}

function maySee(person: Person, accountId: Target["accountId"]): boolean {
  return person.accountId === null || person.accountId === accountId;
}

function requireKey(request: Request): string {
  const key = request.get("x-api-key");
  if (key === undefined || key === "") throw unauthorized();
  return key;
}

function unauthorized(): ApiError {
  const message = "The API key is invalid or missing. Send the workflow's own key in the header x-api-key.";
  return new ApiError("unauthorized", message, {}, { "WWW-Authenticate": "ApiKey, Bearer" });
}

function unknownWorkflow(): ApiError {
  const message = "There is no workflow with this id. Copy the address from the workflow's API Trigger tab.";
  return new ApiError("workflow_not_found", message);
}

function uncommitted(): ApiError {
  return new ApiError("workflow_not_found", "This workflow has no committed version yet. Commit one, then call it.");
}

/** Returns the answer for an execution that does not exist, or that the caller may not see. */
export function unknownExecution(): ApiError {
  return new ApiError("not_found", "There is no execution with this id.");
}
