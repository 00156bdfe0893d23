import { readdirSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { connect, type Db, queryRows } from "../../db/connect.ts";
import { findMoneyFaults } from "../../db/credits/audit.ts";
import { reserve, settle } from "../../db/credits.ts";
import { insertOutputs } from "../../db/executions.ts";
import { findKeptFaults, getKeptBytes } from "../../db/kept-bytes.ts";
import { listMigrations, migrate, migrateTo } from "../../db/migrate.ts";
import { microCredits } from "../../domain/credits.ts";
import { anExecution, aWorkflow } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";

const FILES = readdirSync(new URL("../../db/migrations/", import.meta.url)).map((name) => name.replace(/\.sql$/, ""));

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await aDatabase();
  db = database.db;
});

afterAll(async () => {
  await database?.drop();
});

async function emptyTheDatabase(): Promise<void> {
  await db.raw("drop schema public cascade");
  await db.raw("create schema public");
}

test("migrate, on a database that has everything, applies nothing", async () => {
  expect(await migrate(db)).toEqual([]);
  const applied = await queryRows<{ name: string }>(db, "select name from migrations order by name");
  expect(applied.map((row) => row.name)).toEqual([...FILES].sort());
});

test("migrate, by two processes on one empty database, applies each file once", async () => {
  await emptyTheDatabase();
  const other = connect(database.address, { poolMax: 4, applicationName: "other" });
  try {
    const applied = await Promise.all([migrate(db), migrate(other)]);
    expect(applied.flat().sort()).toEqual([...FILES].sort());
  } finally {
    await other.destroy();
  }
});

test("migrate, when a file fails, leaves nothing of it behind and says so", async () => {
  await emptyTheDatabase();
  await db.raw("create table accounts (id text)");
  await expect(migrate(db)).rejects.toThrow("accounts");
  expect(
    await queryRows(db, "select 1 from information_schema.tables where table_name = 'ledger_entries'"),
  ).toHaveLength(0);
});

test("migrate, by an older program on what a newer one has written, refuses and says so, and changes nothing", async () => {
  await emptyTheDatabase();
  await migrate(db);
  await queryRows(db, "insert into migrations (name, batch, migration_time) values ('9999_of_tomorrow', 99, now())");
  await expect(migrate(db)).rejects.toThrow(
    /written by a newer Treadle: it has 9999_of_tomorrow, .* Start the newer program\..* restore the backup/,
  );
  const applied = await queryRows<{ name: string }>(db, "select name from migrations order by name");
  expect(applied.map(({ name }) => name)).toEqual([...FILES, "9999_of_tomorrow"].sort());
  await queryRows(db, "delete from migrations where name = '9999_of_tomorrow'");
  expect(await migrate(db)).toEqual([]);
});

test("migrate, of a record from which executions were removed before they were counted by day, takes their charges as counted", async () => {
  await emptyTheDatabase();
  // All the others: what makes executions here is as new as they are.
  const others = listMigrations().filter((name) => !name.startsWith("0018"));
  await migrateTo(db, others);
  const workflow = await aWorkflow(db);
  for (const isKept of [false, true]) {
    const executionId = await anExecution(db, { workflow });
    await reserve(db, executionId);
    const amounts = { compute: microCredits(10_000n), total: microCredits(11_000n) };
    await settle(db, { executionId, status: "success", secondsUsed: 1, ...amounts });
    if (!isKept) await queryRows(db, "delete from executions where id = :executionId", { executionId });
  }
  await migrate(db);
  expect(await findMoneyFaults(db)).toEqual([]);
  expect(await queryRows(db, "select amount from uncounted_charges")).toEqual([{ amount: 11_000n }]);
});

test("migrate, of a record from before what accounts keep was counted, counts all of it", async () => {
  await emptyTheDatabase();
  await migrateTo(
    db,
    listMigrations().filter((name) => !name.startsWith("0023")),
  );
  const workflow = await aWorkflow(db);
  const file = { name: "f", fileName: "f.bin", contentType: "text/plain", sha256: "0".repeat(64) };
  for (const [files_removed_at, log_removed_at] of [
    [null, null],
    [new Date(), null],
    [null, new Date()],
  ]) {
    const executionId = await anExecution(db, { workflow, files: [{ ...file, storageKey: "k", bytes: 1_000 }] });
    await insertOutputs(db, {
      executionId,
      files: [1, 2].map((bytes) => ({
        ...file,
        name: `out${bytes}`,
        fileName: `${bytes}.bin`,
        storageKey: `${bytes}`,
        bytes,
      })),
      ...{ logKey: "log", logBytes: 10 },
    });
    await db("executions").where({ id: executionId }).update({ files_removed_at, log_removed_at });
  }
  await migrate(db);
  // Of the three executions two have their files and two their log; the workflow's commit is its own id.
  const bytes = 2 * 1_003 + 2 * 10 + 40;
  expect(await getKeptBytes(db, workflow.accountId)).toEqual({ bytes, agreedMax: null });
  expect(await findKeptFaults(db)).toEqual([]);
});
