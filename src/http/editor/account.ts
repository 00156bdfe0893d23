import type { RequestHandler } from "express";
import { z } from "zod";
import { getAccountName } from "../../../db/accounts.ts";
import { type DaySpend, type LedgerEntry, listLedger, listSpend } from "../../../db/credits/spend.ts";
import { findBalance } from "../../../db/credits.ts";
import { getKeptBytes, keptBytesMax } from "../../../db/kept-bytes.ts";
import { type MicroCredits, toCredits } from "../../../domain/credits.ts";
import type { AppDeps } from "../deps.ts";
import { parseRequest } from "../operator/body.ts";
import { authorizeEditor } from "./authorize.ts";

export const LEDGER_PAGE_MAX = 200;
export const SPEND_DAYS_MAX = 366;
/** Of more, those that cost least are left out: nobody could tell them apart in a chart. */
export const SPEND_WORKFLOWS_MAX = 200;
const DAY_MS = 86_400_000;
export const LEDGER_CURSOR = /^[1-9]\d{0,17}$/;

const Page = z.object({
  limit: z.coerce.number().int().min(1).max(LEDGER_PAGE_MAX).default(50),
  cursor: z.string().regex(LEDGER_CURSOR, "must be nextCursor of the page before").optional(),
});
const Days = z.object({ days: z.coerce.number().int().min(1).max(SPEND_DAYS_MAX).default(30) });

/** The account, its credits and what it keeps in storage. */
export function createAccountRoute(deps: Pick<AppDeps, "db" | "contact" | "keptBytesMax">): RequestHandler {
  const { db, contact } = deps;
  return async (request, response) => {
    const { accountId } = await authorizeEditor(db, request, "read");
    const [name, found, kept] = await Promise.all([
      getAccountName(db, accountId),
      findBalance(db, accountId),
      getKeptBytes(db, accountId),
    ]);
    if (found === undefined) throw new Error(`${accountId} has no balance.`);
    const [balance, reserved, available] = [found.balance, found.reserved, found.available].map(toCredits);
    const storage = { bytes: kept.bytes, bytesMax: keptBytesMax(kept, deps.keptBytesMax) ?? null };
    response.json({ accountId, name, balance, reserved, available, storage, contact: contact ?? null });
  };
}

/** What moved the balance, the newest first. */
export function createLedgerRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeEditor(db, request, "read");
    const { limit, cursor } = parseRequest(Page, request.query);
    const before = cursor === undefined ? null : BigInt(cursor);
    // One more than shown: it tells whether there is another page.
    const found = await listLedger(db, { accountId, limit: limit + 1, before });
    const shown = found.slice(0, limit);
    response.json({
      entries: shown.map(toEntry),
      nextCursor: found.length > limit ? String(shown.at(-1)?.id) : null,
    });
  };
}

function toEntry({ id, amount, ...entry }: LedgerEntry) {
  return { id: String(id), ...entry, amount: toCredits(amount) };
}

/** What each workflow cost on each of the last UTC days, today included. */
export function createSpendRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeEditor(db, request, "read");
    const { days: count } = parseRequest(Days, request.query);
    const to = new Date((Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS);
    const from = new Date(to.getTime() - count * DAY_MS);
    const days = Array.from({ length: count }, (_, index) =>
      new Date(from.getTime() + index * DAY_MS).toISOString().slice(0, 10),
    );
    const spent = await listSpend(db, { accountId, from, to, most: SPEND_WORKFLOWS_MAX });
    response.json({ days, workflows: toSpend(days, spent) });
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
