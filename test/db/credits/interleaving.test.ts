import { expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { findMoneyFaults, type MoneyFault } from "../../../db/ledger/audit.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { aFileDatabase } from "../../support/file-database.ts";
import { anAccountWith } from "./given.ts";
import { type Answered, createRandom, performOperations, planOperations } from "./interleaving.ts";

/** `MONEY_SEED=123 npx jest test/db/credits/interleaving` carries out the operations of that seed again. */
const SEED = Number(process.env.MONEY_SEED ?? Math.floor(Math.random() * 2 ** 31));
const OPERATIONS = 1_000;
const CHARGE_MAX = 1_000;

const database = await aFileDatabase();
const { db } = database;

/** Three accounts that cannot pay for everything, with 40 executions each, in turn. */
async function listTargets() {
  const random = createRandom(SEED);
  const accounts: Awaited<ReturnType<typeof anAccountWith>>[] = [];
  for (let account = 0; account < 3; account++) {
    const charges = Array.from({ length: 40 }, () => BigInt(Math.floor(random() * CHARGE_MAX)));
    accounts.push(await anAccountWith(db, { credits: 1_500n, charges }));
  }
  await queryRows(
    db,
    `insert into attempts (execution_id, attempt, host_id, process_id, lease_until)
     select id, 1, 'host1', 'proc_a', now() + interval '1 h' from executions`,
  );
  return Array.from({ length: 40 }, (_, index) => index).flatMap((index) =>
    accounts.map(({ accountId, ids }) => ({ accountId, executionId: ids[index] as ExecutionId })),
  );
}

/** Looks again and again until told to stop, because what is wrong in the middle may be right at the end. */
function watchMoney(): () => Promise<MoneyFault[]> {
  const faults: MoneyFault[] = [];
  let isOver = false;
  const watching = (async () => {
    while (!isOver) faults.push(...(await findMoneyFaults(db)));
  })();
  return async () => {
    isOver = true;
    await watching;
    return faults;
  };
}

interface End {
  readonly id: ExecutionId;
  readonly state: string;
  readonly charged: bigint;
  readonly reservation: "open" | "settled" | "released" | null;
  readonly settlements: bigint[];
}

async function listEnds(): Promise<End[]> {
  return queryRows<End>(
    db,
    `select e.id, e.state, e.charge_total as charged, r.state as reservation,
            array(select amount from ledger_entries l where l.execution_id = e.id and l.kind = 'settlement') as settlements
       from executions e left join reservations r on r.execution_id = e.id`,
  );
}

/** What the record must say of an execution, by what its callers were told. */
function checkAnswers({ id, state, charged, reservation, settlements }: End, answered: readonly Answered[]): void {
  const told = answered.filter(({ operation }) => operation.target.executionId === id);
  const ended = told.filter(({ answer }) => answer === true).map(({ operation }) => operation);
  expect(ended.length).toBeLessThanOrEqual(1);
  const settled = ended.find(({ move }) => move === "settle");
  if (settled !== undefined) {
    expect({ state, charged, reservation }).toEqual({
      state: "success",
      charged: settled.amount,
      reservation: "settled",
    });
    expect(settlements.map(BigInt)).toEqual([-settled.amount]);
    return;
  }
  expect({ charged, settlements }).toEqual({ charged: 0n, settlements: [] });
  if (ended.length === 1) expect(state).toBe("failed");
  const granted = told.some(({ answer }) => answer === "reserved");
  if (reservation === "open") expect({ state, granted }).toEqual({ state: "queued", granted: true });
  if (reservation === null) expect({ state, granted }).toEqual({ state: "queued", granted: false });
}

test(`money, after ${OPERATIONS} operations of 32 clients of seed ${SEED}, is exact at every moment and for every caller`, async () => {
  const targets = await listTargets();
  const operations = planOperations(SEED, { count: OPERATIONS, targets, amountMax: CHARGE_MAX });
  const stopWatching = watchMoney();
  const answered = await performOperations(database, operations);
  expect(await stopWatching()).toEqual([]);

  expect(answered).toHaveLength(OPERATIONS);
  expect(await findMoneyFaults(db)).toEqual([]);
  const negative = "select id from accounts where balance < 0 or reserved < 0 or balance < reserved";
  expect(await queryRows(db, negative)).toEqual([]);
  for (const end of await listEnds()) checkAnswers(end, answered);
  // Operations that all came to nothing would prove nothing.
  const answers = new Set(answered.map(({ answer }) => answer));
  for (const answer of [
    "reserved",
    "insufficient_credits",
    "closed",
    true,
    false,
    "below_reserved",
    "adjusted",
    "too much",
    "held",
    "short",
    "lost",
  ])
    expect(answers).toContain(answer);
});
