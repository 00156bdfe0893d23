import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createActivities } from "../../activities/index.ts";
import { createProgramRunner } from "../../activities/program.ts";
import { createSpool } from "../../activities/spool.ts";
import { type Db, queryRows } from "../../db/connect.ts";
import { type ExecutionRecord, findExecution } from "../../db/executions/executions.ts";
import { findMoneyFaults } from "../../db/ledger/audit.ts";
import { findBalance } from "../../db/ledger/credits.ts";
import { chargeFor, microCredits, type Prices } from "../../domain/credits.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import type { Retry } from "../../domain/manifest/manifest.ts";
import { createSandbox, type Sandbox } from "../../sandbox/sandbox.ts";
import { createSlots } from "../../system/slots.ts";
import { aService, execute, type Start, type TestService } from "../http/service.ts";
import { type Bench, findInterpreter, LIMITS, openBench } from "../runner/harness.ts";
import { anAccount, anInput, aWorkflow } from "../support/builders.ts";
import { until } from "../support/until.ts";

/** A slice of 4 s costs 0.04 credits, and an execution 0.001 besides. */
const PRICES: Prices = { perCpuSecond: microCredits(10_000), perExecution: microCredits(1_000), sliceSeconds: 4 };
const SLICE = 40_000n;
const FEE = 1_000n;

/** Sleeps, and leaves a note when it is asked to end. A first attempt of several fails after three seconds. */
const MAIN = `
import os, pathlib, signal, sys, time

def end(number, frame):
    pathlib.Path("outputs/note.txt").write_text("asked to end")
    sys.exit(3)

def main(seconds, fails):
    signal.signal(signal.SIGTERM, end)
    print("begun", flush=True)
    if fails and os.environ["TREADLE_RUN_ATTEMPT"] == "1":
        time.sleep(3)
        sys.exit(1)
    time.sleep(seconds)
`;

let bench: Bench;
let sandbox: Sandbox;
let service: TestService;
let db: Db;
let current: Host;
const faults: unknown[] = [];

beforeAll(async () => {
  bench = await openBench();
  sandbox = createSandbox(bench.settings);
  service = await aService({ prices: PRICES, run: async (_db, { executionId }) => begin(current, executionId) });
  db = service.db;
  current = aHost("proc_a");
});

afterAll(async () => {
  await sandbox?.close();
  await bench?.close();
  await service?.close();
});

type Host = ReturnType<typeof aHost>;

/** A process that runs programs in sandboxes, on the host of the others. */
function aHost(processId: string) {
  const commitDir = join(bench.root, "commit");
  mkdirSync(commitDir, { recursive: true });
  writeFileSync(join(commitDir, "main.py"), MAIN);
  const spool = createSpool(join(bench.root, "spool"));
  const { runProgram } = createProgramRunner({
    db,
    sandbox,
    spool,
    storage: service.storage,
    hostId: "host1",
    ceilings: bench.settings.limits,
    checkouts: { ensure: async () => commitDir } as never,
    commitEnvironments: { ensure: async () => ({ python: findInterpreter(), environmentDir: null }) } as never,
    runtimes: { prepare: async () => undefined },
    smallBytesMax: 65_536,
    hostProblem: () => undefined,
    takeValues: async () => ({ secrets: new Map(), variables: new Map() }),
    openSecrets: () => ({}),
  });
  return createActivities({
    db,
    prices: PRICES,
    hostId: "host1",
    processId,
    spool,
    storage: service.storage,
    runProgram,
    smallBytesMax: 65_536,
    slots: createSlots({ count: 4 }),
    onEnded: () => undefined,
    onError: (_id, error) => faults.push(error),
    recordTick: async () => Promise.reject(new Error("No schedule is fired here.")),
  });
}

/** Takes the steps of an execution as its process does, to its end in the record. */
async function begin({ steps }: Host, executionId: ExecutionId): Promise<void> {
  const accountId = (await findExecution(db, executionId))?.accountId as AccountId;
  await steps.reserve({ executionId, accountId });
  void steps
    .run({ executionId, accountId })
    .then(() => steps.isFinished(executionId))
    .catch(() => undefined);
}

async function aLongRun(given: {
  credits: bigint;
  seconds: number;
  timeoutSeconds?: number;
  retry?: Retry;
  fails?: boolean;
}) {
  const accountId = await anAccount(db, { microCredits: given.credits });
  const manifest = {
    inputs: [anInput("number", "seconds"), anInput("boolean", "fails")],
    limits: { ...LIMITS, timeoutSeconds: given.timeoutSeconds ?? 60, network: false },
    retry: given.retry ?? { attemptsMax: 1 },
  };
  const workflow = await aWorkflow(db, { accountId, manifest });
  const answer = execute(service, workflow, { seconds: given.seconds, fails: given.fails ?? false });
  const isOurs = (start: Start): boolean => start.accountId === accountId;
  await until(() => service.started.some(isOurs));
  const { executionId } = service.started.find(isOurs) as Start;
  return { accountId, executionId, answer };
}

const heldFor = async (accountId: AccountId): Promise<bigint> => (await findBalance(db, accountId))?.reserved ?? -1n;

/** Expects that an execution was charged for each of its seconds, that nothing is held for it, and that the books agree. */
async function expectExact(executionId: ExecutionId, accountId: AccountId, credits: bigint): Promise<number> {
  await until(async () => (await findExecution(db, executionId))?.finishedAt !== null);
  const { secondsUsed, chargeTotal } = (await findExecution(db, executionId)) as ExecutionRecord;
  expect(chargeTotal).toBe(chargeFor({ cpu: 1, seconds: secondsUsed }, PRICES).total);
  expect(await findBalance(db, accountId)).toEqual({
    balance: credits - chargeTotal,
    reserved: 0n,
    available: credits - chargeTotal,
  });
  expect(await findMoneyFaults(db)).toEqual([]);
  return secondsUsed;
}

test("a run longer than a slice, with credits for all of it, holds a slice more before each ends and is charged what it used", async () => {
  const credits = 1_000_000n;
  const { accountId, executionId, answer } = await aLongRun({ credits, seconds: 5 });
  await until(async () => (await heldFor(accountId)) === SLICE + FEE);
  await until(async () => (await heldFor(accountId)) === 2n * SLICE + FEE);
  expect((await answer).status).toBe(200);
  expect(await expectExact(executionId, accountId, credits)).toBeGreaterThan(5);
});

test("a run whose next slice cannot be paid is asked to end, keeps what it leaves, is charged what it used, and is not tried again", async () => {
  const credits = 70_000n;
  const retry = { attemptsMax: 3, on: ["failed", "timed_out"] } as const;
  const { accountId, executionId, answer } = await aLongRun({ credits, seconds: 50, retry });
  const ended = await answer;
  expect(ended.status).toBe(500);
  expect(ended.json()).toMatchObject({ status: "failed", outputs: { note: expect.anything() } });
  expect(await findExecution(db, executionId)).toMatchObject({
    failure: null,
    message:
      "It was asked to end, because more than its first 4s could not be paid: then it may cost 0.081 credits, and the account had only 0.029 available beside what was held. What it used is charged.",
  });
  const seconds = await expectExact(executionId, accountId, credits);
  expect(seconds).toBeGreaterThan(1.5);
  expect(seconds).toBeLessThanOrEqual(4);
  expect(await queryRows(db, "select status from attempts where execution_id = :executionId", { executionId })).toEqual(
    [{ status: "failed" }],
  );
});

test("a run whose first attempt fails holds the slices of the next one beside what the first used, and is charged for both", async () => {
  const credits = 1_000_000n;
  const retry = { attemptsMax: 2 };
  const { accountId, executionId, answer } = await aLongRun({ credits, seconds: 5.5, fails: true, retry });
  expect((await answer).status).toBe(200);
  // More than two slices: without what the first attempt used, so much would not have been held.
  expect(await expectExact(executionId, accountId, credits)).toBeGreaterThan(8.5);
});

test("a run whose next slice cannot be held while the database is away goes on, and holds it later", async () => {
  const credits = 1_000_000n;
  faults.length = 0;
  const { accountId, executionId, answer } = await aLongRun({ credits, seconds: 7 });
  await until(async () => (await heldFor(accountId)) === SLICE + FEE);
  await queryRows(db, "alter function raise_reservation(text, bigint) rename to raise_away");
  await until(() => faults.length >= 2);
  await queryRows(db, "alter function raise_away(text, bigint) rename to raise_reservation");
  await until(async () => (await heldFor(accountId)) > SLICE + FEE);
  expect((await answer).status).toBe(200);
  expect(await expectExact(executionId, accountId, credits)).toBeGreaterThan(7);
});

test("a run that may take no longer than a slice asks for nothing while it runs", async () => {
  const credits = SLICE + FEE;
  await queryRows(db, "alter function raise_reservation(text, bigint) rename to raise_away");
  try {
    faults.length = 0;
    const { accountId, executionId, answer } = await aLongRun({ credits, seconds: 3, timeoutSeconds: 4 });
    expect((await answer).status).toBe(200);
    await expectExact(executionId, accountId, credits);
    expect(faults).toEqual([]);
  } finally {
    await queryRows(db, "alter function raise_away(text, bigint) rename to raise_reservation");
  }
});

test("a run that is lost with its worker after a slice, taken up by another, holds nothing twice and is charged once", async () => {
  const credits = 100_000n; // Two slices and the fee are 0.081, three 0.121.
  const { accountId, executionId, answer } = await aLongRun({ credits, seconds: 5 });
  answer.catch(() => undefined);
  await until(async () => (await heldFor(accountId)) === 2n * SLICE + FEE);
  await current.python.drain(0, "broken_off");
  current = aHost("proc_b");
  await begin(current, executionId);
  expect((await answer).status).toBe(200);
  await expectExact(executionId, accountId, credits);
  const attempts = await queryRows(
    db,
    "select attempt, status, seconds_used > 0 as used from attempts where execution_id = :executionId order by attempt",
    { executionId },
  );
  expect(attempts).toEqual([
    { attempt: 1, status: null, used: false },
    { attempt: 2, status: "success", used: true },
  ]);
});
