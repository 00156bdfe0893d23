import { beforeAll, expect, test } from "@jest/globals";
import { queryRows, sqlState } from "../../../db/connect.ts";
import { findMoneyFaults } from "../../../db/ledger/audit.ts";
import { release, reserve, settle } from "../../../db/ledger/credits.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { aFileDatabase } from "../../support/file-database.ts";
import { ATTACKS, REFUSED } from "./attacks.ts";
import { aBill, aFault, anAccountWith } from "./given.ts";

const { db } = await aFileDatabase();
/** What attacks may name: an account with 2,900 of which 1,000 are reserved, its executions, and another account. */
let names: Record<string, string>;

beforeAll(async () => {
  const { accountId, ids } = await anAccountWith(db, { credits: 3_000n, charges: [1_000n, 1_000n, 1_000n, 1_000n] });
  const [open, settled, released, fresh] = ids as [ExecutionId, ExecutionId, ExecutionId, ExecutionId];
  for (const id of [open, settled, released]) await reserve(db, id);
  await settle(db, aBill(settled, 100n));
  await release(db, aFault(released));
  const other = await anAccountWith(db, { credits: 5_000n, charges: [] });
  names = { account: accountId, open, settled, released, fresh, other: other.accountId };
});

/** Runs statements in a transaction that never lasts, everything that waits for its end included. Answers the SQLSTATE of a refusal. */
async function attempt(statements: string): Promise<string | undefined> {
  const transaction = await db.transaction();
  try {
    for (const statement of statements.split("; ")) {
      const used = [...statement.matchAll(/:([a-z]+)/g)].map(([, name = ""]) => [name, names[name]]);
      await transaction.raw(statement, Object.fromEntries(used));
    }
    await transaction.raw("set constraints all immediate");
    return undefined;
  } catch (error) {
    return sqlState(error);
  } finally {
    await transaction.rollback();
  }
}

test.each(ATTACKS)("money, when %s, is refused by the database", async (_what, attack, state, guard) => {
  expect(await attempt(attack)).toBe(state);
  // And by nothing else than the guard it is there for.
  expect(await attempt(`${guard}; ${attack}`)).toBeUndefined();
});

test("money, after all attacks, is as it was", async () => {
  const [row] = await queryRows(db, "select balance, reserved from accounts where id = :account", names);
  expect(row).toEqual({ balance: 2_900n, reserved: 1_000n });
  expect(await findMoneyFaults(db)).toEqual([]);
});

test("a balance, set by a session that claims to be the ledger, is refused", async () => {
  const claim = "select set_config('treadle.ledger', 'on', true)";
  expect(await attempt(`${claim}; update accounts set balance = 7 where id = :account`)).toBe(REFUSED);
});

test("refusals, when their execution is deleted, are gone with it", async () => {
  const { ids } = await anAccountWith(db, { credits: 1n, charges: [1_000n] });
  const id = ids[0] as ExecutionId;
  await reserve(db, id);
  expect(await queryRows(db, "select from refusals where execution_id = :id", { id })).toHaveLength(1);
  await release(db, aFault(id));
  await queryRows(db, "delete from executions where id = :id", { id });
  expect(await queryRows(db, "select from refusals where execution_id = :id", { id })).toEqual([]);
});

test.each([
  [
    "balance",
    "alter table accounts disable trigger accounts_guard_amounts; update accounts set balance = balance + 5 where id = :account",
  ],
  [
    "reserved",
    "alter table accounts disable trigger accounts_guard_amounts; update accounts set reserved = reserved + 5 where id = :account",
  ],
  ["reservation", "update executions set state = 'cancelled', finished_at = now() where id = :open"],
  ["settlement", "update executions set charge_total = charge_total + 5 where id = :settled"],
  [
    "days",
    "insert into execution_days (workflow_id, day, executions, spent) select id, current_date, 1, 5 from workflows where account_id = :account",
  ],
  ["days", "delete from executions where id = :settled"],
])("findMoneyFaults, when %s is wrong by “%s”, says which", async (what, damage) => {
  const transaction = await db.transaction();
  for (const statement of damage.split("; ")) {
    const name = /:([a-z]+)/.exec(statement)?.[1];
    await transaction.raw(statement, name === undefined ? {} : { [name]: names[name] as string });
  }
  const faults = await findMoneyFaults(transaction);
  expect(faults).toEqual([
    {
      accountId: names.account,
      what: expect.stringMatching(`^${what}`),
      due: expect.any(BigInt),
      actual: expect.any(BigInt),
    },
  ]);
  expect(faults[0]?.due).not.toBe(faults[0]?.actual);
  await transaction.rollback();
});
