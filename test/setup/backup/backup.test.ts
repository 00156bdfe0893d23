import { chmod, cp, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { S3_INSTALL_MS_MAX } from "../../../bench/s3-programs.ts";
import { type S3Server, startS3Server } from "../../../bench/s3-server.ts";
import { queryRows } from "../../../db/connect.ts";
import { hasTables } from "../../../db/dump/tables.ts";
import { findExecution } from "../../../db/executions/executions.ts";
import { release } from "../../../db/ledger/credits.ts";
import { listApplied } from "../../../db/migrate.ts";
import { makeBackup } from "../../../src/backup/backup.ts";
import { BackupRefused, type Description } from "../../../src/backup/description.ts";
import { findDataDir } from "../../../src/backup/place.ts";
import { restoreBackup } from "../../../src/backup/restore.ts";
import { loadSettings } from "../../../src/config.ts";
import { removeOld } from "../../../src/housekeeping/retention.ts";
import { DATA_VERSION } from "../../../src/setup/data-dir.ts";
import { createDiskStorage } from "../../../storage/disk.ts";
import { createS3Storage } from "../../../storage/s3.ts";
import type { Storage } from "../../../storage/storage.ts";
import { aKeptExecution, type Kept, listKeys } from "../../db/retained.ts";
import { aWorkflow } from "../../support/builders.ts";
import { FIRST_MIGRATIONS, LATER_MIGRATIONS, UNDO_LATER_MIGRATIONS } from "../../support/first-release.ts";
import { aDatabase, type TestDatabase } from "../../support/postgres.ts";
import { DAMAGES, describe } from "./damages.ts";
import { listFiles, readAll, writeFiles } from "./folders.ts";

let base: string;
let secrets: string;
let source: TestDatabase;
let target: TestDatabase;
let bucket: S3Server;
let kept: Kept;
let dataDir: string;
let folder: string;

beforeAll(async () => {
  secrets = await mkdtemp(join(tmpdir(), "treadle-secrets-"));
  [source, target, bucket] = await Promise.all([aDatabase(), aDatabase(), startS3Server()]);
}, S3_INSTALL_MS_MAX);

afterAll(async () => {
  await Promise.all([source?.drop(), target?.drop(), bucket?.stop()]);
  await rm(secrets, { recursive: true });
});

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "treadle-backup-"));
  await chmod(base, 0o755);
  [dataDir, folder] = [join(base, "data"), join(base, "backups", "today")];
  await writeFiles(dataDir, {
    "keys/master": "m".repeat(32),
    "keys/operator-token": "token\n",
    "keys/half.tmp": "not yet",
    "tls/ca.pem": "certificate",
    "tls/key.pem": "key",
    "host-id": "host\n",
    "examples.json": "{}",
    "ready.json": "{}",
    "postgres/data/PG_VERSION": "18",
    "data-version": "1\n",
  });
  const storage = await createDiskStorage({ dir: join(dataDir, "storage") });
  kept = { db: source.db, storage, workflow: await aWorkflow(source.db) };
  await target.db.raw("drop schema public cascade");
  await target.db.raw("create schema public");
});

afterEach(async () => {
  const open = await queryRows<{ id: never }>(source.db, "select id from executions where finished_at is null");
  for (const { id } of open)
    await release(source.db, { executionId: id, status: "failed", failure: "internal", message: "the test is over" });
  await source.db.raw(
    "truncate attempts, execution_files, call_receivers, executions, workflow_starts, removals, refusals",
  );
  await rm(base, { recursive: true });
});

function backUp(given: Partial<Parameters<typeof makeBackup>[0]> = {}): Promise<Description> {
  const { db, storage } = kept;
  return makeBackup({ db, storage, dataDir, masterKeyFile: undefined, target: folder, withFiles: true, ...given });
}

async function aSecret(text: string): Promise<string> {
  const file = join(await mkdtemp(join(secrets, "secret-")), "file");
  await writeFile(file, `${text}\n`);
  return file;
}

/** Into the other database, which `DATABASE_URL` names; by a file, as a container platform hands it over. */
async function restore(given: { env?: Record<string, string>; into?: string; from?: string } = {}) {
  const { host, user, database } = target.address as { host: string; user: string; database: string };
  const url = `postgresql://${user}@/${database}?host=${encodeURIComponent(host)}`;
  const env = given.env?.DATABASE_URL ? given.env : { DATABASE_URL_FILE: await aSecret(url), ...given.env };
  return restoreBackup({
    env,
    settings: loadSettings(env),
    source: given.from ?? folder,
    dataDir: given.into ?? join(base, "restored"),
    open: "release",
    report: () => undefined,
  });
}

test("a backup, restored, has database, files, keys and certificate, and nothing of the machine", async () => {
  const [ended, open] = [await aKeptExecution(kept), await aKeptExecution(kept, { goesOn: true })];
  const made = await backUp();
  expect(made).toMatchObject({ open: 1, storage: { objects: 5, missing: 0, damaged: 0 } });
  const into = join(base, "restored");
  expect(await restore()).toMatchObject({ dataDir: into, objects: 5, released: 1, open: 0, moneyFaults: 0 });

  const restored = await createDiskStorage({ dir: join(into, "storage") });
  expect(await readAll(restored)).toEqual(await readAll(kept.storage));
  expect((await listFiles(into)).filter((path) => !path.startsWith("storage/"))).toEqual([
    "data-version",
    "examples.json",
    "host-id",
    "keys/master",
    "keys/operator-token",
    "tls/ca.pem",
    "tls/key.pem",
  ]);
  expect(await readFile(join(into, "keys/master"), "utf8")).toBe("m".repeat(32));
  expect(await readFile(join(into, "data-version"), "utf8")).toBe(`${DATA_VERSION}\n`);
  expect((await stat(join(into, "keys"))).mode & 0o777).toBe(0o700);
  for (const path of ["keys/master", "tls/key.pem"]) expect((await stat(join(into, path))).mode & 0o777).toBe(0o600);
  expect((await findExecution(target.db, ended))?.state).toBe("success");
  expect(await findExecution(target.db, open)).toMatchObject({ state: "failed", failure: "internal", chargeTotal: 0n });
});

test("a backup, with the migrations of before the first release, is restored as one of today's", async () => {
  // What came after them was not there yet.
  await source.db.raw(UNDO_LATER_MIGRATIONS);
  try {
    await backUp();
    await describe({ migrations: ["0001_accounts_and_ledger", "0031_logs_of_attempts"] })(folder);
    await restore();
    expect(await listApplied(target.db)).toEqual((await listApplied(source.db))?.slice(0, FIRST_MIGRATIONS));
  } finally {
    for (const file of LATER_MIGRATIONS) await source.db.raw(await readFile(`db/migrations/${file}.sql`, "utf8"));
  }
});

test("a backup, of whatever it holds, can be read by its user alone", async () => {
  await aKeptExecution(kept);
  await backUp();
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const modes = entries.map(async (entry) => {
    const { mode } = await lstat(join(entry.parentPath, entry.name));
    return (mode & 0o777) === (entry.isDirectory() ? 0o700 : 0o600);
  });
  expect([...(await Promise.all(modes)), ((await stat(folder)).mode & 0o777) === 0o700]).not.toContain(false);
});

test("a backup, of files in a bucket, is restored to another bucket", async () => {
  const storage = await createS3Storage({ ...bucket, prefix: "one", forcePathStyle: true });
  kept = { ...kept, storage };
  await aKeptExecution(kept);
  await backUp();
  const env = {
    TREADLE_STORAGE_URL: `s3://${bucket.bucket}/two?endpoint=${encodeURIComponent(bucket.endpoint)}&region=${bucket.region}`,
    AWS_ACCESS_KEY_ID_FILE: await aSecret(bucket.accessKeyId),
    AWS_SECRET_ACCESS_KEY_FILE: await aSecret(bucket.secretAccessKey),
  };
  expect(await restore({ env })).toMatchObject({ objects: 4 });
  const other = await createS3Storage({ ...bucket, prefix: "two", forcePathStyle: true });
  expect(await readAll(other)).toEqual(await readAll(storage));
  await target.db.raw("drop schema public cascade; create schema public");
  await expect(restore({ env, into: join(base, "again") })).rejects.toThrow("has files already");
  expect(await listKeys(other)).toHaveLength(4);
  expect(await hasTables(target.db)).toBe(false);
});

test("a backup without files, restored, leaves storage as it is", async () => {
  await aKeptExecution(kept);
  expect(await backUp({ withFiles: false })).toMatchObject({ storage: null });
  expect((await listFiles(folder)).filter((path) => path.startsWith("storage"))).toEqual([]);
  expect(await restore()).toMatchObject({ objects: 0 });
});

test("a backup, while retention removes what it copies, has all that its record promises", async () => {
  for (let count = 0; count < 20; count += 1) await aKeptExecution(kept, { days: 40 });
  const { db, storage } = kept;
  const retention = { keyDays: null, fileDays: 30, logDays: 30, executionDays: 30 };
  let removed = false;
  const slow: Storage = {
    ...storage,
    async get(key) {
      // The moment is chosen; from now on all of it is old.
      if (!removed) await removeOld({ db, storage, retention });
      removed = true;
      return storage.get(key);
    },
  };
  expect(await backUp({ storage: slow })).toMatchObject({ storage: { objects: 80, missing: 0 } });
  expect(await queryRows(db, "select from executions")).toEqual([]);
  await removeOld({ db, storage, retention });
  expect(await listKeys(storage)).toEqual([]);
  expect(await restore()).toMatchObject({ objects: 80 });
});

test("a backup, where storage lost or changed files, tells so and keeps the others", async () => {
  const { storage } = kept;
  const id = await aKeptExecution(kept);
  await storage.delete(`executions/${id}/outputs/0`);
  await storage.put(`executions/${id}/outputs/1`, Readable.from(["something else"]));
  expect(await backUp()).toMatchObject({ storage: { objects: 3, missing: 1, damaged: 1 } });
  expect(await restore()).toMatchObject({ objects: 3 });
});

test("a backup that fails on the way, leaves no folder, and the next one can be made", async () => {
  await aKeptExecution(kept);
  const failing: Storage = { ...kept.storage, get: () => Promise.reject(new Error("storage is away")) };
  await expect(backUp({ storage: failing })).rejects.toThrow("storage is away");
  expect(await readdir(dirname(folder))).toEqual([]);
  await mkdir(`${folder}.partial-0123456789ab`);
  await writeFile(`${folder}.partial-0123456789ab/backup.json`, "{}");
  await backUp();
  expect(await readdir(dirname(folder))).toEqual(["today"]);
});

test("a backup to what exists already, is refused and changes nothing", async () => {
  await mkdir(folder, { recursive: true });
  await expect(backUp()).rejects.toThrow(BackupRefused);
  expect(await readdir(folder)).toEqual([]);
});

test("a backup of a database of a newer version, is refused", async () => {
  await source.db.raw("insert into migrations (name, batch, migration_time) values ('9999_later', 9, now())");
  try {
    await expect(backUp()).rejects.toThrow("9999_later");
  } finally {
    await source.db.raw("delete from migrations where name = '9999_later'");
  }
  expect(await readdir(base)).toEqual(["data"]);
});

test("a data folder without data, is not backed up", async () => {
  await rm(join(dataDir, "data-version"));
  await expect(findDataDir(dataDir)).rejects.toThrow("holds no data of Treadle");
});

test("a backup with a master key from elsewhere, has that one, and is restored to the same only", async () => {
  const masterKeyFile = join(base, "master");
  await writeFile(masterKeyFile, "k".repeat(32), { mode: 0o600 });
  await backUp({ masterKeyFile });
  expect(await readFile(join(folder, "data/keys/master"), "utf8")).toBe("k".repeat(32));
  const other = join(base, "other");
  await writeFile(other, "o".repeat(32));
  const refused = restore({ env: { TREADLE_MASTER_KEY_FILE: other } });
  await expect(refused).rejects.toThrow("not the master key of the backup");
  expect(await hasTables(target.db)).toBe(false);
  await restore({ env: { TREADLE_MASTER_KEY_FILE: masterKeyFile } });
});

test.each(DAMAGES)("a backup with %s, is refused before anything is changed", async (_what, damage, message) => {
  await aKeptExecution(kept);
  await backUp();
  await damage(folder);
  await expect(restore()).rejects.toThrow(message);
  expect(await readdir(base)).toEqual(["backups", "data"]);
  expect(await hasTables(target.db)).toBe(false);
});

test("a restore over data, or anything else, is refused and changes nothing", async () => {
  await backUp();
  const before = await listFiles(dataDir);
  await expect(restore({ into: dataDir })).rejects.toThrow("is not empty");
  expect(await listFiles(dataDir)).toEqual(before);
});

test("a restore into a database that is not empty, is refused and leaves no data folder", async () => {
  await backUp();
  await target.db.raw("create table somebodys (id int)");
  await expect(restore()).rejects.toThrow("DATABASE_URL is not empty");
  expect(await readdir(base)).toEqual(["backups", "data"]);
});

test("a restore into a folder in which one was killed, begins anew", async () => {
  await aKeptExecution(kept);
  await backUp();
  const into = join(base, "killed");
  await writeFiles(into, {
    "restore-unfinished": `${folder}\n`,
    "keys/somebodys": "old",
    "storage/objects/executions/ex_0000000000000000/inputs/0": "old",
    "postgres/data/PG_VERSION": "18",
  });
  expect(await restore({ into })).toMatchObject({ objects: 4 });
  const files = await listFiles(into);
  expect(files).toContain("data-version");
  expect(files.filter((path) => /somebodys|ex_0{16}|PG_VERSION|unfinished|lock/.test(path))).toEqual([]);
});

test("a restore into data, whatever else is beside them, is refused", async () => {
  await backUp();
  await writeFile(join(dataDir, "restore-unfinished"), `${folder}\n`);
  const before = await listFiles(dataDir);
  await expect(restore({ into: dataDir })).rejects.toThrow("is not empty");
  expect(await listFiles(dataDir)).toEqual(before);
});

test("a restore that fails in the end, leaves nothing, and a folder that was there is empty again", async () => {
  await aKeptExecution(kept);
  await backUp();
  const into = join(base, "empty");
  await mkdir(into);
  const copy = join(base, "copy");
  await cp(folder, copy, { recursive: true });
  const { host, user } = target.address as { host: string; user: string };
  const url = `postgresql://${user}@/no_such_database?host=${encodeURIComponent(host)}`;
  const wrong = restore({ into, from: copy, env: { DATABASE_URL: url } });
  await expect(wrong).rejects.toThrow("Cannot use the database of DATABASE_URL");
  expect(await readdir(into)).toEqual([]);
  await restore({ into, from: copy });
  expect(await readdir(into)).toContain("data-version");
});
