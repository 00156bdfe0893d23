import { Router } from "express";
import { z } from "zod";
import { type Account, createAccount, listAccounts } from "../../../db/accounts.ts";
import type { Db } from "../../../db/connect.ts";
import { adjust, findBalance, grant } from "../../../db/credits.ts";
import { MICRO_PER_CREDIT, type MicroCredits, parseCredits, toCredits } from "../../../domain/credits.ts";
import { createAccountId } from "../../ids.ts";
import { ApiError } from "../errors.ts";
import { parseRequest, queryText, StorableText, sendDocument } from "./body.ts";
import { callerOf, demandOperator, getAccount } from "./caller.ts";

/** Exact as a JSON number: beyond this a micro-credit could be lost on the way. */
const CREDITS_MAX = 1_000_000_000n * MICRO_PER_CREDIT;

/** Credits as the command line sends them, text: no float in between. */
const Amount = z.string().transform((text, context): MicroCredits => {
  const amount = parseCredits(text);
  if (amount !== undefined && amount <= CREDITS_MAX && amount >= -CREDITS_MAX) return amount;
  context.addIssue("must be a number of credits with at most 6 decimals, at most a billion");
  return z.NEVER;
});
export const AccountName = StorableText.trim().min(1).max(200);
const NewAccount = z.strictObject({ name: AccountName, credits: Amount.optional() });
const Entry = z.strictObject({
  credits: Amount,
  reason: StorableText.max(1_000).default(""),
  account: AccountName.optional(),
});

/** Accounts and their credits. Looking is for everybody on their own account, changing is the operator's. */
export function createAccountRoutes(deps: { db: Db }): Router {
  const { db } = deps;
  const router = Router();

  router.get("/accounts", async (_request, response) => {
    const { accountId } = callerOf(response);
    const visible = (await listAccounts(db)).filter((account) => accountId === null || account.id === accountId);
    const accounts = await Promise.all(
      visible.map(async (account) => ({ ...toDocument(account), ...(await balanceOf(db, account)) })),
    );
    sendDocument(response, { accounts });
  });

  router.post("/accounts", async (request, response) => {
    demandOperator(callerOf(response));
    const input = parseRequest(NewAccount, request.body);
    const credits = input.credits ?? (0n as MicroCredits);
    if (credits < 0n) throw new ApiError("invalid_request", "A new account cannot begin with less than 0 credits.");
    const account = { id: createAccountId(), name: input.name };
    // One transaction: an account that was to have credits never stands there without them.
    const created = await db.transaction(async (tx) => {
      const outcome = await createAccount(tx, account);
      if (outcome.kind === "created" && credits > 0n)
        await grant(tx, { accountId: account.id, amount: credits, reason: "account created" });
      return outcome;
    });
    if (created.kind === "name_taken")
      throw new ApiError("conflict", `There is already an account ${JSON.stringify(input.name)}.`);
    sendDocument(response, { ...toDocument(account), ...(await balanceOf(db, account)) }, 201);
  });

  router.get("/credits", async (request, response) => {
    const account = await getAccount(db, callerOf(response), queryText(request, "account"));
    sendDocument(response, await balanceOf(db, account));
  });

  router.post("/credits/grants", async (request, response) => {
    const { account, credits, reason } = await readEntry(request.body, response);
    if (credits <= 0n)
      throw new ApiError("invalid_request", 'A grant is more than 0 credits. "credits adjust" takes credits away.');
    await grant(db, { accountId: account.id, amount: credits, reason });
    sendDocument(response, await balanceOf(db, account));
  });

  router.post("/credits/adjustments", async (request, response) => {
    const { account, credits, reason } = await readEntry(request.body, response);
    const adjusted = await adjust(db, { accountId: account.id, amount: credits, reason });
    if (adjusted.kind === "below_reserved") {
      throw new ApiError(
        "conflict",
        "That would leave less than is reserved by executions under way. Take away less, or wait for them.",
      );
    }
    sendDocument(response, await balanceOf(db, account));
  });

  async function readEntry(body: unknown, response: Parameters<typeof callerOf>[0]) {
    const caller = callerOf(response);
    demandOperator(caller);
    const entry = parseRequest(Entry, body);
    return { account: await getAccount(db, caller, entry.account), credits: entry.credits, reason: entry.reason };
  }

  return router;
}

export function toDocument(account: Account) {
  return { accountId: account.id, name: account.name };
}

async function balanceOf(db: Db, account: Account) {
  const found = await findBalance(db, account.id);
  if (found === undefined) throw new Error(`${account.id} has no balance.`);
  return {
    balance: toCredits(found.balance),
    reserved: toCredits(found.reserved),
    available: toCredits(found.available),
  };
}
