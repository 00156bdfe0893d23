import { afterEach, expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { findExecution } from "../../../db/executions/executions.ts";
import { findMoneyFaults } from "../../../db/ledger/audit.ts";
import { createBatches } from "../../../db/ledger/batches.ts";
import { findBalance, reserveAll } from "../../../db/ledger/credits.ts";
import { createLedger } from "../../../db/ledger/ledger.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { aFileDatabase } from "../../support/file-database.ts";
import { aBill, anAccountWith, findWaiting, holdAccount } from "./given.ts";

const { db } = await aFileDatabase();

afterEach(expectExactMoney);

async function expectExactMoney(): Promise<void> {
  expect(await findMoneyFaults(db)).toEqual([]);
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

test("reserve, when its session is killed in the middle of a batch, fails for all its callers, holds nothing, and can be repeated", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 10_000n, charges: range(10).map(() => 1_000n) });
  const ledger = createLedger(db);
  const free = await holdAccount(db, accountId);
  const calls = ids.map((executionId) =>
    ledger.reserve({ executionId, accountId }).catch((error: { code?: string }) => error.code),
  );
  for (const pid of await findWaiting(db, "reserve_credits"))
    await queryRows(db, "select pg_terminate_backend(:pid)", { pid });
  expect(new Set(await Promise.all(calls))).toEqual(new Set(["57P01"]));
  await free();
  expect((await findBalance(db, accountId))?.reserved).toBe(0n);
  expect(await queryRows(db, "select from reservations where account_id = :accountId", { accountId })).toEqual([]);

  const again = await Promise.all(ids.map((executionId) => ledger.reserve({ executionId, accountId })));
  expect(again.every(({ kind }) => kind === "reserved")).toBe(true);
  expect((await findBalance(db, accountId))?.reserved).toBe(10_000n);
});

test("settle, when its session is killed in the middle of a batch, ends nothing, and can be repeated", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 5_000n, charges: range(5).map(() => 1_000n) });
  const ledger = createLedger(db);
  await Promise.all(ids.map((executionId) => ledger.reserve({ executionId, accountId })));
  // The last of them is held, so that the others have been written when the session dies.
  const holder = await db.transaction();
  await holder.raw("select from executions where id = ? for update", [ids.at(-1) as string]);
  const bills = ids.map((id) => ({ ...aBill(id, 100n), accountId }));
  const calls = bills.map((bill) => ledger.settle(bill).catch((error: { code?: string }) => error.code));
  for (const pid of await findWaiting(db, "settle_executions"))
    await queryRows(db, "select pg_terminate_backend(:pid)", { pid });
  expect(new Set(await Promise.all(calls))).toEqual(new Set(["57P01"]));
  await holder.commit();
  expect(await findBalance(db, accountId)).toEqual({ balance: 5_000n, reserved: 5_000n, available: 0n });
  expect((await findExecution(db, ids[0] as ExecutionId))?.state).toBe("queued");

  expect(await Promise.all(bills.map((bill) => ledger.settle(bill)))).toEqual(bills.map(() => true));
  expect(await findBalance(db, accountId)).toEqual({ balance: 4_500n, reserved: 0n, available: 4_500n });
});

test("reserve, repeated after the answer of a batch was lost on its way, finds what was held", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 2_000n, charges: [1_000n, 1_000n] });
  const losing = createBatches({
    send: async (asked: readonly ExecutionId[]) => {
      await reserveAll(db, asked);
      throw new Error("The connection was lost.");
    },
    batchMax: 10,
    isOfOneItem: () => false,
  });
  const lost = await Promise.allSettled(ids.map((id) => losing(accountId, id)));
  expect(lost.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const ledger = createLedger(db);
  const again = await Promise.all(ids.map((executionId) => ledger.reserve({ executionId, accountId })));
  expect(again.map(({ kind }) => kind)).toEqual(["reserved", "reserved"]);
  expect((await findBalance(db, accountId))?.reserved).toBe(2_000n);
});

test("reserve, given up by its caller while another process holds the account, never happens; the others do", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 3_000n, charges: [1_000n, 1_000n, 1_000n] });
  const [under, queued, other] = ids as [ExecutionId, ExecutionId, ExecutionId];
  const ledger = createLedger(db);
  const free = await holdAccount(db, accountId);
  const first = ledger.reserve({ executionId: under, accountId });
  await findWaiting(db, "reserve_credits");
  const controller = new AbortController();
  const givenUp = ledger.reserve({ executionId: queued, accountId }, controller.signal);
  const last = ledger.reserve({ executionId: other, accountId });
  controller.abort(new Error("gave up"));
  await expect(givenUp).rejects.toThrow("gave up");
  await free();
  expect([(await first).kind, (await last).kind]).toEqual(["reserved", "reserved"]);
  expect((await findBalance(db, accountId))?.reserved).toBe(2_000n);
});
