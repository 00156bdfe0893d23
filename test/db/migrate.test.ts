import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { connect, queryRows } from "../../db/connect.ts";
import { listApplied, migrate } from "../../db/migrate.ts";
import { listSchedules } from "../../db/schedules/schedules.ts";
import { insertTicks, listTicks } from "../../db/schedules/ticks.ts";
import { listDeclaredSchedules } from "../../domain/schedules/names.ts";
import { publishSchedules } from "../../src/publish/published-schedule.ts";
import { aFileDatabase } from "../support/file-database.ts";
import { FIRST_MIGRATIONS, UNDO_LATER_MIGRATIONS } from "../support/first-release.ts";
import { aSchedule, aScheduledWorkflow } from "../support/schedules.ts";
import { describeSchema } from "../support/schema.ts";

const FILES = readdirSync(new URL("../../db/migrations/", import.meta.url))
  .map((name) => name.replace(/\.sql$/, ""))
  .sort();
const SCHEMA = new URL("../../db/schema.sql", import.meta.url);

const database = await aFileDatabase();
const { db } = database;

async function emptyTheDatabase(): Promise<void> {
  await db.raw("drop schema public cascade");
  await db.raw("create schema public");
}

test("migrate, on a database that has everything, applies nothing", async () => {
  expect(await migrate(db)).toEqual([]);
  const applied = await queryRows<{ name: string }>(db, "select name from migrations order by name");
  expect(applied.map((row) => row.name)).toEqual(FILES);
});

test("migrate, by two processes on one empty database, applies each file once", async () => {
  await emptyTheDatabase();
  const other = connect(database.address, { poolMax: 4, applicationName: "other" });
  try {
    const applied = await Promise.all([migrate(db), migrate(other)]);
    expect(applied.flat().sort()).toEqual(FILES);
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
    /does not know: 9999_of_tomorrow\. A newer .* Start that program\..* restore the backup/,
  );
  const [missing] = FILES.slice(-1);
  await queryRows(db, "delete from migrations where name = :missing", { missing });
  await expect(migrate(db)).rejects.toThrow(
    `does not know: 9999_of_tomorrow. It lacks ${missing}, which this program has.`,
  );
  await queryRows(db, "insert into migrations (name, batch, migration_time) values (:missing, 1, now())", { missing });
  const applied = await queryRows<{ name: string }>(db, "select name from migrations order by name");
  expect(applied.map(({ name }) => name)).toEqual([...FILES, "9999_of_tomorrow"].sort());
  await queryRows(db, "delete from migrations where name = '9999_of_tomorrow'");
  expect(await migrate(db)).toEqual([]);
});

test("migrate, on what the files of before the first release made, records today's names and applies what came after them", async () => {
  await emptyTheDatabase();
  await migrate(db);
  await db.raw(UNDO_LATER_MIGRATIONS);
  const names = (last: string) => [...Array.from({ length: 30 }, (_, at) => `00${at + 1}_of_before`), last];
  const putNames = (last: string) =>
    db.transaction(async (tx) => {
      await tx("migrations").delete();
      await tx("migrations").insert(
        ["0001_accounts_and_ledger", ...names(last)].map((name) => ({ name, batch: 1, migration_time: new Date() })),
      );
    });
  await putNames("0030_hosts");
  await expect(migrate(db)).rejects.toThrow(
    /before 0\.1\.0, up to .* Start the last program before 0\.1\.0 on it once/,
  );
  await putNames("0031_logs_of_attempts");
  expect(await listApplied(db)).toEqual(FILES.slice(0, FIRST_MIGRATIONS));
  expect(await migrate(db)).toEqual(FILES.slice(FIRST_MIGRATIONS));
  expect((await db("migrations").orderBy("id")).map(({ name }) => name)).toEqual(FILES);
});

test("migrate, on a schedule of before there were names, keeps it and its ticks, and declares nothing anew", async () => {
  await emptyTheDatabase();
  await migrate(db);
  const since = new Date("2026-05-04T08:30:00Z");
  const nominalAt = new Date("2026-05-04T09:00:00Z");
  const { workflowId, manifest } = await aScheduledWorkflow(db, { since });
  const tick = { workflowId, nominalAt, outcome: "missed", reason: "old", source: "clock", executionId: null } as const;
  await insertTicks(db, [{ ...tick, decidedAt: nominalAt }]);
  await db.raw(UNDO_LATER_MIGRATIONS);
  await db("migrations").whereIn("name", FILES.slice(FIRST_MIGRATIONS)).delete();
  expect(await migrate(db)).toEqual(FILES.slice(FIRST_MIGRATIONS));
  expect(await listTicks(db, { workflowId, before: null, limit: 5 })).toMatchObject([{ nominalAt, reason: "old" }]);
  expect(await listTicks(db, { workflowId, scheduleName: "nightly", before: null, limit: 5 })).toEqual([]);
  const schedules = listDeclaredSchedules(manifest);
  const nightly = { name: "nightly", schedule: aSchedule() };
  await db.transaction((tx) =>
    publishSchedules(tx, { workflowId, schedules: [...schedules, nightly], at: new Date() }),
  );
  const declared = await listSchedules(db, { after: "", limit: 5 });
  expect(declared).toMatchObject([{ scheduleName: "nightly" }, { scheduleName: "schedule", since }]);
});

test("the migrations, all applied, make what db/schema.sql says", async () => {
  await emptyTheDatabase();
  await migrate(db);
  const schema = await describeSchema(db);
  if (process.env.WRITE_SCHEMA === "1") writeFileSync(SCHEMA, schema);
  // When this fails, and the migrations are right: `npm run schema` writes the file anew. Commit it with the migration.
  expect(readFileSync(SCHEMA, "utf8")).toBe(schema);
});
