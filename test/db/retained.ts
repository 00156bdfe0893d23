import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { startS3Server } from "../../bench/s3-server.ts";
import { type Db, queryRows } from "../../db/connect.ts";
import { claimAttempt, endAttempt } from "../../db/executions/attempts.ts";
import { insertOutputs } from "../../db/executions/outputs.ts";
import { reserve, settle } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { StoredFile } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { createExecutionId } from "../../src/ids.ts";
import { createDiskStorage } from "../../storage/disk.ts";
import { createS3Storage } from "../../storage/s3.ts";
import type { Storage } from "../../storage/storage.ts";
import { anExecution, type TestWorkflow } from "../support/builders.ts";
import { endEarlier } from "../support/ends.ts";

export interface TestStorage {
  readonly storage: Storage;
  close(): Promise<void>;
}

export async function aDisk(): Promise<TestStorage> {
  const dir = await mkdtemp(join(tmpdir(), "treadle-retention-"));
  return { storage: await createDiskStorage({ dir }), close: () => rm(dir, { recursive: true, force: true }) };
}

export async function aBucket(): Promise<TestStorage> {
  const server = await startS3Server();
  const storage = await createS3Storage({ ...server, prefix: "kept", forcePathStyle: true });
  return { storage, close: () => server.stop() };
}

export interface Kept {
  readonly db: Db;
  readonly storage: Storage;
  readonly workflow: TestWorkflow;
}

async function store(storage: Storage, key: string, fileName: string): Promise<StoredFile> {
  const stored = await storage.put(key, Readable.from([Buffer.from(`content of ${key}`)]));
  return { name: fileName, fileName, storageKey: key, contentType: "text/plain", ...stored };
}

/** An execution with an input, an attempt, credits held, and, unless it goes on, two outputs and a log; it ended so many days ago. */
export async function aKeptExecution(
  { db, storage, workflow }: Kept,
  given: { days?: number; goesOn?: boolean; key?: string } = {},
): Promise<ExecutionId> {
  const id = createExecutionId();
  const prefix = `executions/${id}`;
  await anExecution(db, { id, workflow, files: [await store(storage, `${prefix}/inputs/0`, "in.txt")] });
  await reserve(db, id);
  const [hostId, processId] = ["host", "proc_test"];
  await claimAttempt(db, { executionId: id, hostId, processId, leaseSeconds: 20, lostMax: 3 });
  if (given.goesOn !== true) {
    const outcome = { status: "success", message: "", secondsUsed: 1 } as const;
    await endAttempt(db, { executionId: id, attempt: 1, processId, outcome });
    const files = [
      await store(storage, `${prefix}/outputs/0`, "a.txt"),
      await store(storage, `${prefix}/outputs/1`, "b.txt"),
    ];
    const logKey = `${prefix}/log.ndjson`;
    await store(storage, logKey, "log");
    await insertOutputs(db, { executionId: id, files, logKey, logBytes: 10 });
    const bill = { executionId: id, status: "success", secondsUsed: 1 } as const;
    await settle(db, { ...bill, compute: microCredits(10_000n), total: microCredits(11_000n) });
  }
  await age(db, id, given);
  return id;
}

/** As if it had been accepted, and had ended, so many days ago, under this idempotency key. */
export async function age(db: Db, id: ExecutionId, given: { days?: number; key?: string }): Promise<void> {
  await endEarlier(db, id, given.days ?? 0);
  await queryRows(
    db,
    `update executions
        set idempotency_key = :key, fingerprint = case when cast(:key as text) is null then null else '\\x00'::bytea end
      where id = :id`,
    { id, key: given.key ?? null },
  );
}

export async function listKeys(storage: Storage): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of storage.list("executions/")) keys.push(key);
  return keys.sort();
}

/**
 * What must never be: files and logs that the record still promises and storage does not have, and objects in storage that
 * neither the record nor the list of removals knows of.
 */
export async function findBroken({ db, storage }: Pick<Kept, "db" | "storage">): Promise<string[]> {
  const promised = await queryRows<{ key: string }>(
    db,
    `select f.storage_key as key from execution_files f join executions e on e.id = f.execution_id
      where e.files_removed_at is null
     union all select log_key from executions where log_key is not null and log_removed_at is null`,
  );
  const noted = await queryRows<{ key: string }>(db, `select unnest(keys) as key from removals`);
  const looked = await queryRows<{ id: string }>(db, `select execution_id as id from removals where look`);
  const known = new Set([...promised, ...noted].map(({ key }) => key));
  const kept = await listKeys(storage);
  const isLookedFor = (key: string): boolean => looked.some(({ id }) => key.startsWith(`executions/${id}/`));
  return [
    ...promised.filter(({ key }) => !kept.includes(key)).map(({ key }) => `${key} is promised and not there`),
    ...kept.filter((key) => !known.has(key) && !isLookedFor(key)).map((key) => `${key} is there for nobody`),
  ];
}

/** Rows of an execution, by table. */
export async function countRows(db: Db, id: ExecutionId): Promise<Record<string, number>> {
  const tables = ["attempts", "execution_files", "reservations", "refusals", "ledger_entries", "removals"];
  const counts = await Promise.all(
    tables.map(async (table) => {
      const [row] = await queryRows<{ count: number }>(
        db,
        `select count(*)::int as count from ${table} where execution_id = :id`,
        { id },
      );
      return [table, row?.count ?? -1] as const;
    }),
  );
  return Object.fromEntries(counts.filter(([, count]) => count !== 0));
}
