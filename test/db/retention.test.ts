import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { S3_INSTALL_MS_MAX } from "../../bench/s3-programs.ts";
import { connect, queryRows } from "../../db/connect.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { insertLog } from "../../db/executions/outputs.ts";
import { claimRemovals, expireFiles, removeExecutions, STORAGE_LOCK } from "../../db/executions/retention.ts";
import { findMoneyFaults } from "../../db/ledger/audit.ts";
import { findBalance, release, reserve } from "../../db/ledger/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { loadSettings } from "../../src/config.ts";
import {
  NOTHING_REMOVED,
  type Retention,
  removeOld,
  retentionOf,
  startRetention,
} from "../../src/housekeeping/retention.ts";
import { createLog } from "../../src/log.ts";
import type { Storage } from "../../storage/storage.ts";
import { anExecution, aWorkflow } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";
import { aBucket, aDisk, age, aKeptExecution, countRows, findBroken, type Kept, listKeys } from "./retained.ts";

const FOR_EVER: Retention = { keyDays: null, fileDays: null, logDays: null, executionDays: null };

let database: TestDatabase;
let disk: Awaited<ReturnType<typeof aDisk>>;
let bucket: Awaited<ReturnType<typeof aBucket>>;
let kept: Kept;

beforeAll(async () => {
  [database, disk, bucket] = await Promise.all([aDatabase(), aDisk(), aBucket()]);
}, S3_INSTALL_MS_MAX);

afterAll(async () => {
  await Promise.all([database?.drop(), disk?.close(), bucket?.close()]);
});

beforeEach(async () => {
  const { db } = database;
  for (const { id } of await queryRows<{ id: ExecutionId }>(db, "select id from executions where finished_at is null"))
    await release(db, { executionId: id, status: "failed", failure: "internal", message: "the test is over" });
  await db.raw("truncate attempts, execution_files, call_receivers, executions, workflow_starts, removals, refusals");
  await db.raw("delete from reservations where state <> 'open'");
  for (const { storage } of [disk, bucket]) for (const key of await listKeys(storage)) await storage.delete(key);
  kept = { db, storage: disk.storage, workflow: await aWorkflow(db) };
});

function remove(retention: Partial<Retention>, storage: Storage = kept.storage) {
  return removeOld({ db: kept.db, storage, retention: { ...FOR_EVER, ...retention } });
}

test("retention, of files, removes those of executions that ended long enough ago and says so", async () => {
  const [old, young] = [await aKeptExecution(kept, { days: 31 }), await aKeptExecution(kept, { days: 29 })];
  expect(await remove({ fileDays: 30 })).toEqual({ ...NOTHING_REMOVED, files: 1, objects: 3 });
  expect(await findExecution(kept.db, old)).toMatchObject({ filesRemovedAt: expect.any(Date), logRemovedAt: null });
  expect(await findExecution(kept.db, young)).toMatchObject({ filesRemovedAt: null, logRemovedAt: null });
  expect((await listKeys(kept.storage)).filter((key) => key.includes(old))).toEqual([`executions/${old}/log.ndjson`]);
  expect(await findBroken(kept)).toEqual([]);
  expect(await remove({ fileDays: 30 })).toEqual(NOTHING_REMOVED);
});

test("retention, of logs, removes those of executions that ended long enough ago, and not their files", async () => {
  const old = await aKeptExecution(kept, { days: 31 });
  await aKeptExecution(kept, { days: 29 });
  expect(await remove({ logDays: 30 })).toEqual({ ...NOTHING_REMOVED, logs: 1, objects: 1 });
  expect(await findExecution(kept.db, old)).toMatchObject({ filesRemovedAt: null, logRemovedAt: expect.any(Date) });
  expect(await listKeys(kept.storage)).toHaveLength(7);
  expect(await findBroken(kept)).toEqual([]);
});

test("retention, of files and logs with different days, removes each in its time", async () => {
  for (const days of [5, 15, 25]) await aKeptExecution(kept, { days });
  expect(await remove({ fileDays: 20, logDays: 10 })).toEqual({ ...NOTHING_REMOVED, files: 1, logs: 2, objects: 5 });
  expect(await findBroken(kept)).toEqual([]);
});

test("retention, of executions, removes all of them but the ledger, and the money stays right", async () => {
  const { db, workflow } = kept;
  const old = await aKeptExecution(kept, { days: 366 });
  const released = await anExecution(db, { workflow });
  await reserve(db, released);
  await release(db, { executionId: released, status: "failed", failure: "internal", message: "ours" });
  const refused = await anExecution(db, { workflow, chargeMax: (10n ** 12n) as never });
  await reserve(db, refused);
  await release(db, { executionId: refused, status: "failed", failure: "insufficient_credits", message: "" });
  await age(db, released, { days: 366 });
  await age(db, refused, { days: 366 });
  const young = await aKeptExecution(kept, { days: 364 });
  const before = await findBalance(db, workflow.accountId);
  expect(await countRows(db, refused)).toEqual({ reservations: 1, refusals: 1 });

  expect(await remove({ executionDays: 365 })).toEqual({ ...NOTHING_REMOVED, executions: 3, objects: 4 });
  expect(await findExecution(db, old)).toBeUndefined();
  expect(await countRows(db, old)).toEqual({ ledger_entries: 1 });
  expect([await countRows(db, released), await countRows(db, refused)]).toEqual([{}, {}]);
  expect(await countRows(db, young)).toEqual({ attempts: 1, execution_files: 3, reservations: 1, ledger_entries: 1 });
  expect(await findBalance(db, workflow.accountId)).toEqual(before);
  expect(await findMoneyFaults(db)).toEqual([]);
  expect(await findBroken(kept)).toEqual([]);
  expect(await listKeys(kept.storage)).toHaveLength(4);
});

test("retention, whatever the days, leaves alone executions that go on", async () => {
  const { db } = kept;
  const open = await aKeptExecution(kept, { days: 1_000, goesOn: true });
  const queued = await anExecution(db, { workflow: kept.workflow });
  await age(db, queued, { days: 1_000, key: "queued" });
  expect(await remove({ keyDays: 1, fileDays: 1, logDays: 1, executionDays: 1 })).toEqual(NOTHING_REMOVED);
  expect(await findExecution(db, open)).toMatchObject({ state: "running", filesRemovedAt: null });
  expect(await listKeys(kept.storage)).toEqual([`executions/${open}/inputs/0`]);
  expect(await queryRows(db, "select idempotency_key as key from executions where id = :queued", { queued })).toEqual([
    { key: "queued" },
  ]);
});

test("retention, of an execution whose key is kept, waits until the key is forgotten", async () => {
  const { db } = kept;
  const keyed = await aKeptExecution(kept, { days: 50, key: "mine" });
  const retention = { fileDays: 10, logDays: 10, executionDays: 20 };
  expect(await remove({ ...retention, keyDays: 100 })).toEqual(NOTHING_REMOVED);
  expect(await remove(retention)).toEqual(NOTHING_REMOVED);
  expect(await remove({ ...retention, keyDays: 40 })).toEqual({ ...NOTHING_REMOVED, keys: 1 });
  expect((await findExecution(db, keyed))?.filesRemovedAt).toBeNull();
  expect(await remove({ ...retention, keyDays: 40 })).toEqual({
    ...NOTHING_REMOVED,
    executions: 1,
    files: 1,
    logs: 1,
    objects: 4,
  });
  expect(await listKeys(kept.storage)).toEqual([]);
});

test("retention, of an execution that left objects the record does not know, removes them too", async () => {
  const { db, storage, workflow } = kept;
  const lost = await anExecution(db, { workflow });
  await storage.put(`executions/${lost}/outputs/0`, Readable.from(["half of an upload"]));
  await release(db, { executionId: lost, status: "failed", failure: "internal", message: "terminated" });
  await age(db, lost, { days: 31 });
  await remove({ fileDays: 30 });
  expect(await listKeys(storage)).toEqual([]);
});

test("retention, of an execution that has a log and left objects the record does not know, keeps the log as long as logs are kept", async () => {
  const { db, storage, workflow } = kept;
  const lost = await anExecution(db, { workflow });
  const logKey = `executions/${lost}/log.ndjson`;
  await storage.put(`executions/${lost}/outputs/0`, Readable.from(["half of an upload"]));
  await storage.put(logKey, Readable.from(["what it wrote"]));
  await insertLog(db, { executionId: lost, logKey, logBytes: 13, attempt: null });
  await release(db, { executionId: lost, status: "failed", failure: "internal", message: "terminated" });
  await age(db, lost, { days: 31 });
  await remove({ fileDays: 30, logDays: 60 });
  expect(await listKeys(storage)).toContain(logKey);
  await remove({ fileDays: 30, logDays: 30 });
  expect(await listKeys(storage)).toEqual([]);
});

/** What a crash leaves is claimed for a while by the process that crashed. */
async function endClaims(): Promise<void> {
  await kept.db.raw("update removals set claimed_until = now() - interval '1 second'");
}

const STORAGES: [string, () => Storage][] = [
  ["disk", () => disk.storage],
  ["S3", () => bucket.storage],
];
const WAYS: [string, Partial<Retention>][] = [
  ["files and logs", { fileDays: 30, logDays: 30 }],
  ["executions", { executionDays: 30 }],
];
const CRASHES = STORAGES.flatMap(([name, storage]) =>
  WAYS.flatMap(([what, retention]) =>
    [0, 1, 3, 5].map((deletes) => [name, what, deletes, storage, retention] as const),
  ),
);

test.each(CRASHES)(
  "retention on %s, of %s, killed after %i deleted objects, leaves nothing half done and ends it the next time",
  async (_name, _what, deletes, storageOf, retention) => {
    kept = { ...kept, storage: storageOf() };
    const { db, storage, workflow } = kept;
    for (const days of [31, 32, 1]) await aKeptExecution(kept, { days });
    let left = deletes;
    // From then on nothing of this process reaches storage or database any more.
    const dying = connect(database.address, { poolMax: 1, applicationName: "dying" });
    const crash = async (): Promise<never> => {
      await dying.destroy();
      throw new Error("killed");
    };
    const wrapped: Storage = { ...storage, delete: (key) => (left-- > 0 ? storage.delete(key) : crash()) };
    const pass = removeOld({ db: dying, storage: wrapped, retention: { ...FOR_EVER, ...retention } });
    await expect(pass).rejects.toThrow(/Storage deletes nothing|acquire a connection/);
    expect(await listKeys(storage)).toHaveLength(12 - deletes);
    expect(await findBroken(kept)).toEqual([]);
    expect(await remove(retention)).toEqual(NOTHING_REMOVED);

    await endClaims();
    expect(await remove(retention)).toMatchObject({ executions: 0, files: 0, logs: 0, objects: 8 });
    expect(await listKeys(storage)).toHaveLength(4);
    expect(await findBroken(kept)).toEqual([]);
    expect(await queryRows(db, "select from removals")).toEqual([]);
    expect(await findMoneyFaults(db)).toEqual([]);
    expect((await findBalance(db, workflow.accountId))?.reserved).toBe(0n);
  },
);

test("retention, while storage refuses, gives up soon and goes on when it is back", async () => {
  const { storage } = kept;
  for (let count = 0; count < 12; count += 1) await aKeptExecution(kept, { days: 31 });
  let asked = 0;
  const away: Storage = {
    ...storage,
    delete: async () => {
      asked += 1;
      throw new Error("away");
    },
  };
  await expect(remove({ fileDays: 30 }, away)).rejects.toThrow("Storage deletes nothing.");
  expect(asked).toBe(12);
  expect(await findBroken(kept)).toEqual([]);
  await endClaims();
  expect(await remove({ fileDays: 30 })).toEqual({ ...NOTHING_REMOVED, objects: 36 });
  expect(await findBroken(kept)).toEqual([]);
});

test("retention, when storage refuses one object, removes all others", async () => {
  const { db, storage } = kept;
  const stuck = await aKeptExecution(kept, { days: 31 });
  await aKeptExecution(kept, { days: 31 });
  const partly: Storage = {
    ...storage,
    delete: async (key) => {
      if (key.includes(stuck)) throw new Error("refused");
      await storage.delete(key);
    },
  };
  expect(await remove({ fileDays: 30 }, partly)).toMatchObject({ objects: 3 });
  expect(await queryRows(db, "select execution_id as id from removals")).toEqual([{ id: stuck }]);
});

test("retention, by four processes at once, removes each execution once", async () => {
  const count = 60;
  for (let made = 0; made < count; made += 1) await aKeptExecution(kept, { days: 400 });
  const retention = { fileDays: 30, logDays: 30, executionDays: 365 };
  const removed = await Promise.all(Array.from({ length: 4 }, () => remove(retention)));
  const sum = (name: keyof typeof NOTHING_REMOVED): number => removed.reduce((total, each) => total + each[name], 0);
  expect([sum("files"), sum("executions"), sum("objects")]).toEqual([count, count, 4 * count]);
  expect(await listKeys(kept.storage)).toEqual([]);
  expect(await findMoneyFaults(kept.db)).toEqual([]);
});

test("retention, of an execution that somebody else holds, takes the others and waits for nobody", async () => {
  const { db } = kept;
  const [held, other] = [await aKeptExecution(kept, { days: 31 }), await aKeptExecution(kept, { days: 31 })];
  const holder = await db.transaction();
  try {
    await holder.raw("select from executions where id = ? for update", [held]);
    expect(await expireFiles(db, { days: { files: 30, logs: null }, limit: 10 })).toEqual({ files: 1, logs: 0 });
    expect(await removeExecutions(db, { days: 30, limit: 10 })).toBe(1);
  } finally {
    await holder.rollback();
  }
  expect([await findExecution(db, held), await findExecution(db, other)]).toEqual([expect.anything(), undefined]);
});

test("retention, in batches, takes the oldest first and no more than it may", async () => {
  const { db } = kept;
  const ids = [];
  for (const days of [40, 60, 50]) ids.push(await aKeptExecution(kept, { days }));
  expect(await removeExecutions(db, { days: 30, limit: 2 })).toBe(2);
  expect(await queryRows(db, "select id from executions")).toEqual([{ id: ids[0] }]);
});

test("removals, during a backup, are left alone", async () => {
  const { db } = kept;
  await aKeptExecution(kept, { days: 31 });
  await db.transaction(async (backup) => {
    await backup.raw("select pg_advisory_xact_lock(?)", [STORAGE_LOCK]);
    expect(await remove({ fileDays: 30 })).toEqual({ ...NOTHING_REMOVED, files: 1 });
    expect(await claimRemovals(db, 10)).toEqual([]);
    expect(await listKeys(kept.storage)).toHaveLength(4);
  });
  expect(await remove({ fileDays: 30 })).toEqual({ ...NOTHING_REMOVED, objects: 3 });
});

test("an execution, removed from the record, cannot be charged or held for again", async () => {
  const { db, workflow } = kept;
  const old = await aKeptExecution(kept, { days: 31 });
  await remove({ executionDays: 30 });
  const before = await findBalance(db, workflow.accountId);
  expect(await reserve(db, old)).toEqual({ kind: "unknown_execution" });
  expect(await release(db, { executionId: old, status: "failed", failure: "internal", message: "" })).toBe(false);
  expect(await findBalance(db, workflow.accountId)).toEqual(before);
});

test("the service's retention, when it is closed, ends with the batch under way and has counted what it removed", async () => {
  const { db, storage } = kept;
  for (let count = 0; count < 3; count += 1) await aKeptExecution(kept, { days: 31 });
  const logged: unknown[] = [];
  const log = Object.assign(createLog({ level: "silent", terminal: false }), {
    info: (fields: unknown) => void logged.push(fields),
  });
  const service = startRetention({ db, storage, log, retention: { ...FOR_EVER, fileDays: 30 } });
  while (service.removed().objects < 9) await new Promise((resolve) => setTimeout(resolve, 5));
  await service.close();
  const removed = { ...NOTHING_REMOVED, files: 3, objects: 9 };
  expect(service.removed()).toEqual(removed);
  expect(logged).toEqual([{ event: "retention.removed", ...removed }]);
});

test("settings, of days, are those of the retention; 0 is for ever", () => {
  expect(retentionOf(loadSettings({}))).toEqual({ keyDays: 30, fileDays: 30, logDays: 30, executionDays: 365 });
  const none = ["IDEMPOTENCY", "FILE", "LOG", "EXECUTION"].map((name) => [`TREADLE_${name}_DAYS`, "0"]);
  expect(retentionOf(loadSettings(Object.fromEntries(none)))).toEqual(FOR_EVER);
  expect(() => loadSettings({ TREADLE_FILE_DAYS: "-1" })).toThrow("TREADLE_FILE_DAYS");
});
