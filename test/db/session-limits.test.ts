import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connect, type Db, queryRows, requireSessionLimits } from "../../db/connect.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";

let database: TestDatabase;
let pooled: Db;

beforeAll(async () => {
  database = await aDatabase();
  pooled = connect(database.address, { poolMax: 1, applicationName: "pooled", isPooled: true });
});

afterAll(async () => {
  await pooled?.destroy();
  await database?.drop();
});

test("sessions of a pool of our own have limits; through a pooler that sets none they are refused, with what sets them", async () => {
  await requireSessionLimits(database.db);
  await expect(requireSessionLimits(pooled)).rejects.toThrow(
    /set statement_timeout = 30000; set lock_timeout = \d+; set idle/,
  );
});

test("statements through a pooler, in a transaction and outside of one, are not prepared; those of a pool of our own are", async () => {
  const look = (db: Db) => queryRows<{ count: bigint }>(db, "select count(*) from pg_prepared_statements");
  for (const db of [pooled, database.db])
    for (let round = 0; round < 2; round += 1) {
      const inside = db.transaction(async (tx) => {
        await queryRows(tx, "select 1 as one");
        return look(tx);
      });
      const [found] = await inside;
      expect([db === pooled, (found?.count ?? 0n) > 0n]).toEqual([db === pooled, db !== pooled]);
    }
  expect((await look(pooled))[0]?.count).toBe(0n);
});
