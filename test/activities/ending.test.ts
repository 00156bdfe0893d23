import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createActivities } from "../../activities/index.ts";
import { createSpool, type Spool } from "../../activities/spool.ts";
import { type Db, queryRows } from "../../db/connect.ts";
import { type ExecutionRecord, findExecution } from "../../db/executions/executions.ts";
import { createSmallObjects } from "../../db/executions/small-objects.ts";
import { findMoneyFaults } from "../../db/ledger/audit.ts";
import { release } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionResult, PythonOutcome } from "../../domain/execution.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { createDiskStorage } from "../../storage/disk.ts";
import { withSmallObjects } from "../../storage/small-objects.ts";
import type { Storage } from "../../storage/storage.ts";
import { createSlots } from "../../system/slots.ts";
import { anAccount, anExecution, aWorkflow } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";

const OUTPUTS = { "zeta.txt": "the last", "alpha.json": "{}", "über.csv": "a,b\n" };
const LOG = '{"id":1,"text":"a line"}\n';

let database: TestDatabase;
let db: Db;
let dir: string;
let spool: Spool;
let stored: Storage;
let storage: Storage;
let accountId: AccountId;
/** What callers were told, and what happens between a program's end and its record. */
const told = new Map<ExecutionId, ExecutionResult | undefined>();
const meanwhile = new Map<ExecutionId, () => Promise<unknown>>();

beforeAll(async () => {
  database = await aDatabase();
  db = database.db;
  dir = await mkdtemp(join(tmpdir(), "treadle-ending-"));
  spool = createSpool(join(dir, "spool"));
  stored = await createDiskStorage({ dir: join(dir, "storage") });
  storage = withSmallObjects(stored, createSmallObjects(db));
  accountId = await anAccount(db, { microCredits: 100_000_000n });
});

afterAll(async () => {
  await database?.drop();
  await rm(dir, { recursive: true, force: true });
});

/** A process whose programs end as given, with three outputs and a line in the log: in files, or held in the result. */
function aProcess({
  smallBytesMax = 1_000,
  isHeld = false,
  outcome = { status: "success", message: "", secondsUsed: 1.5 } as PythonOutcome,
} = {}) {
  return createActivities({
    db,
    prices: { perCpuSecond: microCredits(10_000), perExecution: microCredits(1_000) },
    hostId: "host-a",
    processId: "proc_a",
    storage,
    smallBytesMax,
    spool,
    slots: createSlots({ count: 4 }),
    runProgram: async ({ executionId }) => {
      const folder = await spool.open(executionId);
      const outputs = Object.entries(OUTPUTS).map(([fileName, content]) => ({
        fileName,
        content,
        path: join(folder, fileName),
      }));
      if (!isHeld) {
        for (const { path, content } of outputs) await writeFile(path, content);
        await writeFile(spool.logPathOf(executionId), LOG);
      }
      await spool.writeResult(executionId, {
        outputs: outputs.map(({ fileName, path, content }) => ({
          name: fileName.split(".")[0] ?? "",
          fileName,
          path,
          bytes: Buffer.byteLength(content),
          content: isHeld ? Buffer.from(content) : undefined,
        })),
        logPath: isHeld ? undefined : spool.logPathOf(executionId),
        logText: isHeld ? LOG : undefined,
        logBytes: 6, // Of its text alone.
        attempt: 1,
      });
      await meanwhile.get(executionId)?.();
      return outcome;
    },
    onEnded: (executionId, result) => told.set(executionId, result),
    onError: () => undefined,
    recordTick: async () => Promise.reject(new Error("No schedule is fired here.")),
  });
}

async function carryOut(process: ReturnType<typeof aProcess>, executionId: ExecutionId): Promise<ExecutionRecord> {
  await process.steps.reserve({ executionId, accountId });
  await process.steps.run({ executionId, accountId });
  await process.steps.isFinished(executionId);
  await until(() => told.has(executionId));
  return (await findExecution(db, executionId)) as ExecutionRecord;
}

const anAccepted = async (): Promise<ExecutionId> => anExecution(db, { workflow: await aWorkflow(db, { accountId }) });

async function readAll(executionId: ExecutionId): Promise<Record<string, string>> {
  const contents: Record<string, string> = {};
  for await (const key of storage.list(`executions/${executionId}/`))
    contents[key.replace(`executions/${executionId}/`, "")] = Buffer.concat(
      await (await storage.get(key)).toArray(),
    ).toString();
  return contents;
}

const countStored = async (executionId: ExecutionId): Promise<number> => {
  let count = 0;
  for await (const _ of stored.list(`executions/${executionId}/`)) count += 1;
  return count;
};

test.each([
  ["in files", false],
  ["held in its result", true],
])(
  "an execution with little output %s ends in one commit, and its caller is told what the record has",
  async (_, isHeld) => {
    const executionId = await anAccepted();
    const record = await carryOut(aProcess({ isHeld }), executionId);
    expect(record).toMatchObject({ state: "success", attempts: 1, logKey: `executions/${executionId}/log.ndjson` });
    const { secondsUsed, chargeCompute, chargeTotal, outputs, draft, message, state: status } = record;
    expect(told.get(executionId)).toEqual({ status, message, secondsUsed, chargeCompute, chargeTotal, outputs, draft });
    expect(await readAll(executionId)).toEqual({
      "log.ndjson": LOG,
      ...Object.fromEntries(Object.values(OUTPUTS).map((content, at) => [`outputs/${at}`, content])),
    });
    expect(await countStored(executionId)).toBe(0);
    await until(async () => !(await spool.list()).includes(executionId));
    expect(await findMoneyFaults(db)).toEqual([]);
  },
);

test("an execution with more output, or where small outputs are switched off, is stored first and has the same record", async () => {
  const byOne = await carryOut(aProcess(), await anAccepted());
  for (const process of [
    { smallBytesMax: 20 },
    { smallBytesMax: 0 },
    { smallBytesMax: 20, isHeld: true },
    { smallBytesMax: 0, isHeld: true },
  ]) {
    const executionId = await anAccepted();
    const record = await carryOut(aProcess(process), executionId);
    expect([told.get(executionId), await countStored(executionId)]).toEqual([undefined, 4]);
    expect((await readAll(executionId))["log.ndjson"]).toBe(LOG);
    for (const field of ["state", "message", "secondsUsed", "chargeCompute", "chargeTotal", "outputs"] as const)
      expect(record[field]).toEqual(byOne[field]);
  }
  expect(await findMoneyFaults(db)).toEqual([]);
});

test("a program that fails, and one that was stopped, end in one commit with their reason and their price", async () => {
  for (const status of ["failed", "timed_out", "cancelled"] as const) {
    const outcome = { status, message: `It ${status}.`, secondsUsed: 2 };
    const executionId = await anAccepted();
    const record = await carryOut(aProcess({ outcome }), executionId);
    expect(record).toMatchObject({ state: status, message: `It ${status}.`, chargeTotal: 21_000n });
    expect(told.get(executionId)).toMatchObject({ status, chargeTotal: 21_000n });
  }
});

test("an attempt that was given to another worker ends nothing, whatever it brings", async () => {
  const executionId = await anAccepted();
  meanwhile.set(executionId, () =>
    queryRows(db, "update attempts set process_id = 'proc_b', host_id = 'host-b' where execution_id = :executionId", {
      executionId,
    }),
  );
  const process = aProcess();
  await process.steps.reserve({ executionId, accountId });
  process.steps.run({ executionId, accountId }).catch(() => undefined);
  await until(() => process.python.runningCount() === 1);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(await findExecution(db, executionId)).toMatchObject({ state: "running", outputs: [] });
  expect([told.has(executionId), await readAll(executionId)]).toEqual([false, {}]);
  await queryRows(db, "update attempts set ended_at = now(), status = 'success' where execution_id = :executionId", {
    executionId,
  });
  await until(() => process.python.runningCount() === 0);
});

test("an execution that was released while its program ran keeps its outputs, costs nothing, and has no result of the program", async () => {
  const executionId = await anAccepted();
  meanwhile.set(executionId, () =>
    release(db, { executionId, status: "cancelled", failure: null, message: "Cancelled." }),
  );
  const record = await carryOut(aProcess(), executionId);
  const logKey = `executions/${executionId}/log.ndjson`;
  expect(record).toMatchObject({ state: "cancelled", chargeTotal: 0n, outputs: [{}, {}, {}], logKey });
  expect([told.has(executionId), told.get(executionId)]).toEqual([true, undefined]);
  expect(await findMoneyFaults(db)).toEqual([]);
});

test("executions of one account that end together are each ended once, with their own outputs", async () => {
  const process = aProcess();
  const ids = await Promise.all(Array.from({ length: 12 }, anAccepted));
  const records = await Promise.all(ids.map((id) => carryOut(process, id)));
  expect(records.map(({ state, outputs }) => [state, outputs.length])).toEqual(ids.map(() => ["success", 3]));
  expect(await findMoneyFaults(db)).toEqual([]);
});
