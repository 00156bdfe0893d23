import { Router } from "express";
import { z } from "zod";
import { type Account, listAccounts } from "../../../db/accounts.ts";
import type { Db } from "../../../db/connect.ts";
import {
  type AgreedRates,
  type BucketState,
  findAccountRates,
  putAccountRates,
  type Rate,
  toBucketState,
} from "../../../db/rates.ts";
import type { WorkflowId } from "../../../domain/ids.ts";
import { ApiError } from "../errors.ts";
import { agreedLimits, type RateLimits } from "../rates.ts";
import { AccountName, toDocument } from "./accounts.ts";
import { parseRequest, queryText, sendDocument } from "./body.ts";
import { type Caller, callerOf, demandOperator, getAccount, getWorkflow } from "./caller.ts";

/** Null: as everybody. 0 a minute: no limit. */
const PerMinute = z.number().int().min(0).max(1_000_000).nullable();
const Rates = z.strictObject({
  account: AccountName.optional(),
  perMinute: PerMinute,
  burst: z.number().int().min(1).max(1_000_000).nullable(),
  accountPerMinute: PerMinute,
});
const AS_EVERYBODY: AgreedRates = { perMinute: null, burst: null, accountPerMinute: null };

/** The rate limits of accounts. Looking is for everybody on their own account, agreeing is the operator's. */
export function createRateRoutes({ db, rateLimits }: { db: Db; rateLimits: RateLimits }): Router {
  const router = Router();

  router.get("/rates", async (request, response) => {
    const caller = callerOf(response);
    const workflow = queryText(request, "workflow");
    const { account, workflowId } = await findSubject(caller, queryText(request, "account"), workflow);
    const { agreed, accountBusySeconds, keyBusySeconds } = await findAccountRates(db, {
      accountId: account.id,
      workflowId,
    });
    const limits = agreedLimits(rateLimits, agreed);
    sendDocument(response, {
      ...toDocument(account),
      ...(workflowId === null ? {} : { workflowId }),
      agreed: agreed ?? AS_EVERYBODY,
      // Each workflow's key has a bucket of its own, so that there is none to show without a workflow.
      key: limits.key && (workflowId === null ? limits.key : toState(limits.key, keyBusySeconds)),
      account: limits.account && toState(limits.account, accountBusySeconds),
    });
  });

  router.put("/rates", async (request, response) => {
    const caller = callerOf(response);
    demandOperator(caller);
    const { account: name, ...agreed } = parseRequest(Rates, request.body);
    const account = await getAccount(db, caller, name);
    await putAccountRates(db, account.id, agreed);
    sendDocument(response, { ...toDocument(account), ...agreed });
  });

  async function findSubject(
    caller: Caller,
    name: string | undefined,
    workflow: string | undefined,
  ): Promise<{ account: Account; workflowId: WorkflowId | null }> {
    if (workflow === undefined) return { account: await getAccount(db, caller, name), workflowId: null };
    if (name !== undefined)
      throw new ApiError("invalid_request", "Name an account or a workflow: a workflow has an account already.");
    const { id, accountId } = await getWorkflow(db, caller, workflow);
    const account = (await listAccounts(db)).find((candidate) => candidate.id === accountId);
    if (account === undefined) throw new Error(`${id} has no account.`);
    return { account, workflowId: id };
  }

  return router;
}

function toState(limit: Rate, busySeconds: number | null) {
  const { rate, remaining, fullAfterSeconds }: BucketState = toBucketState(limit, busySeconds);
  return { ...rate, remaining, fullAfterSeconds: Math.ceil(fullAfterSeconds) };
}
