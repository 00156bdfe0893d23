import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { queryRows, sqlState } from "../../db/connect.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { adjust, findBalance, grant, release, reserve, settle } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { anAccount, anExecution, aWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const { db } = await aFileDatabase();

const bill = (executionId: ExecutionId, total: bigint) =>
  ({
    executionId,
    status: "success",
    secondsUsed: 1,
    compute: microCredits(total),
    total: microCredits(total),
  }) as const;
const fault = (executionId: ExecutionId) =>
  ({ executionId, status: "failed", failure: "internal", message: "ours" }) as const;

async function executionsFor(
  credits: bigint,
  count: number,
  chargeMax: bigint,
): Promise<{ accountId: AccountId; ids: ExecutionId[] }> {
  const accountId = await anAccount(db, { microCredits: credits });
  const workflow = await aWorkflow(db, { accountId });
  const ids: ExecutionId[] = [];
  for (let index = 0; index < count; index += 1)
    ids.push(await anExecution(db, { workflow, chargeMax: microCredits(chargeMax) }));
  return { accountId, ids };
}

/** Balance = Σ ledger and reserved = Σ open reservations, read from the tables themselves. */
async function expectExact(accountId: AccountId): Promise<void> {
  const [row] = await queryRows<{ exact: boolean }>(
    db,
    `select a.balance = coalesce((select sum(amount) from ledger_entries where account_id = a.id), 0)
        and a.reserved = coalesce((select sum(amount) from reservations where account_id = a.id and state = 'open'), 0) as exact
       from accounts a where a.id = :accountId`,
    { accountId },
  );
  expect(row?.exact).toBe(true);
}

test("reserve, when 200 executions race for credits for 50, grants exactly 50", async () => {
  const { accountId, ids } = await executionsFor(50_000n, 200, 1_000n);
  const outcomes = await Promise.all(ids.map((id) => reserve(db, id)));
  expect(outcomes.filter((outcome) => outcome.kind === "reserved")).toHaveLength(50);
  expect(outcomes.filter((outcome) => outcome.kind === "insufficient_credits")).toHaveLength(150);
  expect(await findBalance(db, accountId)).toEqual({ balance: 50_000n, reserved: 50_000n, available: 0n });
  await expectExact(accountId);
});

test("reserve, called 50 times at once for one execution, holds once", async () => {
  const { accountId, ids } = await executionsFor(100_000n, 1, 1_000n);
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => reserve(db, ids[0] as ExecutionId)));
  expect(new Set(outcomes.map((outcome) => outcome.kind))).toEqual(new Set(["reserved"]));
  expect((await findBalance(db, accountId))?.reserved).toBe(1_000n);
});

test("settle, called twice, charges once and frees the rest", async () => {
  const { accountId, ids } = await executionsFor(10_000n, 1, 1_000n);
  const id = ids[0] as ExecutionId;
  await reserve(db, id);
  expect(await settle(db, bill(id, 300n))).toBe(true);
  expect(await settle(db, bill(id, 300n))).toBe(false);
  expect(await findBalance(db, accountId)).toEqual({ balance: 9_700n, reserved: 0n, available: 9_700n });
  expect(await findExecution(db, id)).toMatchObject({ state: "success", chargeTotal: 300n });
});

test("settle, of more than was reserved, is refused by the table and changes nothing", async () => {
  const { accountId, ids } = await executionsFor(10_000n, 1, 1_000n);
  const id = ids[0] as ExecutionId;
  await reserve(db, id);
  await expect(settle(db, bill(id, 1_001n))).rejects.toMatchObject({ constraint: "charged_at_most_reserved" });
  expect(await findBalance(db, accountId)).toEqual({ balance: 10_000n, reserved: 1_000n, available: 9_000n });
});

test("release, after a settlement, changes nothing", async () => {
  const { accountId, ids } = await executionsFor(10_000n, 1, 1_000n);
  const id = ids[0] as ExecutionId;
  await reserve(db, id);
  await settle(db, bill(id, 300n));
  expect(await release(db, fault(id))).toBe(false);
  expect((await findBalance(db, accountId))?.balance).toBe(9_700n);
  expect((await findExecution(db, id))?.state).toBe("success");
});

test("reserve, arriving after the release of its execution, finds it closed and holds nothing", async () => {
  const { accountId, ids } = await executionsFor(10_000n, 1, 1_000n);
  const id = ids[0] as ExecutionId;
  expect(await release(db, fault(id))).toBe(true);
  expect(await reserve(db, id)).toEqual({ kind: "closed" });
  expect((await findBalance(db, accountId))?.reserved).toBe(0n);
});

test("adjust, below what is reserved, is refused and leaves the ledger as it was", async () => {
  const { accountId, ids } = await executionsFor(1_000n, 1, 1_000n);
  await reserve(db, ids[0] as ExecutionId);
  expect(await adjust(db, { accountId, amount: microCredits(-1n), reason: "test" })).toEqual({
    kind: "below_reserved",
  });
  await expectExact(accountId);
});

test("ledger entries, when somebody updates or deletes them, refuse", async () => {
  const { accountId } = await executionsFor(1_000n, 0, 1n);
  for (const sql of ["update ledger_entries set amount = 5", "delete from ledger_entries"]) {
    const refused = await queryRows(db, sql).catch((error: unknown) => sqlState(error));
    expect(refused).toBe("23001");
  }
  await expectExact(accountId);
});

test("accounts.balance, when somebody sets it beside the ledger, refuses", async () => {
  const { accountId } = await executionsFor(1_000n, 0, 1n);
  const refused = await queryRows(db, "update accounts set balance = 7 where id = :accountId", { accountId }).catch(
    (error: unknown) => sqlState(error),
  );
  expect(refused).toBe("23001");
  expect((await findBalance(db, accountId))?.balance).toBe(1_000n);
});

test("money, in any interleaving of reserve, settle and release, stays exact and never negative", async () => {
  const operation = fc.record({
    target: fc.integer({ min: 0, max: 11 }),
    kind: fc.constantFrom("reserve", "settle", "release", "grant"),
    amount: fc.bigInt({ min: 0n, max: 1_000n }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 10, maxLength: 60 }), async (operations) => {
      const { accountId, ids } = await executionsFor(5_000n, 12, 1_000n);
      await Promise.all(
        operations.map(async ({ target, kind, amount }) => {
          const id = ids[target] as ExecutionId;
          if (kind === "reserve") await reserve(db, id);
          else if (kind === "settle") await settle(db, bill(id, amount));
          else if (kind === "release") await release(db, fault(id));
          else if (amount > 0n) await grant(db, { accountId, amount: microCredits(amount), reason: "test" });
        }),
      );
      await expectExact(accountId);
      const [row] = await queryRows<{ settlements: number; charged: number }>(
        db,
        `select (select count(*)::int from ledger_entries where account_id = :accountId and kind = 'settlement') as settlements,
                (select count(*)::int from reservations where account_id = :accountId and state = 'settled') as charged`,
        { accountId },
      );
      expect(row?.settlements).toBe(row?.charged);
    }),
    { numRuns: 15 },
  );
});
