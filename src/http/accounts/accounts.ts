import type { Request, RequestHandler } from "express";
import { type Account, createAccount } from "../../../db/accounts/accounts.ts";
import type { Db } from "../../../db/connect.ts";
import { adjust, findBalance, grant } from "../../../db/ledger/credits.ts";
import { AccountList, Balance, LedgerChange, NewAccount, Account as NewlyMade } from "../../../domain/api/accounts.ts";
import { MICRO_PER_CREDIT, type MicroCredits, parseCredits, toCredits } from "../../../domain/credits.ts";
import { createAccountId } from "../../ids.ts";
import { readBody, refuseField, sendAnswer } from "../answers/body.ts";
import { authorizeInstallation, authorizeOperator, listVisibleAccounts } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";

/** Exact as a JSON number: beyond this a micro-credit could be lost on the way. */
const CREDITS_MAX = 1_000_000_000n * MICRO_PER_CREDIT;

/** `GET /accounts`: all of them for the operator, their own for members. */
export function createAccountsRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const visible = await listVisibleAccounts(db, request);
    const accounts = await Promise.all(visible.map(async ({ id, name }) => describe(db, { id, name })));
    sendAnswer(response, AccountList, { accounts });
  };
}

/** `POST /accounts`: makes an account, with credits where some are given. */
export function createNewAccountRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    await authorizeInstallation(db, request);
    const { name, credits: text = "0" } = await readBody(request, NewAccount);
    const credits = readAmount(text);
    if (credits < 0n) throw refuseField("credits", "must be 0 or more in a new account.");
    const account = { id: createAccountId(), name };
    // One transaction: an account that was to have credits never stands there without them.
    const created = await db.transaction(async (tx) => {
      const outcome = await createAccount(tx, account);
      if (outcome.kind === "created" && credits > 0n)
        await grant(tx, { accountId: account.id, amount: credits, reason: "account created" });
      return outcome;
    });
    if (created.kind === "name_taken")
      throw new ApiError("conflict", `The name is taken: there is already an account ${JSON.stringify(name)}.`);
    sendAnswer(response, NewlyMade, await describe(db, account), 201);
  };
}

/** `POST /account/grants`: adds credits. */
export function createGrantRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { account, credits, reason } = await readChange(db, request);
    if (credits <= 0n)
      throw refuseField("credits", 'must be more than 0 in a grant. "credits adjust" takes credits away.');
    await grant(db, { accountId: account.id, amount: credits, reason });
    sendAnswer(response, Balance, await balanceOf(db, account));
  };
}

/** `POST /account/adjustments`: corrects the balance, up or down, but never below what is reserved. */
export function createAdjustmentRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { account, credits, reason } = await readChange(db, request);
    const adjusted = await adjust(db, { accountId: account.id, amount: credits, reason });
    if (adjusted.kind === "below_reserved") {
      throw new ApiError(
        "conflict",
        "The balance would be less than what executions under way have reserved. Take away less, or wait for their end.",
      );
    }
    sendAnswer(response, Balance, await balanceOf(db, account));
  };
}

async function readChange(db: Db, request: Request) {
  const account = await authorizeOperator(db, request);
  const { credits, reason } = await readBody(request, LedgerChange);
  return { account, credits: readAmount(credits), reason };
}

function readAmount(text: string): MicroCredits {
  const amount = parseCredits(text);
  if (amount !== undefined && amount <= CREDITS_MAX && amount >= -CREDITS_MAX) return amount;
  throw refuseField("credits", "must be a number of credits with at most 6 decimals, at most a billion");
}

async function describe(db: Db, account: Pick<Account, "id" | "name">) {
  return { accountId: account.id, name: account.name, ...(await balanceOf(db, account)) };
}

async function balanceOf(db: Db, { id }: Pick<Account, "id">) {
  const found = await findBalance(db, id);
  if (found === undefined) throw new Error(`${id} has no balance.`);
  return {
    balance: toCredits(found.balance),
    reserved: toCredits(found.reserved),
    available: toCredits(found.available),
  };
}
