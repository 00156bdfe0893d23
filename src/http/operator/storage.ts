import { Router } from "express";
import { z } from "zod";
import type { Account } from "../../../db/accounts.ts";
import type { Db } from "../../../db/connect.ts";
import { getKeptBytes, keptBytesMax, putKeptBytesMax } from "../../../db/kept-bytes.ts";
import { AccountName, toDocument } from "./accounts.ts";
import { parseRequest, queryText, sendDocument } from "./body.ts";
import { callerOf, demandOperator, getAccount } from "./caller.ts";

/** Null: as everybody. 0: no bound. */
const Agreement = z.strictObject({
  account: AccountName.optional(),
  bytesMax: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).nullable(),
});

/** What accounts keep in storage. Looking is for everybody on their own account, agreeing is the operator's. */
export function createStorageRoutes({ db, keptBytesMax: everybodysMax }: { db: Db; keptBytesMax: number }): Router {
  const router = Router();

  async function describe(account: Account) {
    const kept = await getKeptBytes(db, account.id);
    const bytesMax = keptBytesMax(kept, everybodysMax) ?? null;
    return { ...toDocument(account), bytes: kept.bytes, bytesMax, agreedMax: kept.agreedMax };
  }

  router.get("/storage", async (request, response) => {
    const account = await getAccount(db, callerOf(response), queryText(request, "account"));
    sendDocument(response, await describe(account));
  });

  router.put("/storage", async (request, response) => {
    const caller = callerOf(response);
    demandOperator(caller);
    const { account: name, bytesMax } = parseRequest(Agreement, request.body);
    const account = await getAccount(db, caller, name);
    await putKeptBytesMax(db, account.id, bytesMax);
    sendDocument(response, await describe(account));
  });

  return router;
}
