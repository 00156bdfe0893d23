import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import pino from "pino";
import { createCredits } from "../../activities/credits.ts";
import { createSpool, type Spool } from "../../activities/spool.ts";
import { type Db, queryRows } from "../../db/connect.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { findRepairCounts, REPAIRS } from "../../db/executions/repairs.ts";
import { giveLease, takeLease } from "../../db/leases.ts";
import { findMoneyFaults } from "../../db/ledger/audit.ts";
import { findBalance, reserve } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { createSweeper } from "../../src/executions/sweeper.ts";
import { createExecutionId, createProcessId } from "../../src/ids.ts";
import type { TemporalClient, WorkflowState } from "../../src/temporal/client.ts";
import { anAccount, anExecution, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";

const CHARGE = 3_001_000n;
const GRANTED = 1_000_000_000n;
const NONE = Object.fromEntries(REPAIRS.map((repair) => [repair, 0]));
/** Sorts behind all ids that are made. */
const LAST = "ex_zzzzzzzzzzzzzzzzzzzz" as ExecutionId;

let database: TestDatabase;
let db: Db;
let dir: string;
let spool: Spool;
let accountId: AccountId;
let workflow: TestWorkflow;
let logged: Record<string, unknown>[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "treadle-repairs-"));
  spool = createSpool(join(dir, "spool"));
  await spool.open("ex_makes0the0folder0" as ExecutionId);
});

beforeEach(async () => {
  database = await aDatabase();
  db = database.db;
  accountId = await anAccount(db, { microCredits: GRANTED });
  workflow = await aWorkflow(db, { accountId });
  logged = [];
});

afterEach(() => database.drop());

afterAll(() => rm(dir, { recursive: true, force: true }));

/** A Temporal that says of each execution what it is told to, and notes what it is asked to start. */
function aTemporalClient(describe: (id: ExecutionId) => WorkflowState | Promise<WorkflowState>) {
  const started: ExecutionId[] = [];
  const temporalClient: TemporalClient = {
    async start({ executionId }) {
      started.push(executionId);
      return { eagerly: false };
    },
    restart: async () => undefined,
    wake: async () => undefined,
    terminate: async () => undefined,
    describe: async (id) => describe(id),
    check: async () => undefined,
  };
  return { temporalClient, started };
}

/** The sweeper of another process. */
function aSweeper(temporalClient: TemporalClient, processId = createProcessId()) {
  const prices = { perCpuSecond: microCredits(10_000), perExecution: microCredits(1_000) };
  const log = pino({ level: "warn" }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const activities = createCredits({ db, prices, onEnded: () => undefined });
  const nothing = async () => undefined;
  const keeping = { keepLog: nothing, dropUnrecorded: nothing, upload: async () => ({ kind: "deferred" as const }) };
  const sweeper = createSweeper({
    db,
    temporalClient,
    activities,
    keeping,
    spool,
    hostId: "host-of-this-process",
    processId,
    hostGoneSeconds: 300,
    log,
  });
  return {
    processId,
    async sweep(openSeconds = 0) {
      try {
        await sweeper.sweep({ openSeconds });
      } finally {
        await sweeper.close();
      }
    },
  };
}

const repaired = (): unknown[] =>
  logged.filter(({ event }) => event === "execution.repaired").map(({ executionId, repair }) => [executionId, repair]);

test("sweep, of a lost execution behind 230 long-running ones, repairs it in the same sweep and asks Temporal about 8 at a time at most", async () => {
  for (let count = 0; count < 230; count += 1) await anExecution(db, { workflow });
  await anExecution(db, { workflow, id: LAST });
  const asked = new Set<ExecutionId>();
  let [now, most] = [0, 0];
  const { temporalClient, started } = aTemporalClient(async (id) => {
    asked.add(id);
    most = Math.max(most, (now += 1));
    await sleep(1);
    now -= 1;
    return id === LAST ? ("gone" as const) : ("running" as const);
  });
  await aSweeper(temporalClient).sweep();
  expect([asked.size, started, most]).toEqual([231, [LAST], 8]);
  expect(await findRepairCounts(db)).toEqual({ ...NONE, started: 1 });
  expect(repaired()).toEqual([[LAST, "started"]]);
});

test("sweep, by two processes at once, makes and counts a repair once", async () => {
  const executionId = await anExecution(db, { workflow });
  await reserve(db, executionId);
  const { temporalClient } = aTemporalClient(async () => {
    await sleep(50);
    return "terminated" as const;
  });
  await Promise.all([
    aSweeper(temporalClient).sweep(),
    aSweeper(temporalClient).sweep(),
    aSweeper(temporalClient).sweep(),
  ]);
  expect(await findRepairCounts(db)).toEqual({ ...NONE, terminated: 1 });
  expect(repaired()).toEqual([[executionId, "terminated"]]);
  expect(await findBalance(db, accountId)).toMatchObject({ balance: GRANTED, reserved: 0n });
});

test("sweep, while a process that sweeps does not go on, is done by another one when its lease is over", async () => {
  const executionId = await anExecution(db, { workflow });
  const paused = { name: "sweep", holder: "proc_paused" };
  expect(await takeLease(db, { ...paused, seconds: 60 })).toBe(true);
  const { temporalClient, started } = aTemporalClient(() => "gone");
  await aSweeper(temporalClient).sweep();
  expect(started).toEqual([]);
  await queryRows(db, "update leases set held_until = now() - interval '1 second'");
  await aSweeper(temporalClient).sweep();
  expect(started).toEqual([executionId]);
});

test("a lease, whoever asks for it, is one holder's until it is given back or over, and is given back by its holder alone", async () => {
  const [mine, other] = ["a", "b"].map((holder) => ({ name: "test", holder })) as [
    { name: string; holder: string },
    { name: string; holder: string },
  ];
  const take = (lease: typeof mine) => takeLease(db, { ...lease, seconds: 60 });
  expect([await take(mine), await take(other), await take(mine)]).toEqual([true, false, true]);
  await giveLease(db, other);
  expect(await take(other)).toBe(false);
  await giveLease(db, mine);
  expect([await take(other), await take(mine)]).toEqual([true, false]);
});

test("sweep, of an execution that comes to its end while it is looked at, counts no repair", async () => {
  const executionId = await anExecution(db, { workflow });
  await reserve(db, executionId);
  const credits = createCredits({
    db,
    prices: { perCpuSecond: microCredits(10_000), perExecution: microCredits(1_000) },
    onEnded: () => undefined,
  });
  const { temporalClient } = aTemporalClient(async () => {
    await credits.settleCredits({ executionId, status: "success", secondsUsed: 1 });
    return "completed" as const;
  });
  await aSweeper(temporalClient).sweep();
  expect(await findRepairCounts(db)).toEqual(NONE);
  expect(repaired()).toEqual([]);
  expect(await findExecution(db, executionId)).toMatchObject({ state: "success" });
});

test("sweep, when Temporal does not answer, stops asking and says so", async () => {
  for (let count = 0; count < 60; count += 1) await anExecution(db, { workflow });
  let asked = 0;
  const { temporalClient } = aTemporalClient(async () => {
    asked += 1;
    await sleep(5);
    throw new Error("Temporal is away.");
  });
  await expect(aSweeper(temporalClient).sweep()).rejects.toThrow("Temporal is away.");
  expect(asked).toBeLessThan(20);
});

test("sweep, of many that cannot be repaired, repairs the one behind them", async () => {
  const broken: ExecutionId[] = [];
  for (let count = 0; count < 12; count += 1) broken.push(await anExecution(db, { workflow }));
  await anExecution(db, { workflow, id: LAST });
  const { temporalClient, started } = aTemporalClient((id) => {
    if (id === LAST) return "gone";
    if (id === broken.toSorted()[0]) return "running";
    throw new Error("It cannot be read.");
  });
  await expect(aSweeper(temporalClient).sweep()).rejects.toThrow("11 executions were not repaired");
  expect(started).toEqual([LAST]);
});

/** A hold whose execution never was, as a backup of half the tables or somebody's own SQL leaves it. */
async function aStrayHold(amount: bigint): Promise<ExecutionId> {
  const executionId = createExecutionId();
  await queryRows(
    db,
    `insert into reservations (execution_id, account_id, amount, state, created_at)
     values (:executionId, :accountId, :amount, 'open', now() - interval '1 minute')`,
    { executionId, accountId, amount: String(amount) },
  );
  return executionId;
}

test("sweep, of credits held for no execution, or for one that has ended, frees them once and leaves the hold of one under way", async () => {
  const [ended, open] = [await anExecution(db, { workflow }), await anExecution(db, { workflow })];
  for (const id of [ended, open]) await reserve(db, id);
  await queryRows(db, "update executions set state = 'cancelled', finished_at = now() where id = :ended", { ended });
  const missing = await aStrayHold(5_000_000n);
  const kinds = (await findMoneyFaults(db)).map(({ what, due }) => [what, due]);
  expect(kinds).toEqual([ended, missing].toSorted().map((id) => [`reservation ${id}`, 0n]));
  expect(await findBalance(db, accountId)).toMatchObject({ reserved: 2n * CHARGE + 5_000_000n });
  const { temporalClient } = aTemporalClient(() => "running");
  await Promise.all([
    aSweeper(temporalClient).sweep(),
    aSweeper(temporalClient).sweep(),
    aSweeper(temporalClient).sweep(),
  ]);
  expect(await findMoneyFaults(db)).toEqual([]);
  expect(await findBalance(db, accountId)).toMatchObject({ balance: GRANTED, reserved: CHARGE });
  expect(await findRepairCounts(db)).toEqual({ ...NONE, reservation_released: 2 });
  expect(repaired()).toEqual(
    expect.arrayContaining([ended, missing].map((executionId) => [executionId, "reservation_released"])),
  );
  expect(logged.find(({ executionId }) => executionId === missing)).toMatchObject({ accountId, credits: 5 });
});

test("sweep, of a hold that was made just now, leaves it", async () => {
  await aStrayHold(5_000_000n);
  const { temporalClient } = aTemporalClient(() => "running");
  await aSweeper(temporalClient).sweep(3_600);
  expect(await findBalance(db, accountId)).toMatchObject({ reserved: 5_000_000n });
});
