import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Client, ScheduleNotFoundError } from "@temporalio/client";
import { Worker } from "@temporalio/worker";
import { TASK_QUEUE } from "../../../activities/task-queues.ts";
import type { Db } from "../../../db/connect.ts";
import { queryRows } from "../../../db/connect.ts";
import { listScheduleChanges, noteScheduleChange } from "../../../db/schedules/changes.ts";
import { findSchedule } from "../../../db/schedules/schedules.ts";
import { listTicks } from "../../../db/schedules/ticks.ts";
import { nextTicks } from "../../../domain/cron/next-runs.ts";
import type { WorkflowId } from "../../../domain/ids.ts";
import { cronOf } from "../../../domain/schedules/declaration.ts";
import { nominalTickOf } from "../../../domain/schedules/nominal-ticks.ts";
import { compileSchedule, findHorizon } from "../../../domain/schedules/tick-spec.ts";
import { createWorkflowId } from "../../../src/ids.ts";
import { createLog } from "../../../src/log.ts";
import { emptyOutbox } from "../../../src/schedules/outbox.ts";
import { createReconciler } from "../../../src/schedules/reconciler.ts";
import { createTemporalSchedules, type TemporalSchedules } from "../../../src/schedules/temporal-schedules.ts";
import { aDatabase, type TestDatabase } from "../../support/postgres.ts";
import { aScheduledWorkflow, aTickRoom, commitSchedule, findTick } from "../../support/schedules.ts";
import { aTemporal, type TestTemporal } from "../../support/temporal.ts";

let temporal: TestTemporal;
let client: Client;
let database: TestDatabase;
let db: Db;
let schedules: TemporalSchedules;
const log = createLog({ level: "fatal", terminal: false });
const now = (): Date => new Date();
/** Lists of Temporal's may be behind by a second or so; this is far more. */
const PATIENCE_MS = 60_000;

beforeAll(async () => {
  [temporal, database] = await Promise.all([aTemporal(), aDatabase()]);
  db = database.db;
  client = new Client({ connection: temporal.connection, namespace: temporal.namespace });
  schedules = createTemporalSchedules(temporal.connection, temporal.namespace);
});

afterAll(async () => {
  await temporal?.stop();
  await database?.drop();
});

const tell = (): Promise<number> => emptyOutbox({ db, schedules, now, log }, new AbortController().signal);
const describeSchedule = (workflowId: WorkflowId) => client.schedule.getHandle(workflowId).describe();

async function isThere(workflowId: WorkflowId): Promise<boolean> {
  return describeSchedule(workflowId).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ScheduleNotFoundError) return false;
      throw error;
    },
  );
}

/** Repeats until the condition holds, and answers what it answered last. */
async function eventually(holds: () => Promise<boolean>): Promise<boolean> {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    if (await holds()) return true;
    await sleep(200);
  }
  return false;
}

/** Reconciles as the service does until Temporal has what it shall have. */
async function reconcileUntil(holds: () => Promise<boolean>): Promise<boolean> {
  const reconciler = createReconciler({ db, schedules, now });
  return eventually(async () => {
    await reconciler.compare();
    await tell();
    return holds();
  });
}

/** Reconciles until lists show everything as it shall be. */
async function settle(): Promise<void> {
  const reconciler = createReconciler({ db, schedules, now });
  await eventually(async () => {
    const { different, stray } = await reconciler.compare();
    await tell();
    return different === 0 && stray === 0;
  });
}

test("a commit with a schedule, told to Temporal, makes it; one that changes it, changes it; without it, it is gone", async () => {
  const workflow = await aScheduledWorkflow(db, {
    since: now(),
    schedule: { cron: "30 9 * * 1-5", timezone: "Asia/Tokyo" },
  });
  const { workflowId } = workflow;
  expect(await isThere(workflowId)).toBe(false);
  expect(await tell()).toBe(1);
  const made = await describeSchedule(workflowId);
  expect(made).toMatchObject({
    scheduleId: workflowId,
    spec: { timezone: "Asia/Tokyo" },
    policies: { overlap: "ALLOW_ALL", pauseOnFailure: false },
    state: { paused: false },
    action: { workflowType: "fireTick", args: [{ workflowId }] },
  });
  const coming = nextTicks(cronOf({ cron: "30 9 * * 1-5" }), "Asia/Tokyo", now(), 5);
  expect(made.info.nextActionTimes.slice(0, 5)).toEqual(coming);

  const paused = await commitSchedule(db, workflow, { at: now(), schedule: { cron: "0 7 * * *", enabled: false } });
  expect(await tell()).toBe(1);
  expect(await describeSchedule(workflowId)).toMatchObject({ spec: { timezone: "UTC" }, state: { paused: true } });

  const resumed = await commitSchedule(db, paused, { at: now(), schedule: { cron: "0 7 * * *" } });
  await tell();
  expect((await describeSchedule(workflowId)).state.paused).toBe(false);

  // The same declaration in another commit is nothing to tell.
  const same = await commitSchedule(db, resumed, { at: now(), schedule: { cron: "0 7 * * *", payload: { other: 1 } } });
  expect(await tell()).toBe(0);

  await commitSchedule(db, same, { at: now(), schedule: null });
  expect(await tell()).toBe(1);
  expect(await isThere(workflowId)).toBe(false);
});

test("a service that ends between telling Temporal and noting that it did, tells it again, without harm", async () => {
  const { workflowId } = await aScheduledWorkflow(db, { since: now() });
  const [change] = await listScheduleChanges(db, 10);
  await tell();
  await noteScheduleChange(db, [change?.scheduleId as WorkflowId]);
  expect(await tell()).toBe(1);
  expect(await isThere(workflowId)).toBe(true);
});

test("a change that comes while the one before is being told, is told, too", async () => {
  const workflow = await aScheduledWorkflow(db, { since: now(), schedule: { cron: "1 1 * * *" } });
  const { workflowId } = workflow;
  let changed = false;
  const slow: TemporalSchedules = {
    ...schedules,
    async put(wanted) {
      await schedules.put(wanted);
      if (changed) return;
      changed = true;
      await commitSchedule(db, workflow, { at: now(), schedule: { cron: "2 2 * * *" } });
    },
  };
  expect(await emptyOutbox({ db, schedules: slow, now, log }, new AbortController().signal)).toBe(2);
  const { spec } = await describeSchedule(workflowId);
  expect(spec.calendars?.[0]).toMatchObject({ hour: [{ start: 2 }], minute: [{ start: 2 }] });
});

test("a schedule that Temporal refuses to take, is put off and keeps no other", async () => {
  const broken = await aScheduledWorkflow(db, { since: now() });
  const sound = await aScheduledWorkflow(db, { since: now() });
  const failing: TemporalSchedules = {
    ...schedules,
    put: (wanted) =>
      wanted.workflowId === broken.workflowId ? Promise.reject(new Error("away")) : schedules.put(wanted),
  };
  expect(await emptyOutbox({ db, schedules: failing, now, log }, new AbortController().signal)).toBe(1);
  expect([await isThere(broken.workflowId), await isThere(sound.workflowId)]).toEqual([false, true]);
  const [left] = await queryRows(
    db,
    `select workflow_id as id, failures, try_at > now() as later from schedule_changes`,
  );
  expect(left).toEqual({ id: broken.workflowId, failures: 1, later: true });
  await noteScheduleChange(db, [broken.workflowId]);
  await tell();
  expect(await isThere(broken.workflowId)).toBe(true);
});

const MEDDLINGS: readonly [
  string,
  (workflowId: WorkflowId) => Promise<unknown>,
  (workflowId: WorkflowId) => Promise<boolean>,
][] = [
  [
    "paused",
    (workflowId) => client.schedule.getHandle(workflowId).pause("by hand"),
    async (workflowId) => !(await describeSchedule(workflowId)).state.paused,
  ],
  ["deleted", (workflowId) => client.schedule.getHandle(workflowId).delete(), (workflowId) => isThere(workflowId)],
  [
    "changed to other times",
    (workflowId) =>
      client.schedule.getHandle(workflowId).update((found) => ({ ...found, spec: { calendars: [{ hour: 5 }] } })),
    async (workflowId) => (await describeSchedule(workflowId)).spec.intervals?.length === 1,
  ],
  [
    "changed in what no list tells",
    (workflowId) =>
      client.schedule.getHandle(workflowId).update((found) => ({
        ...found,
        policies: { ...found.policies, overlap: "TERMINATE_OTHER", catchupWindow: 3_600_000 },
      })),
    async (workflowId) => (await describeSchedule(workflowId)).policies.overlap === "ALLOW_ALL",
  ],
];

test.each(MEDDLINGS)("a schedule that somebody %s in Temporal, is put right", async (_, meddle, isRight) => {
  const { workflowId } = await aScheduledWorkflow(db, { since: now() });
  await tell();
  await meddle(workflowId);
  expect(await eventually(async () => !(await isRight(workflowId)))).toBe(true);
  expect(await reconcileUntil(() => isRight(workflowId))).toBe(true);
});

test("a Temporal that lost all schedules, has them again, and those that are nobody's are taken away", async () => {
  const declared = await Promise.all([1, 2, 3].map(() => aScheduledWorkflow(db, { since: now() })));
  await tell();
  for await (const { scheduleId } of client.schedule.list()) await client.schedule.getHandle(scheduleId).delete();
  const stray = createWorkflowId();
  const foreign = "somebody-elses";
  for (const scheduleId of [stray, foreign]) {
    await client.schedule.create({
      scheduleId,
      spec: { calendars: [{ hour: 3 }] },
      action: { type: "startWorkflow", workflowType: "fireTick", taskQueue: "none", args: [] },
    });
  }
  const areAll = async () => (await Promise.all(declared.map(({ workflowId }) => isThere(workflowId)))).every(Boolean);
  expect(await reconcileUntil(async () => (await areAll()) && !(await isThere(stray)))).toBe(true);
  expect(await isThere(foreign as WorkflowId)).toBe(true);
});

test("schedules as they shall be, are found to be so, whatever their expression", async () => {
  const crons = [
    "* * * * *",
    "*/7 * * * *",
    "0 9 1 * *",
    "0,30 8-18/2 * 3,6 1-5",
    "15 10 13 * 5",
    "59 23 31 12 *",
    "5 */3 * * 0",
  ];
  const zones = ["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"];
  const workflows = await Promise.all(
    crons.flatMap((cron) =>
      zones.map((timezone) =>
        aScheduledWorkflow(db, { since: now(), schedule: { cron, timezone, jitterSeconds: 30 } }),
      ),
    ),
  );
  await settle();
  const reconciler = createReconciler({ db, schedules, now });
  expect(await reconciler.compare()).toEqual({ different: 0, stray: 0 });
  expect(workflows).toHaveLength(28);
});

/** What a real server fires from an instant on: with its view of the clock set by where the schedule begins. */
async function listFired(cron: string, timezone: string, startAt: Date): Promise<Date[]> {
  const spec = compileSchedule(cronOf({ cron }), timezone, findHorizon(startAt));
  const scheduleId = `clock-${Math.random()}`;
  const handle = await client.schedule.create({
    scheduleId,
    spec: { calendars: spec.calendars as never, intervals: spec.intervals, timezone, startAt },
    action: { type: "startWorkflow", workflowType: "fireTick", taskQueue: "none", args: [] },
    state: { paused: true },
  });
  const { info } = await handle.describe();
  await handle.delete();
  return info.nextActionTimes;
}

/** Changes of the clock that are to come: the first instant of the time after. */
const GAP = { zone: "Europe/Berlin", at: new Date("2027-03-28T01:00:00Z") };
const FOLD = { zone: "Europe/Berlin", at: new Date("2027-10-31T01:00:00Z") };
const HALF_GAP = { zone: "Australia/Lord_Howe", at: new Date("2027-10-02T15:30:00Z") };
const HALF_FOLD = { zone: "Australia/Lord_Howe", at: new Date("2027-04-03T15:00:00Z") };

test.each(
  [GAP, FOLD, HALF_GAP, HALF_FOLD].flatMap(({ zone, at }) =>
    ["30 2 * * *", "45 1 * * *", "0,30 1-3 * * *", "*/20 * * * *", "15 */1 * * *", "10 2 * * 0"].map((cron) => ({
      zone,
      at,
      cron,
    })),
  ),
)(
  "a real server, with $cron around the change of the clock in $zone at $at, fires our ticks and nothing we would not know",
  async ({ zone, at, cron }) => {
    const start = new Date(at.getTime() - 3 * 3_600_000);
    const fired = await listFired(cron, zone, start);
    const last = fired.at(-1) as Date;
    const parsed = cronOf({ cron });
    const ours = nextTicks(parsed, zone, new Date(start.getTime() - 1), Number.POSITIVE_INFINITY, last);
    const nominal = fired.flatMap((one) => {
      const tick = nominalTickOf(parsed, zone, one);
      return tick === undefined || tick.at < start ? [] : [tick.at.toISOString()];
    });
    expect([...new Set(nominal)]).toEqual(ours.map((tick) => tick.toISOString()));
  },
);

test("a firing of Temporal's, decides the tick that it stands for, and a second one for the same minute finds it decided", async () => {
  const since = new Date(Date.now() - 600_000);
  const schedule = { cron: "* * * * *", overlap: "allow" as const };
  const { workflowId } = await aScheduledWorkflow(db, { since, schedule: { ...schedule } });
  await tell();
  const room = aTickRoom(db, now());
  const nothing = async (): Promise<never> => Promise.reject(new Error("Not here."));
  const worker = await Worker.create({
    connection: temporal.connection,
    namespace: temporal.namespace,
    taskQueue: TASK_QUEUE,
    workflowBundle: temporal.workflowBundle,
    activities: { recordTick: room.recordTick, reserveCredits: nothing },
  });
  const handle = client.schedule.getHandle(workflowId);
  await worker.runUntil(async () => {
    room.clock.now = now();
    await handle.trigger();
    await eventually(async () => (await listTicks(db, { workflowId, before: null, limit: 10 })).length > 0);
    await sleep(1_100);
    await handle.trigger();
    await eventually(async () => (await handle.describe()).info.numActionsTaken >= 2);
    await eventually(async () => room.started.length >= 2);
  });
  const ticks = await listTicks(db, { workflowId, before: null, limit: 10 });
  const executions = await queryRows(db, `select id from executions where workflow_id = :workflowId`, { workflowId });
  expect(executions).toHaveLength(ticks.filter(({ outcome }) => outcome === "started").length);
  expect(ticks.map(({ nominalAt }) => nominalAt.getTime() % 60_000)).toEqual(ticks.map(() => 0));
  expect(await findTick(db, workflowId, (ticks[0] as { nominalAt: Date }).nominalAt)).toMatchObject({
    source: "clock",
  });
  expect(await findSchedule(db, workflowId)).toMatchObject({ cron: "* * * * *" });
});
