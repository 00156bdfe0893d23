import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { findMoneyFaults } from "../../../db/ledger/audit.ts";
import { adjust, findBalance, findRefusal, type ReserveOutcome, reserveAll } from "../../../db/ledger/credits.ts";
import { createLedger } from "../../../db/ledger/ledger.ts";
import { microCredits } from "../../../domain/credits.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { createExecutionId } from "../../../src/ids.ts";
import { aFileDatabase } from "../../support/file-database.ts";
import { aBill, aFault, anAccountWith, findWaiting, holdAccount } from "./given.ts";

const database = await aFileDatabase();
const { db } = database;

afterEach(expectExactMoney);

async function expectExactMoney(): Promise<void> {
  expect(await findMoneyFaults(db)).toEqual([]);
}

/** How often a function of the database is called while `act` goes on. */
async function countCalls(name: string, act: () => Promise<unknown>): Promise<number> {
  let calls = 0;
  const count = ({ sql }: { sql: string }): void => void (calls += sql.includes(`${name}(`) ? 1 : 0);
  db.on("query", count);
  await act();
  db.removeListener("query", count);
  return calls;
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

test("reserve, by 100 callers at once on one account, is one statement", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 100_000n, charges: range(100).map(() => 1_000n) });
  const ledger = createLedger(db);
  const calls = await countCalls("reserve_credits", () =>
    Promise.all(ids.map((executionId) => ledger.reserve({ executionId, accountId }))),
  );
  expect(calls).toBe(1);
  expect(await findBalance(db, accountId)).toEqual({ balance: 100_000n, reserved: 100_000n, available: 0n });
});

test("reserve, by callers that come while a statement waits for the account, is one more statement for all of them", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 100_000n, charges: range(40).map(() => 1_000n) });
  const ledger = createLedger(db);
  const free = await holdAccount(db, accountId);
  const calls = await countCalls("reserve_credits", async () => {
    const first = ledger.reserve({ executionId: ids[0] as ExecutionId, accountId });
    await findWaiting(db, "reserve_credits");
    const others = [];
    for (const executionId of ids.slice(1)) {
      others.push(ledger.reserve({ executionId, accountId }));
      await sleep(1);
    }
    await free();
    await Promise.all([first, ...others]);
  });
  expect(calls).toBe(2);
  expect((await findBalance(db, accountId))?.reserved).toBe(40_000n);
});

test("reserve, by 600 callers with credits for 350, grants those that came first", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 350_000n, charges: range(600).map(() => 1_000n) });
  const ledger = createLedger(db);
  const outcomes = await Promise.all(ids.map((executionId) => ledger.reserve({ executionId, accountId })));
  const granted = outcomes.flatMap(({ kind }, index) => (kind === "reserved" ? [index] : []));
  expect(granted).toEqual(range(350));
});

test("reserve, by callers that do not fit together, refuses only those that do not fit in their turn, and says what there was", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 1_000n, charges: [400n, 700n, 300n, 500n, 200n, 0n] });
  const ledger = createLedger(db);
  let outcomes: ReserveOutcome[] = [];
  const calls = await countCalls("reserve_credits", async () => {
    outcomes = await Promise.all(ids.map((executionId) => ledger.reserve({ executionId, accountId })));
  });
  expect(calls).toBe(1);
  expect(outcomes.map(({ kind }) => kind)).toEqual([
    "reserved",
    "insufficient_credits",
    "reserved",
    "insufficient_credits",
    "reserved",
    "reserved",
  ]);
  expect(await findBalance(db, accountId)).toEqual({ balance: 1_000n, reserved: 900n, available: 100n });
  expect(await findRefusal(db, ids[1] as ExecutionId)).toEqual({ needed: 700n, available: 600n });
  expect(await findRefusal(db, ids[3] as ExecutionId)).toEqual({ needed: 500n, available: 300n });
  expect(await findRefusal(db, ids[0] as ExecutionId)).toBeUndefined();
});

test("reserve, of one execution many times in a batch, after it, and beside others, holds once", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 2_500n, charges: [1_000n, 1_000n, 1_000n] });
  const [one, two, three] = ids as [ExecutionId, ExecutionId, ExecutionId];
  const ledger = createLedger(db);
  const asked = [one, one, two, one, two, three, one];
  const outcomes = await Promise.all(asked.map((executionId) => ledger.reserve({ executionId, accountId })));
  expect(outcomes.map(({ kind }) => kind)).toEqual(
    asked.map((id) => (id === three ? "insufficient_credits" : "reserved")),
  );
  expect((await ledger.reserve({ executionId: one, accountId })).kind).toBe("reserved");
  expect((await findBalance(db, accountId))?.reserved).toBe(2_000n);
});

test("reserve, of executions that were settled, released, never recorded and new, in one batch, answers each its own", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 5_000n, charges: [1_000n, 1_000n, 1_000n] });
  const [settled, released, fresh] = ids as [ExecutionId, ExecutionId, ExecutionId];
  const ledger = createLedger(db);
  await ledger.reserve({ executionId: settled, accountId });
  expect(await ledger.settle({ ...aBill(settled, 10n), accountId })).toBe(true);
  expect(await ledger.release({ ...aFault(released), accountId })).toBe(true);
  const outcomes = await Promise.all(
    [settled, released, createExecutionId(), fresh].map((executionId) => ledger.reserve({ executionId, accountId })),
  );
  expect(outcomes.map(({ kind }) => kind)).toEqual(["closed", "closed", "unknown_execution", "reserved"]);
  expect(await findBalance(db, accountId)).toEqual({ balance: 4_990n, reserved: 1_000n, available: 3_990n });
});

test("reserve, of an execution that has ended and whose closed reservation is no longer kept, holds nothing", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 5_000n, charges: [1_000n] });
  const executionId = ids[0] as ExecutionId;
  await createLedger(db).release({ ...aFault(executionId), accountId });
  await queryRows(db, "delete from reservations where execution_id = :executionId", { executionId });
  expect(await createLedger(db).reserve({ executionId, accountId })).toEqual({ kind: "closed" });
  expect((await findBalance(db, accountId))?.reserved).toBe(0n);
});

test("reserve, of executions of two accounts in one call, holds nothing of either", async () => {
  const rich = await anAccountWith(db, { credits: 2_000n, charges: [1_000n, 1_000n] });
  const poor = await anAccountWith(db, { credits: 1_000n, charges: [1_000n, 1_000n] });
  const both = [...rich.ids, ...poor.ids];
  for (const ids of [both, [...both].reverse(), [poor.ids[0] as ExecutionId, rich.ids[0] as ExecutionId]])
    await expect(reserveAll(db, ids)).rejects.toThrow("one account");
  for (const { accountId } of [rich, poor]) expect((await findBalance(db, accountId))?.reserved).toBe(0n);
});

test("reserve, by callers that name an account wrongly, counts each against its own", async () => {
  const rich = await anAccountWith(db, { credits: 2_000n, charges: [1_000n, 1_000n] });
  const poor = await anAccountWith(db, { credits: 1_000n, charges: [1_000n, 1_000n] });
  const ledger = createLedger(db);
  const asked = [rich.ids[0], poor.ids[0], rich.ids[1], poor.ids[1], createExecutionId()] as ExecutionId[];
  const outcomes = await Promise.all(
    asked.map((executionId) => ledger.reserve({ executionId, accountId: rich.accountId })),
  );
  const kinds = ["reserved", "reserved", "reserved", "insufficient_credits", "unknown_execution"];
  expect(outcomes.map(({ kind }) => kind)).toEqual(kinds);
});

test("reserve, repeated after a refusal and a grant, is granted", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 999n, charges: [1_000n] });
  const executionId = ids[0] as ExecutionId;
  const ledger = createLedger(db);
  expect((await ledger.reserve({ executionId, accountId })).kind).toBe("insufficient_credits");
  await queryRows(db, "insert into ledger_entries (account_id, kind, amount) values (:accountId, 'grant', 1)", {
    accountId,
  });
  expect((await ledger.reserve({ executionId, accountId })).kind).toBe("reserved");
});

test("settle, of many at once with repeats, is one statement and charges each the first of its bills", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 50_000n, charges: range(50).map(() => 1_000n) });
  const ledger = createLedger(db);
  await Promise.all(ids.map((executionId) => ledger.reserve({ executionId, accountId })));
  const bills = [...ids.map((id, index) => aBill(id, BigInt(index))), ...ids.map((id) => aBill(id, 999n))];
  let ended: boolean[] = [];
  const calls = await countCalls("settle_executions", async () => {
    ended = await Promise.all(bills.map((bill) => ledger.settle({ ...bill, accountId })));
  });
  expect(calls).toBe(1);
  expect(ended).toEqual([...ids.map(() => true), ...ids.map(() => false)]);
  expect(await findBalance(db, accountId)).toEqual({
    balance: 50_000n - 1_225n,
    reserved: 0n,
    available: 50_000n - 1_225n,
  });
});

test("settle, in a batch with a bill above what was reserved, refuses that one alone", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 3_000n, charges: [1_000n, 1_000n, 1_000n] });
  const ledger = createLedger(db);
  await Promise.all(ids.map((executionId) => ledger.reserve({ executionId, accountId })));
  const [one, two, three] = ids as [ExecutionId, ExecutionId, ExecutionId];
  const calls = [aBill(one, 100n), aBill(two, 1_001n), aBill(three, 300n)].map((bill) =>
    ledger.settle({ ...bill, accountId }).catch((error: { constraint?: string }) => error.constraint),
  );
  expect(await Promise.all(calls)).toEqual([true, "charged_at_most_reserved", true]);
  expect(await findBalance(db, accountId)).toEqual({ balance: 2_600n, reserved: 1_000n, available: 1_600n });
});

test("release, of many at once with repeats, frees each once, whether it held or not", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 50_000n, charges: range(20).map(() => 1_000n) });
  const ledger = createLedger(db);
  await Promise.all(ids.slice(0, 10).map((executionId) => ledger.reserve({ executionId, accountId })));
  const ended = await Promise.all([...ids, ...ids].map((id) => ledger.release({ ...aFault(id), accountId })));
  expect(ended).toEqual([...ids.map(() => true), ...ids.map(() => false)]);
  expect(await findBalance(db, accountId)).toEqual({ balance: 50_000n, reserved: 0n, available: 50_000n });
});

test("reserve, while another process takes the credits or reserves the same execution, reads what that left", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 2_500n, charges: [1_000n, 1_000n] });
  const [same, other] = ids as [ExecutionId, ExecutionId];
  const elsewhere = await db.transaction();
  await reserveAll(elsewhere, [same]);
  await adjust(elsewhere, { accountId, amount: microCredits(-501n), reason: "test" });
  const outcomes = Promise.all(
    [same, other].map((executionId) => createLedger(db).reserve({ executionId, accountId })),
  );
  await findWaiting(db, "reserve_credits");
  await elsewhere.commit();
  expect((await outcomes).map(({ kind }) => kind)).toEqual(["reserved", "insufficient_credits"]);
  expect(await findRefusal(db, other)).toEqual({ needed: 1_000n, available: 999n });
});

test("one account, held by another process, does not keep the callers of others waiting", async () => {
  const held = await anAccountWith(db, { credits: 1_000n, charges: [1_000n] });
  const other = await anAccountWith(db, { credits: 1_000n, charges: [1_000n] });
  const ledger = createLedger(db);
  const free = await holdAccount(db, held.accountId);
  const waiting = ledger.reserve({ executionId: held.ids[0] as ExecutionId, accountId: held.accountId });
  await findWaiting(db, "reserve_credits");
  const quick = await ledger.reserve({ executionId: other.ids[0] as ExecutionId, accountId: other.accountId });
  expect(quick.kind).toBe("reserved");
  await free();
  expect((await waiting).kind).toBe("reserved");
});

test("reserve, settle and release, in batches against each other from two processes, never wait for each other in a circle", async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 1_000_000n, charges: range(300).map(() => 1_000n) });
  const processes = [createLedger(db), createLedger(db)];
  const acts = ids.flatMap((executionId) =>
    processes.flatMap((ledger) => [
      () => ledger.reserve({ executionId, accountId }),
      () => ledger.settle({ ...aBill(executionId, 500n), accountId }),
      () => ledger.release({ ...aFault(executionId), accountId }),
    ]),
  );
  for (let start = 0; start < acts.length; start += 150) {
    const some = acts.slice(start, start + 150);
    // A deadlock would reject one of them.
    await Promise.all([...some, ...some.toReversed()].map((act) => act()));
  }
  expect((await findBalance(db, accountId))?.reserved).toBe(0n);
});
