import type { Request } from "express";
import { findExecutionAccess, findTarget, type Target } from "../../db/commits.ts";
import type { Db } from "../../db/connect.ts";
import { type ExecutionRecord, findExecution } from "../../db/executions.ts";
import type { RateState, RateUse } from "../../db/rates.ts";
import type { Trigger } from "../../domain/execution.ts";
import { type CommitId, type ExecutionId, isExecutionId, isWorkflowId, type WorkflowId } from "../../domain/ids.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import type { Right } from "../../domain/members.ts";
import { hashApiKey } from "../keys/api-key.ts";
import type { AppDeps } from "./deps.ts";
import { ApiError } from "./errors.ts";
import { demandRight, findPerson, type Person } from "./person.ts";
import { chooseRates, toRateState } from "./rates.ts";

/** A workflow that may be executed by this request, at its latest commit. */
export interface Authenticated {
  readonly workflowId: WorkflowId;
  readonly commitId: CommitId;
  readonly manifest: Manifest;
  readonly accountId: Target["accountId"];
  /** `api` for a program with the workflow's key, `form` for somebody in person. */
  readonly trigger: Trigger;
  /** What let somebody in in person: the id of the session or of the token. */
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
 * Key to workflow, latest commit, balance, rate limits and repeated execution, in one statement that costs the same whether the workflow exists or not.
 * Without a key: 401. With one: 404 for a workflow that is unknown or has no commit, 401 for a key that is not its own,
 * 403 when it may not be started this way and was not either. Instead of the key somebody of the account may come in person, whether the API
 * trigger is enabled or not, when their role has the right; to others the workflow is unknown.
 */
export async function authenticate(
  deps: Pick<AppDeps, "db" | "rateLimits">,
  request: Request,
  { right, idempotencyKey }: { right: Right; idempotencyKey: string | null },
): Promise<Authenticated> {
  const { person, target, workflowId, commitId } = await findCalled(deps.db, request, idempotencyKey);
  if (person !== undefined) demandRight(person, right);
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
  const called = { workflowId, commitId, manifest, accountId, available, kept, trigger, accessId: person?.accessId };
  const rates = chooseRates(deps.rateLimits, { ...target, workflowId, inPerson: person !== undefined });
  return { ...called, idempotencyKey, keyedId, rates, rateState: toRateState(rates, target) };
}

/**
 * The latest commit of the path's workflow, to read about it: for whom `authenticate` lets in, also while the API trigger
 * is not enabled.
 */
export async function authorizeWorkflow(
  db: Db,
  request: Request,
): Promise<{ workflowId: WorkflowId; commitId: CommitId; manifest: Manifest }> {
  const { target, workflowId, commitId } = await findCalled(db, request, null);
  return { workflowId, commitId, manifest: target.manifest as Manifest };
}

/** The workflow that a request is for, and who asks; undefined for a program with its key. */
async function findCalled(
  db: Db,
  request: Request,
  idempotencyKey: string | null,
): Promise<{ person: Person | undefined; target: Target; workflowId: WorkflowId; commitId: CommitId }> {
  const key = request.get("x-api-key");
  const person = key === undefined ? await findPerson(db, request) : undefined;
  if (person === undefined) demandKey(request);
  const { workflowId } = request.params;
  if (typeof workflowId !== "string" || !isWorkflowId(workflowId)) throw unknownWorkflow();
  const target = await findTarget(db, workflowId, hashApiKey(key ?? ""), idempotencyKey);
  if (target === undefined || (person !== undefined && !maySee(person, target.accountId))) throw unknownWorkflow();
  if (target.commitId === null) throw uncommitted();
  if (person === undefined && !target.keyValid) throw unauthorized();
  return { person, target, workflowId, commitId: target.commitId };
}

/**
 * The execution of the path and who asks: by the key of its workflow, or in person, of the account that owns it and with the
 * right. An unknown one is 404, a foreign key 401, somebody else 404: they must not learn that the execution exists. `accessId` is
 * what let somebody in in person.
 */
export async function authorizeExecution(
  db: Db,
  request: Request,
  right: Right,
): Promise<{ execution: ExecutionRecord; caller: string; accessId: string | undefined }> {
  const { executionId } = request.params;
  const known = typeof executionId === "string" && isExecutionId(executionId);
  const key = request.get("x-api-key");
  const person = key === undefined ? await findPerson(db, request) : undefined;
  if (key === undefined && person === undefined) throw unauthorized();
  const access = known ? await findExecutionAccess(db, executionId, hashApiKey(key ?? "")) : undefined;
  if (access === undefined) throw unknownExecution();
  if (person !== undefined && !maySee(person, access.accountId)) throw unknownExecution();
  if (person === undefined && !access.keyValid) throw unauthorized();
  if (person !== undefined) demandRight(person, right);
  const execution = await findExecution(db, executionId as ExecutionId);
  if (execution === undefined) throw unknownExecution();
  return { execution, caller: person === undefined ? "API key" : person.email, accessId: person?.accessId };
}

function maySee(person: Person, accountId: Target["accountId"]): boolean {
  return person.accountId === null || person.accountId === accountId;
}

function demandKey(request: Request): string {
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

function unknownExecution(): ApiError {
  return new ApiError("not_found", "There is no execution with this id.");
}
