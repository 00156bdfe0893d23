import type { RequestHandler } from "express";
import { getAccountName } from "../../../db/accounts/accounts.ts";
import { findAccountRates, putAccountRates, type Rate, toBucketState } from "../../../db/accounts/rates.ts";
import { putKeptBytesMax } from "../../../db/executions/kept-bytes.ts";
import { AccountRates, AgreedRates, ShownAccount, StorageAgreement } from "../../../domain/api/accounts.ts";
import type { AccountId, WorkflowId } from "../../../domain/ids.ts";
import { queryText, readBody, refuseField, sendAnswer } from "../answers/body.ts";
import { authorizeAccount, authorizeOperator } from "../auth/authorize.ts";
import { agreedLimits } from "../auth/rates.ts";
import { findOwnWorkflow } from "../auth/workflow-access.ts";
import type { AppDeps } from "../deps.ts";
import { describeAccount } from "./account.ts";

type Deps = Pick<AppDeps, "db" | "rateLimits">;

const AS_EVERYBODY = { perMinute: null, burst: null, accountPerMinute: null };

/** `GET /account/rates`: what limits an account, or the key of one of its workflows, and what is left of it now. */
export function createRatesRoute(deps: Deps): RequestHandler {
  return async (request, response) => {
    const caller = await authorizeAccount(deps.db, request, "read");
    const id = queryText(request, "workflow");
    if (id === undefined) return sendAnswer(response, AccountRates, await describeRates(deps, caller.accountId, null));
    if (queryText(request, "account") !== undefined)
      throw refuseField("workflow", "has an account already: name an account or a workflow.");
    const { accountId, id: workflowId } = await findOwnWorkflow(deps.db, caller, id);
    sendAnswer(response, AccountRates, await describeRates(deps, accountId, workflowId));
  };
}

/** `PUT /account/rates`: agrees other rate limits with an account. */
export function createRateAgreementRoute(deps: Deps): RequestHandler {
  return async (request, response) => {
    const { id } = await authorizeOperator(deps.db, request);
    await putAccountRates(deps.db, id, await readBody(request, AgreedRates));
    sendAnswer(response, AccountRates, await describeRates(deps, id, null));
  };
}

/** `PUT /account/storage`: agrees with an account how many bytes it may store. */
export function createStorageAgreementRoute(deps: Pick<AppDeps, "db" | "contact" | "keptBytesMax">): RequestHandler {
  return async (request, response) => {
    const { id } = await authorizeOperator(deps.db, request);
    const { bytesMax } = await readBody(request, StorageAgreement);
    await putKeptBytesMax(deps.db, id, bytesMax);
    sendAnswer(response, ShownAccount, await describeAccount(deps, id));
  };
}

async function describeRates({ db, rateLimits }: Deps, accountId: AccountId, workflowId: WorkflowId | null) {
  const [name, { agreed, accountBusySeconds, keyBusySeconds }] = await Promise.all([
    getAccountName(db, accountId),
    findAccountRates(db, { accountId, workflowId }),
  ]);
  const limits = agreedLimits(rateLimits, agreed);
  return {
    accountId,
    name,
    agreed: agreed ?? AS_EVERYBODY,
    ...(workflowId === null ? {} : { workflowId }),
    // Each workflow's key has a bucket of its own: without a workflow there is no state to show.
    key: limits.key && (workflowId === null ? limits.key : toState(limits.key, keyBusySeconds)),
    account: limits.account && toState(limits.account, accountBusySeconds),
  };
}

function toState(limit: Rate, busySeconds: number | null) {
  const { rate, remaining, fullAfterSeconds } = toBucketState(limit, busySeconds);
  return { ...rate, remaining, fullAfterSeconds: Math.ceil(fullAfterSeconds) };
}
