import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { createCredits } from "../../activities/credits.ts";
import { type Db, queryRows } from "../../db/connect.ts";
import { claimAttempt, endAttempt } from "../../db/executions/attempts.ts";
import { findExecution, requestCancel } from "../../db/executions/executions.ts";
import { endPresence, notePresence } from "../../db/executions/hosts.ts";
import { findUpload, insertOutputs } from "../../db/executions/outputs.ts";
import { loseOutputs } from "../../db/executions/stranded.ts";
import { findMoneyFaults } from "../../db/ledger/audit.ts";
import { findBalance, reserve } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { createStrandedWatch, endCancelled } from "../../src/executions/stranded.ts";
import { anAccount, anExecution, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";

const GRANTED = 1_000_000_000n;

const WORD = { role: "api", version: "1", draining: false, keyIds: [], programs: null } as const;

let database: TestDatabase;
let db: Db;
/** That of the process that looks. */
const OWN_HOST = "host_here";
let accountId: AccountId;
let workflow: TestWorkflow;

beforeEach(async () => {
  database = await aDatabase();
  db = database.db;
  accountId = await anAccount(db, { microCredits: GRANTED });
  workflow = await aWorkflow(db, { accountId });
});

afterEach(() => database.drop());

/** One whose program has ended on another host, which has its outputs. */
async function aStranded(attemptsMax = 1): Promise<ExecutionId> {
  const executionId = await anEnded(attemptsMax);
  await queryRows(db, "update attempts set ended_at = now() - interval '2 minutes' where execution_id = :executionId", {
    executionId,
  });
  return executionId;
}

/** The same, a moment ago. */
async function anEnded(attemptsMax = 1, hostId = "host_away"): Promise<ExecutionId> {
  const executionId = await anExecution(db, { workflow, attemptsMax });
  await reserve(db, executionId);
  await runAttempt(executionId, 1, hostId);
  return executionId;
}

/** Claims an attempt on a host and records that its program succeeded after a second. */
async function runAttempt(executionId: ExecutionId, attempt: number, hostId: string): Promise<void> {
  const claim = { executionId, hostId, processId: `proc_of_${hostId}`, leaseSeconds: 20, lostMax: 3 };
  expect(await claimAttempt(db, claim)).toMatchObject({ kind: "claimed", work: { attempt } });
  await endAttempt(db, { ...claim, attempt, outcome: { status: "success", message: "", secondsUsed: 1 } });
}

/** Looks of one process every half a minute by its own clock. */
function aStrandedWatch() {
  const clock = { ms: 0 };
  const watch = createStrandedWatch(300, () => clock.ms);
  const repeated: ExecutionId[] = [];
  const ended: ExecutionId[] = [];
  const terminated: ExecutionId[] = [];
  const prices = { perCpuSecond: microCredits(10_000), perExecution: microCredits(1_000) };
  const activities = createCredits({ db, prices, onEnded: () => undefined });
  const restarted: ExecutionId[] = [];
  const temporalClient = {
    restart: async ({ executionId }: { executionId: ExecutionId }) => void restarted.push(executionId),
    terminate: async (id: ExecutionId) => void terminated.push(id),
  };
  const onRepeated = async (id: ExecutionId) => void repeated.push(id);
  const look = async (count: number, everyMs = 30_000): Promise<ExecutionId[]> => {
    for (let times = 0; times < count; times += 1, clock.ms += everyMs)
      await watch({
        db,
        hostId: OWN_HOST,
        temporalClient,
        activities,
        onRepeated,
        onEnded: async ({ id }) => void ended.push(id),
      });
    expect([terminated, restarted]).toEqual([ended, repeated]);
    return ended;
  };
  const cancel = async (executionId: ExecutionId): Promise<ExecutionId[]> => {
    await requestCancel(db, executionId, "api");
    const onEnded = async ({ id }: { id: ExecutionId }) => void ended.push(id);
    await endCancelled({ db, hostId: OWN_HOST, temporalClient, activities, onEnded }, executionId);
    expect(terminated).toEqual(ended);
    return ended;
  };
  return { look, cancel, repeated, activities };
}

test("an execution whose outputs are on a host that is gone ends uncharged after five minutes of looks, and not before", async () => {
  const executionId = await aStranded();
  const { look } = aStrandedWatch();
  expect(await look(10)).toEqual([]);
  expect(await look(1)).toEqual([executionId]);
  expect(await findExecution(db, executionId)).toMatchObject({ state: "failed", failure: "internal", chargeTotal: 0n });
  expect(await findBalance(db, accountId)).toMatchObject({ balance: GRANTED, reserved: 0n });
  expect(await look(1)).toEqual([executionId]);
});

test("an execution whose host is gone ends at once where that was asked for, and goes on while the host is there", async () => {
  const [cancelled, kept] = [await aStranded(), await aStranded()];
  await requestCancel(db, cancelled, "api");
  const { look } = aStrandedWatch();
  expect(await look(1)).toEqual([cancelled]);
  expect(await findExecution(db, cancelled)).toMatchObject({ state: "cancelled", failure: null });
  await look(9);
  await notePresence(db, { hostId: "host_away", processId: "proc_again", seconds: 60, word: WORD });
  await look(20);
  expect((await findExecution(db, kept))?.finishedAt).toBeNull();
});

test("an execution that is cancelled when its host has ended is ended by that call, uncharged; one whose host is there, or that runs, is not", async () => {
  const [here, gone, waiting, running] = [
    await anEnded(),
    await anEnded(2),
    await anEnded(),
    await anExecution(db, { workflow }),
  ];
  const { look, cancel } = aStrandedWatch();
  const host = { hostId: "host_away", processId: "proc_away" };
  await notePresence(db, { ...host, seconds: 60, word: WORD });
  expect(await cancel(here)).toEqual([]);
  await endPresence(db, host);
  const claim = { executionId: running, hostId: "host_away", processId: "proc_away", leaseSeconds: 20, lostMax: 3 };
  expect(await claimAttempt(db, claim)).toMatchObject({ kind: "claimed" });
  expect([await cancel(running), await cancel(gone)]).toEqual([[gone], [gone]]);
  expect(await findExecution(db, gone)).toMatchObject({ state: "cancelled", failure: null, chargeTotal: 0n });
  expect(await look(1)).toEqual([gone, here]);
  expect((await findExecution(db, waiting))?.finishedAt).toBeNull();
  expect(await findMoneyFaults(db)).toEqual([]);
});

test("an execution that is cancelled while its own host stores its outputs goes on, also where the record has forgotten that host", async () => {
  const executionId = await anEnded(1, OWN_HOST);
  const { look, cancel } = aStrandedWatch();
  expect(await cancel(executionId)).toEqual([]);
  expect(await look(30)).toEqual([]);
  expect((await findExecution(db, executionId))?.finishedAt).toBeNull();
});

test("an execution whose host could say nothing while the database was away is not ended when it is back", async () => {
  await aStranded();
  const { look } = aStrandedWatch();
  expect(await look(3, 600_000)).toEqual([]);
});

test("an execution whose outputs are on a host that is gone, where an attempt more is allowed, is begun again once and charged for that alone", async () => {
  const executionId = await aStranded(2);
  const { look, repeated, activities } = aStrandedWatch();
  expect([await look(10), repeated]).toEqual([[], []]);
  expect([await look(11), repeated]).toEqual([[], [executionId]]);
  expect(await findExecution(db, executionId)).toMatchObject({ state: "running" });
  await runAttempt(executionId, 2, "host_here");
  await insertOutputs(db, { executionId, files: [], logKey: null, logBytes: 0, attempt: 2 });
  // What somebody has heard of the lost attempt counts for nothing.
  await activities.settleCredits({ executionId, status: "timed_out", secondsUsed: 200 });
  expect(await findExecution(db, executionId)).toMatchObject({
    state: "success",
    secondsUsed: 1,
    chargeTotal: 11_000n,
  });
  expect(await findMoneyFaults(db)).toEqual([]);
});

test("an execution whose outputs are lost a second time, or that is cancelled meanwhile, is begun again no more often than it may be", async () => {
  const [twice, cancelled] = [await aStranded(2), await aStranded(2)];
  const { look, repeated } = aStrandedWatch();
  await look(11);
  expect(repeated).toEqual([twice, cancelled].toSorted());
  await runAttempt(twice, 2, "host_away");
  await queryRows(db, "update attempts set ended_at = now() - interval '2 minutes' where attempt = 2");
  await requestCancel(db, cancelled, "api");
  const claim = { hostId: "host_here", processId: "proc_here", leaseSeconds: 20, lostMax: 3 };
  expect(await claimAttempt(db, { ...claim, executionId: cancelled })).toMatchObject({
    kind: "closed",
    cancelled: true,
  });
  expect(await look(11)).toEqual([twice]);
  expect(repeated).toHaveLength(2);
});

test("a process that begins an execution again and ends before Temporal has heard of it leaves that to the next", async () => {
  const executionId = await aStranded(2);
  expect(await loseOutputs(db, { id: executionId, attempt: 1 })).toBe(true);
  expect(await loseOutputs(db, { id: executionId, attempt: 1 })).toBe(false);
  const { look, repeated } = aStrandedWatch();
  await look(2);
  expect(repeated).toEqual([executionId]);
});

test("outputs that are recorded while they are declared lost are one or the other", async () => {
  const wins = { recorded: 0, lost: 0 };
  for (let round = 0; round < 40; round += 1) {
    const executionId = await aStranded(2);
    const record = () => insertOutputs(db, { executionId, files: [], logKey: null, logBytes: 0, attempt: 1 });
    const lose = () => loseOutputs(db, { id: executionId, attempt: 1 });
    const [recorded, lost] =
      round % 2 === 0 ? await Promise.all([record(), lose()]) : (await Promise.all([lose(), record()])).toReversed();
    expect(recorded).toBe(!lost);
    expect((await findUpload(db, executionId))?.uploaded).toBe(recorded);
    wins[recorded ? "recorded" : "lost"] += 1;
  }
  expect(Math.min(wins.recorded, wins.lost)).toBeGreaterThan(0);
});
