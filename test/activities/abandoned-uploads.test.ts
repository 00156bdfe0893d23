import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { S3_INSTALL_MS_MAX } from "../../bench/s3-programs.ts";
import { type S3Server, startS3Server } from "../../bench/s3-server.ts";
import { type Db, queryRows } from "../../db/connect.ts";
import { acceptExecution } from "../../db/executions/acceptance.ts";
import { findRepairCounts } from "../../db/executions/repairs.ts";
import { noteUploads } from "../../db/executions/uploads.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { removeAbandonedUploads, startRemovingAbandonedUploads } from "../../src/housekeeping/abandoned-uploads.ts";
import { createExecutionId } from "../../src/ids.ts";
import { createLog } from "../../src/log.ts";
import { createDiskStorage } from "../../storage/disk.ts";
import { createS3Storage } from "../../storage/s3.ts";
import type { Storage } from "../../storage/storage.ts";
import { aWorkflow } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";

const log = createLog({ level: "silent", terminal: false });

let database: TestDatabase;
let db: Db;
let dir: string;
let server: S3Server;
let disk: Storage;

beforeAll(async () => {
  database = await aDatabase();
  db = database.db;
  dir = await mkdtemp(join(tmpdir(), "treadle-abandoned-"));
  disk = await createDiskStorage({ dir });
  server = await startS3Server();
}, S3_INSTALL_MS_MAX);

afterAll(async () => {
  await server?.stop();
  await database?.drop();
  await rm(dir, { recursive: true, force: true });
});

afterEach(() => db.raw("truncate uploads, leases"));

const depsOf = (storage: Pick<Storage, "list" | "delete">, processId = "proc_a") => ({ db, storage, processId, log });

/** A storage that says what it is asked for. */
function watched(storage: Storage): { storage: Storage; listed: string[] } {
  const listed: string[] = [];
  const list = (prefix: string) => {
    listed.push(prefix);
    return storage.list(prefix);
  };
  return { storage: { ...storage, list }, listed };
}

async function keysOf(storage: Storage): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of storage.list("")) keys.push(key);
  return keys.sort();
}

const keyOf = (executionId: ExecutionId, index: number): string => `executions/${executionId}/inputs/${index}`;

/** What a request leaves whose process died before the execution was recorded. */
async function anUpload(storage: Storage, given: { hoursAgo: number; files: number }): Promise<ExecutionId> {
  const executionId = createExecutionId(Date.now() - given.hoursAgo * 3_600_000);
  await noteUploads(db, executionId);
  await queryRows(
    db,
    `update uploads set begun_at = now() - make_interval(hours => :hoursAgo) where execution_id = :id`,
    {
      hoursAgo: given.hoursAgo,
      id: executionId,
    },
  );
  for (let index = 0; index < given.files; index += 1)
    await storage.put(keyOf(executionId, index), Readable.from(["content"]));
  return executionId;
}

/** Records an execution with the files of an upload. */
async function accept(executionId: ExecutionId): Promise<void> {
  const { workflowId, accountId, commitId } = await aWorkflow(db);
  const file = { fileName: "a", bytes: 7, sha256: "0".repeat(64), contentType: "text/plain" };
  await acceptExecution(db, {
    id: executionId,
    accountId,
    workflowId,
    commitId,
    trigger: "api",
    inputs: {},
    secretInputs: null,
    timeoutSeconds: 1,
    cpu: 1,
    attemptsMax: 1,
    chargeMax: microCredits(1n),
    acceptedBy: "proc_a",
    files: [{ ...file, name: "orders", storageKey: keyOf(executionId, 0) }],
  });
}

const listNotes = async (): Promise<ExecutionId[]> =>
  (await queryRows<{ id: ExecutionId }>(db, "select execution_id as id from uploads order by 1")).map(({ id }) => id);

const countRemoved = async (): Promise<number> => (await findRepairCounts(db)).uploads_removed;

/** Deletes nothing of these executions. */
const refusing = (storage: Storage, refused: readonly ExecutionId[]): Storage => ({
  ...storage,
  async delete(key) {
    if (refused.some((id) => key.includes(id))) throw new Error("Storage is away.");
    await storage.delete(key);
  },
});

describe.each(["disk", "S3"])("on %s", (kind) => {
  async function openStorage(): Promise<Storage> {
    const prefix = `t/${randomBytes(6).toString("hex")}`;
    return kind === "disk"
      ? createDiskStorage({ dir: join(dir, prefix) })
      : createS3Storage({ ...server, forcePathStyle: true, prefix });
  }

  test("removeAbandonedUploads, with uploads of all kinds, removes those without an execution after a day, and asks for no others", async () => {
    const { storage, listed } = watched(await openStorage());
    const old = [
      await anUpload(storage, { hoursAgo: 25, files: 3 }),
      await anUpload(storage, { hoursAgo: 900, files: 1 }),
    ];
    const [empty, young, accepted] = [
      await anUpload(storage, { hoursAgo: 30, files: 0 }),
      await anUpload(storage, { hoursAgo: 23, files: 1 }),
      await anUpload(storage, { hoursAgo: 48, files: 1 }),
    ];
    await accept(accepted);
    expect(await listNotes()).not.toContain(accepted);
    const before = await countRemoved();

    expect(await removeAbandonedUploads(depsOf(storage))).toBe(4);
    expect(listed.sort()).toEqual([...old, empty].map((id) => `executions/${id}/`).sort());
    expect(await keysOf(storage)).toEqual([keyOf(young, 0), keyOf(accepted, 0)].sort());
    expect([await listNotes(), await countRemoved()]).toEqual([[young], before + 4]);
    expect(await removeAbandonedUploads(depsOf(storage))).toBe(0);
    expect(await queryRows(db, "select from leases")).toEqual([]);
  });
});

test("removeAbandonedUploads, with more than a page of them, removes all, whichever storage keeps", async () => {
  const uploads: ExecutionId[] = [];
  for (let count = 0; count < 120; count += 1)
    uploads.push(await anUpload(disk, { hoursAgo: 25 + count, files: count % 10 === 0 ? 1 : 0 }));
  const kept = uploads.filter((_, index) => index % 40 === 0);
  await expect(removeAbandonedUploads(depsOf(refusing(disk, kept)))).rejects.toMatchObject({
    errors: kept.map(() => new Error("Storage is away.")),
  });
  expect(await listNotes()).toEqual([...kept].sort());
  expect(await removeAbandonedUploads(depsOf(disk))).toBe(kept.length);
  expect([await listNotes(), await keysOf(disk)]).toEqual([[], []]);
});

test("removeAbandonedUploads, while storage is away, asks for one page and tries again the next time", async () => {
  for (let count = 0; count < 120; count += 1) await anUpload(disk, { hoursAgo: 25, files: 0 });
  let asked = 0;
  const away = {
    ...disk,
    list(): AsyncIterable<string> {
      asked += 1;
      throw new Error("Storage is away.");
    },
  };
  await expect(removeAbandonedUploads(depsOf(away))).rejects.toThrow("abandoned uploads");
  expect([asked, (await listNotes()).length]).toEqual([50, 120]);
  expect(await removeAbandonedUploads(depsOf(disk))).toBe(0);
  expect(await listNotes()).toEqual([]);
});

test("removeAbandonedUploads, while another process does it, leaves them to that one", async () => {
  await anUpload(disk, { hoursAgo: 25, files: 1 });
  let other: number | undefined;
  const during = {
    ...disk,
    async *list(prefix: string) {
      other = await removeAbandonedUploads(depsOf(disk, "proc_b"));
      yield* disk.list(prefix);
    },
  };
  expect(await removeAbandonedUploads(depsOf(during))).toBe(1);
  expect(other).toBe(0);
});

test("startRemovingAbandonedUploads, when it is closed, ends with the upload under way and leaves the others", async () => {
  for (let count = 0; count < 3; count += 1) await anUpload(disk, { hoursAgo: 25, files: 1 });
  const [reached, goOn] = [new AbortController(), new AbortController()];
  const slow = {
    ...disk,
    async *list(prefix: string) {
      reached.abort();
      await once(goOn.signal, "abort");
      yield* disk.list(prefix);
    },
  };
  const removing = startRemovingAbandonedUploads(depsOf(slow));
  await once(reached.signal, "abort");
  const closed = removing.close();
  goOn.abort();
  await closed;
  expect([(await listNotes()).length, (await keysOf(disk)).length]).toEqual([2, 2]);
  expect(await queryRows(db, "select from leases")).toEqual([]);
  expect(await removeAbandonedUploads(depsOf(disk))).toBe(2);
});
