import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { MockActivityEnvironment } from "@temporalio/testing";
import { DefaultLogger } from "@temporalio/worker";
import { createOutputs } from "../../activities/outputs.ts";
import { createSpool, type Spool } from "../../activities/spool.ts";
import { type Db, queryRows } from "../../db/connect.ts";
import { claimAttempt, endAttempt } from "../../db/executions/attempts.ts";
import { findExecution, requestCancel } from "../../db/executions/executions.ts";
import { findUpload } from "../../db/executions/outputs.ts";
import { loseOutputs } from "../../db/executions/stranded.ts";
import { release } from "../../db/ledger/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { createDiskStorage } from "../../storage/disk.ts";
import type { Storage } from "../../storage/storage.ts";
import { listKeys } from "../db/retained.ts";
import { anExecution, aWorkflow } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";

const [HOST, PROCESS] = ["host-a", "proc_a"];
const MEBIBYTE = 1024 * 1024;

let database: TestDatabase;
let db: Db;
let dir: string;
let storage: Storage;
let spool: Spool;

beforeAll(async () => {
  database = await aDatabase();
  db = database.db;
  dir = await mkdtemp(join(tmpdir(), "treadle-outputs-"));
  storage = await createDiskStorage({ dir: join(dir, "storage") });
  spool = createSpool(join(dir, "spool"));
});

afterAll(async () => {
  await database?.drop();
  await rm(dir, { recursive: true, force: true });
});

/** An execution whose only attempt succeeded on `hostId`. */
async function anExecutedExecution(hostId = HOST, attemptsMax = 1): Promise<ExecutionId> {
  const executionId = await anExecution(db, { workflow: await aWorkflow(db), attemptsMax });
  const claim = { executionId, hostId, processId: PROCESS, leaseSeconds: 60, lostMax: 3 };
  await claimAttempt(db, claim);
  await endAttempt(db, { ...claim, attempt: 1, outcome: { status: "success", message: "", secondsUsed: 1 } });
  return executionId;
}

/** The same with two outputs and a log in the spool. */
async function aSpooledExecution(given: { firstBytes?: number; attemptsMax?: number } = {}) {
  const executionId = await anExecutedExecution(HOST, given.attemptsMax);
  const folder = await spool.open(executionId);
  const files = { "report.pdf": "a report", "data.unheard-of": "data" };
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  await writeFile(spool.logPathOf(executionId), "a line\n");
  const firstBytes = given.firstBytes ?? files["report.pdf"].length;
  const first = join(folder, "report.pdf");
  await truncate(first, firstBytes);
  await spool.writeResult(executionId, {
    outputs: [
      { name: "report", fileName: "report.pdf", path: first, bytes: firstBytes },
      { name: "data", fileName: "data.unheard-of", path: join(folder, "data.unheard-of"), bytes: 4 },
    ],
    logPath: spool.logPathOf(executionId),
    logBytes: 7,
    attempt: 1,
  });
  return { executionId, folder };
}

/** What a worker process of a host has. */
function aWorker(given: { hostId?: string; storage?: Storage } = {}): ReturnType<typeof createOutputs> {
  return createOutputs({ db, hostId: given.hostId ?? HOST, storage: given.storage ?? storage, spool });
}

/** Calls the activity as Temporal does. */
function upload(executionId: ExecutionId, given: { brief?: boolean; outputs?: ReturnType<typeof aWorker> } = {}) {
  const outputs = given.outputs ?? aWorker();
  const worker = new MockActivityEnvironment(undefined, { logger: new DefaultLogger("ERROR") });
  return worker.run(outputs.uploadOutputs, { executionId, brief: given.brief ?? true });
}

function findRows(executionId: ExecutionId) {
  return queryRows(
    db,
    `select name, file_name, storage_key, bytes::int, sha256, content_type from execution_files
      where execution_id = :executionId and direction = 'output' order by storage_key`,
    { executionId },
  );
}

async function findLog(executionId: ExecutionId) {
  const [row] = await queryRows(
    db,
    "select log_key, log_bytes::int, uploaded_at is not null as uploaded from executions where id = :executionId",
    { executionId },
  );
  return row;
}

const sha256 = (content: string): string => createHash("sha256").update(content).digest("hex");

/** What must be there after an upload, however often and with whatever interruption it was tried. */
async function expectUploaded(executionId: ExecutionId): Promise<void> {
  const prefix = `executions/${executionId}`;
  expect(await findRows(executionId)).toEqual([
    {
      name: "report",
      file_name: "report.pdf",
      storage_key: `${prefix}/outputs/0`,
      bytes: 8,
      sha256: sha256("a report"),
      content_type: "application/pdf",
    },
    {
      name: "data",
      file_name: "data.unheard-of",
      storage_key: `${prefix}/outputs/1`,
      bytes: 4,
      sha256: sha256("data"),
      content_type: "application/octet-stream",
    },
  ]);
  expect(await findLog(executionId)).toEqual({ log_key: `${prefix}/log.ndjson`, log_bytes: 7, uploaded: true });
  const stored = ["outputs/0", "outputs/1", "log.ndjson"].map(async (name) =>
    text(await storage.get(`${prefix}/${name}`)),
  );
  expect(await Promise.all(stored)).toEqual(["a report", "data", "a line\n"]);
}

test("uploadOutputs, called twice, leaves the same rows and files as called once", async () => {
  const { executionId, folder } = await aSpooledExecution();
  expect(await upload(executionId)).toEqual({ kind: "uploaded" });
  await expectUploaded(executionId);
  expect(await upload(executionId)).toEqual({ kind: "uploaded" });
  await expectUploaded(executionId);
  expect(await readdir(folder)).toEqual(["result.json"]);
});

test("uploadOutputs, called again while an earlier call is under way, ends right for both", async () => {
  const { executionId } = await aSpooledExecution();
  const outputs = aWorker();
  const calls = [upload(executionId, { outputs }), upload(executionId, { outputs, brief: false })];
  expect(await Promise.all(calls)).toEqual([{ kind: "uploaded" }, { kind: "uploaded" }]);
  await expectUploaded(executionId);
});

test("uploadOutputs, after a call that ended between moving files and recording them, records what that call moved", async () => {
  const { executionId, folder } = await aSpooledExecution();
  await storage.putFile(`executions/${executionId}/outputs/0`, join(folder, "report.pdf"));
  await storage.putFile(`executions/${executionId}/log.ndjson`, spool.logPathOf(executionId));
  expect(await upload(executionId)).toEqual({ kind: "uploaded" });
  await expectUploaded(executionId);
});

test("uploadOutputs, of more than 64 MiB in a brief call, defers it and moves nothing; a patient call uploads it", async () => {
  // With the other output and the log it is a byte too many.
  const firstBytes = 64 * MEBIBYTE - 4 - 7 + 1;
  const { executionId, folder } = await aSpooledExecution({ firstBytes });
  expect(await upload(executionId)).toEqual({ kind: "deferred" });
  expect(await findRows(executionId)).toEqual([]);
  expect(await readdir(folder)).toHaveLength(4);
  expect(await upload(executionId, { brief: false })).toEqual({ kind: "uploaded" });
  expect(await findRows(executionId)).toMatchObject([{ bytes: firstBytes }, { bytes: 4 }]);
});

test("uploadOutputs, of exactly 64 MiB in a brief call, uploads", async () => {
  const { executionId } = await aSpooledExecution({ firstBytes: 64 * MEBIBYTE - 4 - 7 });
  expect(await upload(executionId)).toEqual({ kind: "uploaded" });
});

test("uploadOutputs, on a host that did not run the program, defers to the one that did", async () => {
  const executionId = await anExecutedExecution("host-b");
  expect(await upload(executionId)).toEqual({ kind: "deferred" });
  expect(await findUpload(db, executionId)).toMatchObject({ uploaded: false, hostId: "host-b" });
});

test("uploadOutputs, after the upload when the spool is gone, is done", async () => {
  const { executionId } = await aSpooledExecution();
  await upload(executionId);
  await spool.remove(executionId);
  expect(await upload(executionId)).toEqual({ kind: "uploaded" });
  expect(await upload(executionId, { outputs: aWorker({ hostId: "host-b" }) })).toEqual({ kind: "uploaded" });
  await expectUploaded(executionId);
});

test("uploadOutputs, on the host that ran the program but has lost the outputs, fails with the type `internal`", async () => {
  const executionId = await anExecutedExecution();
  await expect(upload(executionId)).rejects.toMatchObject({ type: "internal", nonRetryable: true });
  expect(await findUpload(db, executionId)).toMatchObject({ uploaded: false });
});

test("uploadOutputs, when one output is neither in the spool nor in storage, fails with the type `internal` and records nothing", async () => {
  const { executionId, folder } = await aSpooledExecution();
  await rm(join(folder, "data.unheard-of"));
  await expect(upload(executionId)).rejects.toMatchObject({ type: "internal", nonRetryable: true });
  expect(await findRows(executionId)).toEqual([]);
});

test("uploadOutputs, when storage fails halfway, throws its error, records nothing, and succeeds when called again", async () => {
  const { executionId } = await aSpooledExecution();
  const failing: Storage = {
    ...storage,
    async putFile(key, path) {
      if (key.endsWith("/outputs/1")) throw new Error("The bucket is gone.");
      return storage.putFile(key, path);
    },
  };
  await expect(upload(executionId, { outputs: aWorker({ storage: failing }) })).rejects.toThrow("The bucket is gone.");
  expect(await findRows(executionId)).toEqual([]);
  expect(await findLog(executionId)).toEqual({ log_key: null, log_bytes: 0, uploaded: false });
  expect(await upload(executionId)).toEqual({ kind: "uploaded" });
  await expectUploaded(executionId);
});

test("uploadOutputs, of a program that wrote nothing, records an upload without files and log", async () => {
  const executionId = await anExecutedExecution();
  await spool.open(executionId);
  await spool.writeResult(executionId, { outputs: [], logPath: undefined, logBytes: 0 });
  expect(await upload(executionId)).toEqual({ kind: "uploaded" });
  expect(await findRows(executionId)).toEqual([]);
  expect(await findLog(executionId)).toEqual({ log_key: null, log_bytes: 0, uploaded: true });
});

test("uploadOutputs, by a host that was given up meanwhile, records nothing and leaves what another host stores since", async () => {
  const { executionId, folder } = await aSpooledExecution({ attemptsMax: 2 });
  await writeFile(join(folder, "kept"), "late");
  expect(await loseOutputs(db, { id: executionId, attempt: 1 })).toBe(true);
  await expect(upload(executionId)).rejects.toThrow("are void");
  expect(await findLog(executionId)).toEqual({ log_key: null, log_bytes: 0, uploaded: false });

  const other = createSpool(join(dir, "other-spool"));
  const claim = { executionId, hostId: "host-b", processId: "proc_b", leaseSeconds: 60, lostMax: 3 };
  expect(await claimAttempt(db, claim)).toMatchObject({ work: { attempt: 2, previous: { outputsLost: 1 } } });
  await endAttempt(db, { ...claim, attempt: 2, outcome: { status: "success", message: "", secondsUsed: 1 } });
  const path = join(await other.open(executionId), "report.pdf");
  await writeFile(path, "a newer report");
  const outputs = [{ name: "report", fileName: "report.pdf", path, bytes: 14 }];
  await other.writeResult(executionId, { outputs, logPath: undefined, logBytes: 0, attempt: 2, outputsLost: 1 });
  const worker = createOutputs({ db, hostId: "host-b", storage, spool: other });
  expect(await upload(executionId, { outputs: worker })).toEqual({ kind: "uploaded" });

  // What the first host stores even now is nobody's.
  await storage.putFile(`executions/${executionId}/outputs/0`, join(folder, "kept"));
  expect(await upload(executionId)).toEqual({ kind: "uploaded" });
  const [row, ...more] = (await findRows(executionId)) as { storage_key: string }[];
  expect([await text(await storage.get(row?.storage_key ?? "")), more]).toEqual(["a newer report", []]);
  expect(await findLog(executionId)).toMatchObject({ log_key: null });
});

test.each([
  ["was handed over", () => Promise.resolve()],
  ["failed", (claim: Parameters<typeof endAttempt>[1]) => endAttempt(db, claim).then(() => undefined)],
])(
  "uploadOutputs, on a host whose attempt %s before the last one, leaves what that one stored",
  async (_how, endFirst) => {
    const executionId = await anExecution(db, { workflow: await aWorkflow(db), attemptsMax: 2 });
    const folders = ["first", "second"].map((name) => createSpool(join(dir, `${name}-${executionId}`)));
    const workers: ReturnType<typeof createOutputs>[] = [];
    for (const [index, own] of folders.entries()) {
      const [attempt, hostId] = [index + 1, `host-${index}`];
      const claim = { executionId, hostId, processId: `proc_${index}`, leaseSeconds: 0, lostMax: 3 };
      expect(await claimAttempt(db, claim)).toMatchObject({ work: { attempt } });
      const folder = await own.open(executionId);
      const content = `of attempt ${attempt}`;
      await writeFile(join(folder, "report.txt"), content);
      await writeFile(own.logPathOf(executionId), toLog(attempt));
      await own.writeResult(executionId, {
        outputs: [{ name: "report", fileName: "report.txt", path: join(folder, "report.txt"), bytes: content.length }],
        logPath: own.logPathOf(executionId),
        logBytes: toLog(attempt).length,
        attempt,
      });
      workers.push(createOutputs({ db, hostId, storage, spool: own }));
      const ended = { ...claim, attempt, outcome: { status: "failed", message: "", secondsUsed: 1 } as const };
      if (index === 0) await endFirst(ended);
      else await endAttempt(db, { ...ended, outcome: { ...ended.outcome, status: "success" } });
    }
    const [first, second] = workers as [ReturnType<typeof createOutputs>, ReturnType<typeof createOutputs>];
    const read = async (key: string) => text(await storage.get(`executions/${executionId}/${key}`));
    expect(await upload(executionId, { outputs: first })).toEqual({ kind: "deferred" });
    expect(await upload(executionId, { outputs: second })).toEqual({ kind: "uploaded" });
    expect(await upload(executionId, { outputs: first })).toEqual({ kind: "uploaded" });
    expect([await read("outputs/0"), await read("log.ndjson")]).toEqual(["of attempt 2", toLog(2)]);
  },
);

test("uploadOutputs, on the host that has lost the outputs of a program that may run again, leaves it to be run again", async () => {
  const executionId = await anExecutedExecution(HOST, 2);
  for (let tries = 0; tries < 2; tries += 1) await expect(upload(executionId)).rejects.toThrow("is run again");
  expect(await findUpload(db, executionId)).toMatchObject({ uploaded: false, isLost: true });
});

test("uploadOutputs, of an execution cancelled while its second attempt ran and was lost, has nothing to store but its log", async () => {
  const executionId = await anExecution(db, { workflow: await aWorkflow(db), attemptsMax: 2 });
  const claim = { executionId, hostId: HOST, processId: PROCESS, leaseSeconds: 60, lostMax: 3 };
  const failed = { status: "failed", message: "no luck", secondsUsed: 1 } as const;
  for (const [attempt, outcome] of [
    [1, failed],
    [2, null],
  ] as const) {
    expect(await claimAttempt(db, claim)).toMatchObject({ work: { attempt } });
    await writeFile(join(await spool.open(executionId), "report.txt"), "half");
    await writeFile(spool.logPathOf(executionId), toLog(attempt));
    await endAttempt(db, { ...claim, attempt, outcome });
  }
  // Given up by us and not cancelled, it is nothing to be settled.
  await expect(upload(executionId)).rejects.toThrow("no longer on the host");
  await requestCancel(db, executionId, "api");
  expect(await claimAttempt(db, claim)).toMatchObject({
    kind: "ended",
    outcome: { status: "cancelled", secondsUsed: 1 },
  });
  expect(await upload(executionId)).toEqual({ kind: "uploaded" });
  await aWorker().keepLog(executionId);
  expect(await findRows(executionId)).toEqual([]);
  expect(await text(await storage.get(`executions/${executionId}/log.ndjson`))).toBe(toLog(2));
});

const toLog = (...ids: number[]): string => ids.map((id) => `{"id":${id},"text":"a\u2028b ${id}"}\n`).join("");

test("dropUnrecorded, of an execution ended between storing and recording, deletes its outputs from storage and keeps its log", async () => {
  const { executionId, folder } = await aSpooledExecution();
  const kept = { "outputs/0": "report.pdf", "outputs/1": "data.unheard-of", "log.ndjson": "log.ndjson" };
  for (const [key, name] of Object.entries(kept))
    await storage.putFile(`executions/${executionId}/${key}`, join(folder, name));
  const listOwn = async () => (await listKeys(storage)).filter((key) => key.includes(executionId));
  expect(await listOwn()).toHaveLength(3);
  const outputs = createOutputs({ db, hostId: HOST, storage, spool });
  await outputs.dropUnrecorded(executionId);
  expect(await listOwn()).toHaveLength(3); // It may be recorded still.
  await release(db, { executionId, status: "cancelled", failure: null, message: "Cancelled." });
  await outputs.keepLog(executionId);
  await outputs.dropUnrecorded(executionId);
  expect(await listOwn()).toEqual([`executions/${executionId}/log.ndjson`]);
  expect((await findExecution(db, executionId))?.logKey).toBe(`executions/${executionId}/log.ndjson`);
});

test("keepLog, on a host where an attempt was lost, adds what only that host has once the execution has ended, and nothing twice", async () => {
  const { executionId, folder } = await aSpooledExecution();
  await writeFile(join(folder, "log.ndjson"), toLog(1_000_001, 1_000_002));
  await upload(executionId);
  const away = createSpool(join(dir, "away-spool"));
  await away.open(executionId);
  await writeFile(away.logPathOf(executionId), `${toLog(1, 2)}{"id":3,"te`);
  const { keepLog } = createOutputs({ db, hostId: "host-b", storage, spool: away });
  const read = async () => text(await storage.get(`executions/${executionId}/log.ndjson`));
  await keepLog(executionId);
  expect(await read()).toBe(toLog(1_000_001, 1_000_002));
  const end = "update executions set state = 'success', finished_at = now() where id = :executionId";
  await queryRows(db, end, { executionId });
  for (const _ of ["once", "and again"]) await keepLog(executionId);
  expect(await read()).toBe(toLog(1, 2, 1_000_001, 1_000_002));
  await writeFile(away.logPathOf(executionId), toLog(2, 1_000_001, 2_000_000));
  await keepLog(executionId);
  const whole = toLog(1, 2, 1_000_001, 1_000_002, 2_000_000);
  expect(await read()).toBe(whole);
  expect(await findLog(executionId)).toMatchObject({ log_bytes: Buffer.byteLength(whole) });
});
