import type { RequestHandler } from "express";
import { z } from "zod";
import { getAccountName } from "../../../db/accounts/accounts.ts";
import { getKeptBytes, keptBytesMax } from "../../../db/executions/kept-bytes.ts";
import { findBalance } from "../../../db/ledger/credits.ts";
import { type DaySpend, type LedgerEntry, listLedger, listSpend } from "../../../db/ledger/spend.ts";
import { LEDGER_CURSOR, LedgerPage, ShownAccount, Spend } from "../../../domain/api/accounts.ts";
import { LEDGER_PAGE_MAX, SPEND_DAYS_MAX } from "../../../domain/api/limits.ts";
import { type MicroCredits, toCredits } from "../../../domain/credits.ts";
import type { AccountId } from "../../../domain/ids.ts";
import { parseRequest, sendAnswer } from "../answers/body.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";

/** Of more, those that cost least are left out: nobody could tell them apart in a chart. */
export const SPEND_WORKFLOWS_MAX = 200;
const DAY_MS = 86_400_000;

const Page = z.object({
  limit: z.coerce.number().int().min(1).max(LEDGER_PAGE_MAX).default(50),
  cursor: z.string().regex(LEDGER_CURSOR, "must be nextCursor of the page before").optional(),
});
const Days = z.object({ days: z.coerce.number().int().min(1).max(SPEND_DAYS_MAX).default(30) });

/** `GET /account`: the account, its credits and what it keeps in storage. */
export function createAccountRoute(deps: AccountDeps): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(deps.db, request, "read");
    sendAnswer(response, ShownAccount, await describeAccount(deps, accountId));
  };
}

type AccountDeps = Pick<AppDeps, "db" | "contact" | "keptBytesMax">;

/** Returns an account with its credits and how many bytes it stores and may store. */
export async function describeAccount({ db, contact, keptBytesMax: everybodysMax }: AccountDeps, accountId: AccountId) {
  const [name, found, kept] = await Promise.all([
    getAccountName(db, accountId),
    findBalance(db, accountId),
    getKeptBytes(db, accountId),
  ]);
  if (found === undefined) throw new Error(`${accountId} has no balance.`);
  const bytesMax = keptBytesMax(kept, everybodysMax) ?? null;
  return {
    accountId,
    name,
    contact: contact ?? null,
    balance: toCredits(found.balance),
    reserved: toCredits(found.reserved),
    available: toCredits(found.available),
    storage: { bytes: kept.bytes, bytesMax, agreedMax: kept.agreedMax },
  };
}

/** What moved the balance, the newest first. */
export function createLedgerRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "read");
    const { limit, cursor } = parseRequest(Page, request.query);
    const before = cursor === undefined ? null : BigInt(cursor);
    // One more than shown: it tells whether there is another page.
    const found = await listLedger(db, { accountId, limit: limit + 1, before });
    const shown = found.slice(0, limit);
    const nextCursor = found.length > limit ? String(shown.at(-1)?.id) : null;
    sendAnswer(response, LedgerPage, { entries: shown.map(toEntry), nextCursor });
  };
}

function toEntry({ id, amount, ...entry }: LedgerEntry) {
  return { id: String(id), ...entry, amount: toCredits(amount) };
}

/** What each workflow cost on each of the last UTC days, today included. */
export function createSpendRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "read");
    const { days: count } = parseRequest(Days, request.query);
    const to = new Date((Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS);
    const from = new Date(to.getTime() - count * DAY_MS);
    const days = Array.from({ length: count }, (_, index) =>
      new Date(from.getTime() + index * DAY_MS).toISOString().slice(0, 10),
    );
    const spent = await listSpend(db, { accountId, from, to, most: SPEND_WORKFLOWS_MAX });
    sendAnswer(response, Spend, { days, workflows: toSpend(days, spent) });
  };
}

/** Added up in micro-credits: floats would not add up to the ledger. */
function toSpend(days: readonly string[], spent: readonly DaySpend[]) {
  const workflows = new Map<string, { name: string; perDay: bigint[] }>();
  for (const { workflowId, name, day, amount } of spent) {
    const workflow = workflows.get(workflowId) ?? { name, perDay: days.map(() => 0n) };
    workflow.perDay[days.indexOf(day)] = amount;
    workflows.set(workflowId, workflow);
  }
  return [...workflows].map(([workflowId, { name, perDay }]) => ({
    workflowId,
    name,
    perDay: perDay.map((amount) => toCredits(amount as MicroCredits)),
    total: toCredits(perDay.reduce((sum, amount) => sum + amount, 0n) as MicroCredits),
  }));
}
