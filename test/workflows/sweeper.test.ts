import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Client } from "@temporalio/client";
import { Worker } from "@temporalio/worker";
import { type Activities, createActivities } from "../../activities/index.ts";
import { createSpool, type Spool } from "../../activities/spool.ts";
import { hostQueue, TASK_QUEUE } from "../../activities/task-queues.ts";
import { type Db, queryRows } from "../../db/connect.ts";
import { claimAttempt, endAttempt } from "../../db/executions/attempts.ts";
import { findExecution, listOpenExecutions } from "../../db/executions/executions.ts";
import { insertOutputs } from "../../db/executions/outputs.ts";
import { findRepairCounts, type Repair } from "../../db/executions/repairs.ts";
import { findBalance, reserve } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { createSweeper, type SweeperDeps } from "../../src/executions/sweeper.ts";
import { createLog } from "../../src/log.ts";
import { createTemporalClient, type TemporalClient } from "../../src/temporal/client.ts";
import { createDiskStorage } from "../../storage/disk.ts";
import type { Storage } from "../../storage/storage.ts";
import { createSlots } from "../../system/slots.ts";
import { removeTree } from "../../system/trees/remove-tree.ts";
import { anAccount, anExecution, aWorkflow } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";
import { aTemporal, type TestTemporal } from "../support/temporal.ts";

const HOST = "host-a";
const PRICES = { perCpuSecond: microCredits(10_000), perExecution: microCredits(1_000) };
const GRANTED = 10_000_000n;
const log = createLog({ level: "silent", terminal: false });

let database: TestDatabase;
let db: Db;
let temporal: TestTemporal;
let temporalClient: TemporalClient;
let client: Client;
let dir: string;
let spool: Spool;
let storage: Storage;
let activities: Activities;
let keeping: ReturnType<typeof createActivities>["keeping"];
let started: ExecutionId[] = [];

beforeAll(async () => {
  database = await aDatabase();
  db = database.db;
  temporal = await aTemporal();
  temporalClient = createTemporalClient(temporal.connection, temporal.namespace);
  client = new Client({ connection: temporal.connection, namespace: temporal.namespace });
  dir = await mkdtemp(join(tmpdir(), "treadle-sweeper-"));
  storage = await createDiskStorage({ dir: join(dir, "storage") });
  spool = createSpool(join(dir, "spool"));
  await spool.open("ex_makes0the0folder0" as ExecutionId);
  ({ activities, keeping } = createActivities({
    db,
    prices: PRICES,
    hostId: HOST,
    processId: "proc_a",
    storage,
    spool,
    smallBytesMax: 0,
    slots: createSlots({ count: 4 }),
    runProgram: async ({ executionId }) => {
      started.push(executionId);
      await spool.open(executionId);
      await spool.writeResult(executionId, { outputs: [], logPath: undefined, logBytes: 0 });
      return { status: "success", message: "", secondsUsed: 1 };
    },
    onEnded: () => undefined,
    onError: () => undefined,
    recordTick: async () => Promise.reject(new Error("No schedule is fired here.")),
  }));
});

afterAll(async () => {
  await temporal?.stop();
  await database?.drop();
  await rm(dir, { recursive: true, force: true });
});

/** One sweep, as if `openSeconds` had passed for every open execution. */
async function sweep(given: Partial<SweeperDeps> & { openSeconds?: number } = {}): Promise<void> {
  const sweeper = createSweeper({
    db,
    temporalClient: given.temporalClient ?? temporalClient,
    activities,
    keeping,
    spool: given.spool ?? spool,
    hostId: HOST,
    processId: "proc_a",
    hostGoneSeconds: 300,
    log,
  });
  try {
    await sweeper.sweep({ openSeconds: given.openSeconds ?? 0 });
  } finally {
    await sweeper.close();
  }
  expect(await listForgotten()).toEqual([]);
}

/** Reservations that are still open though their execution has ended: there must never be one. */
function listForgotten(): Promise<unknown[]> {
  return queryRows(
    db,
    `select e.id from reservations r join executions e on e.id = r.execution_id
      where r.state = 'open' and e.finished_at is not null`,
  );
}

/** Which repairs something makes, and how many. */
async function countRepairs(act: () => Promise<void>): Promise<Partial<Record<Repair, number>>> {
  const before = await findRepairCounts(db);
  await act();
  const grown = Object.entries(await findRepairCounts(db)).map(([repair, count]) => [
    repair,
    count - before[repair as Repair],
  ]);
  return Object.fromEntries(grown.filter(([, count]) => count !== 0)) as Partial<Record<Repair, number>>;
}

/** An accepted execution of an account of its own that Temporal has not heard of. */
async function anAcceptedExecution() {
  const accountId = await anAccount(db, { microCredits: GRANTED });
  const executionId = await anExecution(db, { workflow: await aWorkflow(db, { accountId }) });
  return { accountId, executionId, findBalance: () => findBalance(db, accountId) };
}

/** Starts an execution in Temporal, where no worker takes it unless the test runs one. */
async function startInTemporal(executionId: ExecutionId): Promise<void> {
  const open = await listOpenExecutions(db, { olderThanSeconds: 0, limit: 1_000 });
  const execution = open.find(({ id }) => id === executionId);
  if (execution === undefined) throw new Error(`${executionId} is not open.`);
  await temporalClient.start({ ...execution, executionId });
}

/** Runs a worker with the real activities until the execution has ended in Temporal. */
async function work(executionId: ExecutionId): Promise<void> {
  const common = { connection: temporal.connection, namespace: temporal.namespace };
  const worker = await Worker.create({
    ...common,
    activities,
    taskQueue: TASK_QUEUE,
    workflowBundle: temporal.workflowBundle,
  });
  const host = await Worker.create({ ...common, activities, taskQueue: hostQueue(HOST) });
  await host.runUntil(worker.runUntil(client.workflow.getHandle(executionId).result()));
}

async function recordOutcome(executionId: ExecutionId, given: { uploaded: boolean }): Promise<void> {
  const claim = { executionId, hostId: HOST, processId: "proc_a", leaseSeconds: 60, lostMax: 3 };
  await claimAttempt(db, claim);
  await endAttempt(db, { ...claim, attempt: 1, outcome: { status: "success", message: "", secondsUsed: 1.5 } });
  if (given.uploaded) await insertOutputs(db, { executionId, files: [], logKey: null, logBytes: 0 });
}

test("sweep, of an execution that was recorded but never started, starts it, and it ends as any other", async () => {
  const { executionId, findBalance: balance } = await anAcceptedExecution();
  expect(await temporalClient.describe(executionId)).toBe("gone");
  expect(await countRepairs(sweep)).toEqual({ started: 1 });
  expect(await temporalClient.describe(executionId)).toBe("running");
  expect(await countRepairs(sweep)).toEqual({});
  await work(executionId);
  expect(started.filter((id) => id === executionId)).toHaveLength(1);
  expect(await findExecution(db, executionId)).toMatchObject({ state: "success", chargeTotal: 11_000n });
  expect(await balance()).toMatchObject({ balance: GRANTED - 11_000n, reserved: 0n });
});

test("sweep, of an execution accepted just now, leaves it to whoever accepted it", async () => {
  const { executionId } = await anAcceptedExecution();
  await sweep({ openSeconds: 20 });
  expect(await temporalClient.describe(executionId)).toBe("gone");
  expect(await findExecution(db, executionId)).toMatchObject({ state: "queued" });
});

test("sweep, of an execution that is under way in Temporal, leaves it alone", async () => {
  const { executionId, findBalance: balance } = await anAcceptedExecution();
  await startInTemporal(executionId);
  await reserve(db, executionId);
  await sweep();
  expect(await findExecution(db, executionId)).toMatchObject({ state: "queued" });
  expect(await balance()).toMatchObject({ reserved: 3_001_000n });
  await client.workflow.getHandle(executionId).terminate();
  await activities.releaseCredits({ executionId, cause: "terminated" });
});

test("sweep, of an execution terminated in Temporal, ends it as cancelled and frees what it held without a charge", async () => {
  const { executionId, findBalance: balance } = await anAcceptedExecution();
  await startInTemporal(executionId);
  await reserve(db, executionId);
  await client.workflow.getHandle(executionId).terminate("by the test");
  expect(await countRepairs(sweep)).toEqual({ terminated: 1 });
  expect(await findExecution(db, executionId)).toMatchObject({
    state: "cancelled",
    failure: null,
    message: "Ended by the operator. Nothing was charged.",
    chargeTotal: 0n,
  });
  expect(await balance()).toMatchObject({ balance: GRANTED, reserved: 0n });
});

test("sweep, of an execution that Temporal timed out, ends it as a fault of ours and frees what it held", async () => {
  const { executionId, findBalance: balance } = await anAcceptedExecution();
  await reserve(db, executionId);
  await client.workflow.start("executeCommit", {
    workflowId: executionId,
    taskQueue: "nobody",
    args: [{ timeoutSeconds: 1 }],
    workflowExecutionTimeout: "1 s",
  });
  while ((await temporalClient.describe(executionId)) === "running") await sleep(100);
  expect(await temporalClient.describe(executionId)).toBe("expired");
  expect(await countRepairs(sweep)).toEqual({ expired: 1 });
  expect(await findExecution(db, executionId)).toMatchObject({ state: "failed", failure: "internal", chargeTotal: 0n });
  expect(await balance()).toMatchObject({ balance: GRANTED, reserved: 0n });
});

test("sweep, of an execution that had run when Temporal lost its database, starts it again, and it is charged once", async () => {
  const { executionId, findBalance: balance } = await anAcceptedExecution();
  await reserve(db, executionId);
  await recordOutcome(executionId, { uploaded: true });
  expect(await countRepairs(sweep)).toEqual({ restarted: 1 });
  await work(executionId);
  expect(started).not.toContain(executionId);
  expect(await findExecution(db, executionId)).toMatchObject({ state: "success", chargeTotal: 16_000n });
  expect(await balance()).toMatchObject({ balance: GRANTED - 16_000n, reserved: 0n });
});

test("sweep, of one that ran and was uploaded but ended in Temporal before it was settled, settles it once", async () => {
  const { executionId, findBalance: balance } = await anAcceptedExecution();
  await startInTemporal(executionId);
  await reserve(db, executionId);
  await recordOutcome(executionId, { uploaded: true });
  await client.workflow.getHandle(executionId).terminate();
  expect(await countRepairs(sweep)).toEqual({ settled: 1 });
  expect(await countRepairs(sweep)).toEqual({});
  expect(await findExecution(db, executionId)).toMatchObject({ state: "success", chargeTotal: 16_000n });
  expect(await balance()).toMatchObject({ balance: GRANTED - 16_000n, reserved: 0n });
});

test("sweep, of one that ran but was not uploaded and failed in Temporal, releases it as a fault of ours", async () => {
  const { executionId, findBalance: balance } = await anAcceptedExecution();
  await reserve(db, executionId);
  await recordOutcome(executionId, { uploaded: false });
  const lost = { ...temporalClient, describe: async () => "completed" as const };
  expect(await countRepairs(() => sweep({ temporalClient: lost }))).toEqual({ released: 1 });
  expect(await findExecution(db, executionId)).toMatchObject({ state: "failed", failure: "internal", chargeTotal: 0n });
  expect(await balance()).toMatchObject({ balance: GRANTED, reserved: 0n });
});

test("sweep, when one execution cannot be repaired, repairs those after it and says what failed", async () => {
  const [broken, next] = [await anAcceptedExecution(), await anAcceptedExecution()];
  const sweeping = sweep({
    temporalClient: {
      ...temporalClient,
      async start(input) {
        if (input.executionId === broken.executionId) throw new Error("Its name cannot be stored.");
        return temporalClient.start(input);
      },
    },
  });
  await expect(sweeping).rejects.toThrow("Its name cannot be stored.");
  expect(await temporalClient.describe(next.executionId)).toBe("running");
  for (const { executionId } of [broken, next]) await activities.releaseCredits({ executionId, cause: "internal" });
  await client.workflow.getHandle(next.executionId).terminate();
});

test("sweep, with folders in the spool, removes those of ended executions and keeps the others", async () => {
  const [ended, open] = [await anAcceptedExecution(), await anAcceptedExecution()];
  await activities.releaseCredits({ executionId: ended.executionId, cause: "cancelled" });
  for (const { executionId } of [ended, open]) await writeFile(join(await spool.open(executionId), "output"), "x");
  await sweep({ openSeconds: 3_600 });
  const left = await readdir(join(dir, "spool"));
  expect(left).toContain(open.executionId);
  expect(left).not.toContain(ended.executionId);
});

test("sweep, where a folder of the spool cannot be removed, removes those after it and says so", async () => {
  const executions = [await anAcceptedExecution(), await anAcceptedExecution(), await anAcceptedExecution()];
  for (const { executionId } of executions) {
    await activities.releaseCredits({ executionId, cause: "cancelled" });
    await writeFile(join(await spool.open(executionId), "output"), "x");
  }
  const stuck = (await spool.list()).find((id) => executions.some(({ executionId }) => executionId === id)) ?? "";
  const spoilt = createSpool(join(dir, "spool"), (path) =>
    path.endsWith(stuck) ? Promise.reject(new Error("It is stuck.")) : removeTree(path),
  );
  await expect(sweep({ openSeconds: 3_600, spool: spoilt })).rejects.toThrow("1 spool folders could not be removed.");
  const left = await readdir(join(dir, "spool"));
  expect(left.filter((name) => executions.some(({ executionId }) => executionId === name))).toEqual([stuck]);
  await sweep({ openSeconds: 3_600 });
});

/** Lets a process begin an execution's program and write a line, as if it ran. */
async function begin(executionId: ExecutionId) {
  await reserve(db, executionId);
  const claim = { executionId, hostId: HOST, processId: "proc_a", leaseSeconds: 60, lostMax: 3 };
  await claimAttempt(db, claim);
  await spool.open(executionId);
  await writeFile(spool.logPathOf(executionId), LOGGED);
  return claim;
}

const LOGGED = '{"id":1,"time":"2026-05-01T10:00:00.000Z","stream":"stdout","text":"hello"}\n';
async function readKeptLog(executionId: ExecutionId): Promise<string> {
  const stored = await storage.get((await findExecution(db, executionId))?.logKey ?? "none");
  return Buffer.concat((await stored.toArray()) as Buffer[]).toString();
}

test("sweep, of one that is terminated while its program runs, asks that to end, then charges what it used and keeps its log", async () => {
  await sweep(); // What other tests have left open.
  const { executionId, findBalance: balance } = await anAcceptedExecution();
  await startInTemporal(executionId);
  await client.workflow.getHandle(executionId).terminate();
  const claim = await begin(executionId);
  expect(await countRepairs(sweep)).toEqual({});
  expect(await findExecution(db, executionId)).toMatchObject({ state: "running", cancelRequestedBy: "temporal" });
  // What its process does when it hears of that; it dies before it can settle.
  const logPath = spool.logPathOf(executionId);
  await spool.writeResult(executionId, { outputs: [], logPath, logBytes: 5 });
  await endAttempt(db, { ...claim, attempt: 1, outcome: { status: "cancelled", message: "", secondsUsed: 1.5 } });
  expect(await countRepairs(sweep)).toEqual({ settled: 1 });
  expect(await findExecution(db, executionId)).toMatchObject({ state: "cancelled", secondsUsed: 1.5 });
  expect(await balance()).toMatchObject({ balance: GRANTED - 16_000n, reserved: 0n });
  expect(await readKeptLog(executionId)).toBe(LOGGED);
});

test("sweep, of one that was given up with its worker, keeps what its program wrote", async () => {
  const { executionId } = await anAcceptedExecution();
  await begin(executionId);
  await activities.releaseCredits({ executionId, cause: "internal" });
  await sweep({ openSeconds: 3_600 });
  expect(await spool.list()).not.toContain(executionId);
  expect(await readKeptLog(executionId)).toBe(LOGGED);
});
