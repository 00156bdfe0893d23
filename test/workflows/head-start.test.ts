import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { createActivities, type ExecutionSteps } from "../../activities/index.ts";
import { createSpool } from "../../activities/spool.ts";
import { type Db, queryRows } from "../../db/connect.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { microCredits } from "../../domain/credits.ts";
import type { AccountId, CommitId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import { createOwnExecutor } from "../../src/executions/executor.ts";
import { createHeadStart, type HeadStart } from "../../src/executions/head-start.ts";
import { createLog } from "../../src/log.ts";
import type { WorkflowStart } from "../../src/temporal/client.ts";
import { createDiskStorage } from "../../storage/disk.ts";
import { createSlots, type Slots } from "../../system/slots.ts";
import { aManifest, anAccount, anExecution, aWorkflow } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";
import { aScheduledWorkflow, aTickRoom, NINE, SINCE, secondsAfter, TEN } from "../support/schedules.ts";
import { until } from "../support/until.ts";

let database: TestDatabase;
let db: Db;
let dir: string;
let steps: ExecutionSteps;
let slots: Slots;
let headStart: HeadStart | undefined;
/** What Temporal was asked to start, and how it answers. */
let asked: WorkflowStart[] = [];
let answer: () => Promise<{ eagerly: boolean }>;

const accept = async (): Promise<{ eagerly: boolean }> => ({ eagerly: true });
const refuse = (): Promise<never> => Promise.reject(new Error("Temporal is away."));
const hang = (): Promise<never> => new Promise(() => undefined);

beforeAll(async () => {
  database = await aDatabase();
  db = database.db;
  dir = await mkdtemp(join(tmpdir(), "treadle-head-start-"));
  const spool = createSpool(join(dir, "spool"));
  slots = createSlots({ count: 4 });
  ({ steps } = createActivities({
    db,
    prices: { perCpuSecond: microCredits(10_000), perExecution: microCredits(1_000) },
    hostId: "host-a",
    processId: "proc_a",
    storage: await createDiskStorage({ dir: join(dir, "storage") }),
    smallBytesMax: 65_536,
    spool,
    slots,
    runProgram: async ({ executionId }) => {
      await spool.open(executionId);
      await spool.writeResult(executionId, { outputs: [], logPath: undefined, logBytes: 0 });
      return { status: "success", message: "", secondsUsed: 1 };
    },
    onEnded: () => undefined,
    onError: () => undefined,
    recordTick: async () => Promise.reject(new Error("No schedule is fired here.")),
  }));
});

afterEach(async () => {
  await headStart?.close();
  await queryRows(db, "truncate workflow_starts");
  asked = [];
});

afterAll(async () => {
  await database?.drop();
  await rm(dir, { recursive: true, force: true });
});

const COMMIT = { workflowId: "wf_1" as WorkflowId, commitId: "c1" as CommitId, manifest: aManifest() };

function open(countMax = 100): HeadStart {
  headStart = createHeadStart({
    db,
    temporalClient: {
      start(input) {
        asked.push(input);
        return answer();
      },
    },
    executor: createOwnExecutor(steps),
    processId: "proc_a",
    lagMax: { count: countMax, seconds: 600 },
    log: createLog({ level: "silent", terminal: false }),
  });
  return headStart;
}

/** An accepted execution whose start Temporal has yet to learn of. */
async function anAccepted({ begunBy = "proc_a", ageSeconds = 0 } = {}) {
  const accountId: AccountId = await anAccount(db, { microCredits: 10_000_000n });
  const executionId: ExecutionId = await anExecution(db, { workflow: await aWorkflow(db, { accountId }) });
  await queryRows(
    db,
    `insert into workflow_starts (execution_id, begun_by, created_at)
     values (:executionId, :begunBy, now() - make_interval(secs => :ageSeconds))`,
    { executionId, begunBy, ageSeconds },
  );
  return { accountId, executionId };
}

const countWaiting = async (): Promise<number> =>
  (await queryRows<{ count: number }>(db, "select count(*)::int as count from workflow_starts"))[0]?.count ?? -1;
const hasEnded = async (id: ExecutionId): Promise<boolean> => (await findExecution(db, id))?.state === "success";

test("a head start, while Temporal refuses starts, ends what it begins, leaves Temporal alone for 2 s, and tells it all later", async () => {
  answer = refuse;
  const begun = await Promise.all([anAccepted(), anAccepted(), anAccepted(), anAccepted()]);
  const here = open();
  for (const each of begun) void here.begin(each, COMMIT);
  await until(async () => (await Promise.all(begun.map(({ executionId }) => hasEnded(executionId)))).every(Boolean));
  await until(() => asked.length > 0);
  // Two at the most, and the others not at all: without the pause there would be a round each quarter of a second.
  await sleep(1_200);
  expect([asked.length <= 2, await countWaiting()]).toEqual([true, 4]);
  asked = [];
  answer = accept;
  await until(async () => (await countWaiting()) === 0);
  expect(asked.map(({ executionId }) => executionId).sort()).toEqual(begun.map((each) => each.executionId).sort());
  expect(asked.map(({ story }) => story?.status)).toEqual(["success", "success", "success", "success"]);
});

test("a head start, while Temporal stands still, closes once too many starts wait, and stops without waiting for them", async () => {
  answer = hang;
  const begun = await Promise.all([anAccepted(), anAccepted()]);
  const here = open(2);
  expect(here.isOpen(COMMIT)).toBe(true);
  for (const each of begun) void here.begin(each, COMMIT);
  await until(() => !here.isOpen(COMMIT));
  expect(here.backlog()).toEqual({ count: 2, ageSeconds: expect.any(Number) });
  await until(async () => asked.length > 2 || (await countWaiting()) === 0);
  const before = performance.now();
  await here.close();
  expect(performance.now() - before).toBeLessThan(3_000);
  expect(await countWaiting()).toBe(2);
});

test("a head start takes what other processes left: all of it at first, and later what is 20 seconds old", async () => {
  answer = accept;
  const left = await anAccepted({ begunBy: "proc_gone" });
  open();
  await until(async () => (await countWaiting()) === 0);
  expect(asked).toEqual([expect.objectContaining({ executionId: left.executionId })]);
  expect(asked[0]?.story).toBeUndefined(); // It has not ended: its workflow drives it.
  asked = [];
  const young = await anAccepted({ begunBy: "proc_other" });
  const old = await anAccepted({ begunBy: "proc_other", ageSeconds: 21 });
  // The row goes a moment after the start.
  await until(async () => (await countWaiting()) === 1);
  expect(asked.map(({ executionId }) => executionId)).toEqual([old.executionId]);
  expect(await queryRows(db, "select execution_id from workflow_starts")).toEqual([
    { execution_id: young.executionId },
  ]);
});

test("a tick begins its execution before Temporal knows of it, and leaves it to Temporal where no slot is free", async () => {
  answer = accept;
  const here = open();
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE });
  const room = aTickRoom(db, secondsAfter(NINE, 1), undefined, { headStart: here, processId: "proc_a" });
  const fired = await room.fire({ workflowId, firedAt: NINE }, "repair");
  const { executionId, over } = fired.kind === "decided" ? fired : { executionId: null };
  await over;
  expect(await hasEnded(executionId as ExecutionId)).toBe(true);
  await until(async () => (await countWaiting()) === 0);
  expect(room.started).toEqual([]);
  expect(asked).toMatchObject([{ executionId, trigger: "schedule", story: { status: "success" } }]);

  room.clock.now = secondsAfter(TEN, 1);
  // Four, and the one for whom nothing runs.
  const taken = Array.from({ length: 5 }, (_, n) => slots.takeNow({ accountId: `acc_${n}` as AccountId, id: `${n}` }));
  const later = await room.fire({ workflowId, firedAt: TEN }, "repair");
  for (const giveBack of taken) giveBack?.();
  expect(later).toMatchObject({ kind: "decided", outcome: "started", begins: undefined });
  expect(room.started).toEqual([later.kind === "decided" ? later.executionId : ""]);
  expect(await countWaiting()).toBe(0);
});

/** So many that have ended, and of which Temporal knows nothing. */
async function someEnded(count: number): Promise<Awaited<ReturnType<typeof anAccepted>>[]> {
  answer = refuse;
  const begun = await Promise.all(Array.from({ length: count }, () => anAccepted()));
  const first = open();
  for (const each of begun) void first.begin(each, COMMIT);
  await until(async () => (await Promise.all(begun.map(({ executionId }) => hasEnded(executionId)))).every(Boolean));
  await first.close();
  asked = [];
  return begun;
}

test("a head start that begins many executions tells Temporal of ended ones one at a time, and of all when it begins no more", async () => {
  const begun = await someEnded(20);
  const here = open();
  // The first look: refused, so that the next one comes two seconds later.
  await until(() => asked.length >= 2);
  await until(() => here.backlog().count === begun.length);
  asked = [];
  let release = (): void => undefined;
  const gate = new Promise<{ eagerly: boolean }>((resolve) => {
    release = () => resolve({ eagerly: true });
  });
  answer = () => gate;
  // As many as in a burst of ten seconds. They have ended, so that each is over at once.
  for (let round = 0; round < 10; round += 1) for (const each of begun) void here.begin(each, COMMIT);
  await until(() => asked.length > 0);
  await sleep(300);
  expect(asked).toHaveLength(1);
  answer = accept;
  release();
  await until(async () => (await countWaiting()) === 0);
  expect(asked).toHaveLength(begun.length);
});

test("a head start that is telling Temporal of many lets the rest wait for a moment when executions begin meanwhile", async () => {
  const begun = await someEnded(20);
  let release = (): void => undefined;
  const gate = new Promise<{ eagerly: boolean }>((resolve) => {
    release = () => resolve({ eagerly: true });
  });
  answer = () => gate;
  const here = open();
  await until(() => asked.length === 2);
  for (const each of begun.slice(0, 2)) void here.begin(each, COMMIT);
  answer = accept;
  release();
  await until(async () => (await countWaiting()) === 18);
  expect(asked).toHaveLength(2);
  await until(async () => (await countWaiting()) === 0);
  expect(asked).toHaveLength(begun.length);
});
