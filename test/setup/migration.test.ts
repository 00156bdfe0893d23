import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { listMigrations } from "../../db/migrate.ts";
import { treadle } from "../support/command-line.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await aDatabase();
  folder = await mkdtemp(join(tmpdir(), "treadle-migration-"));
  const { host, user, database: name } = database.address as { host: string; user: string; database: string };
  const file = join(folder, "database-url");
  await writeFile(file, `postgresql://${user}@localhost/${name}?host=${encodeURIComponent(host)}\n`);
  process.env["DATABASE_URL_FILE"] = file;
});

afterAll(async () => {
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

const migrate = () => treadle(join(folder, "none"), ["migrate", "--json"]);

test("treadle migrate, of an empty database and once more, brings it up to date and needs no data folder", async () => {
  await database.db.raw("drop schema public cascade");
  await database.db.raw("create schema public");
  const first = await migrate();
  expect([first.code, first.stderr]).toEqual([0, ""]);
  expect(first.json()).toEqual({ applied: listMigrations() });
  expect((await migrate()).json()).toEqual({ applied: [] });
});

test("treadle migrate, of a database that a newer program wrote, and without one, is refused", async () => {
  await database.db.raw("insert into migrations (name, batch, migration_time) values ('9999_later', 1, now())");
  const newer = await migrate();
  expect(newer.code).toBe(1);
  expect(JSON.stringify(newer.json())).toContain("does not know: 9999_later");
  delete process.env["DATABASE_URL_FILE"];
  const none = await migrate();
  expect(none.code).toBe(1);
  expect(JSON.stringify(none.json())).toContain("Set DATABASE_URL");
});
