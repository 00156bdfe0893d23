import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Client } from "@temporalio/client";
import { Worker } from "@temporalio/worker";
import { TASK_QUEUE } from "../../../activities/task-queues.ts";
import { type Db, queryRows } from "../../../db/connect.ts";
import { listTicks, type Tick } from "../../../db/schedules/ticks.ts";
import { nextTicks } from "../../../domain/cron/next-runs.ts";
import type { WorkflowId } from "../../../domain/ids.ts";
import { cronOf } from "../../../domain/schedules/declaration.ts";
import { createLog } from "../../../src/log.ts";
import { emptyOutbox } from "../../../src/schedules/outbox.ts";
import { createTemporalSchedules, type TemporalSchedules } from "../../../src/schedules/temporal-schedules.ts";
import { aDatabase, type TestDatabase } from "../../support/postgres.ts";
import { aScheduledWorkflow, aTickRoom } from "../../support/schedules.ts";
import { aTemporal, type TestTemporal } from "../../support/temporal.ts";

const HOUR_MS = 3_600_000;
const PATIENCE_MS = 120_000;
const log = createLog({ level: "fatal", terminal: false });

let temporal: TestTemporal;
let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  [temporal, database] = await Promise.all([aTemporal(), aDatabase()]);
  db = database.db;
});

afterAll(async () => {
  await temporal?.stop();
  await database?.drop();
});

/** The ticks of a workflow, the oldest first. */
async function listRecorded(workflowId: WorkflowId): Promise<Tick[]> {
  return (await listTicks(db, { workflowId, before: null, limit: 100 })).toReversed();
}

/** The first instant after the clock was moved, and what some crons mean in the three hours before and after, in UTC. */
const CHANGES: readonly (readonly [what: string, zone: string, at: string, due: Readonly<Record<string, string[]>>])[] =
  [
    [
      "put forward by an hour",
      "Europe/Berlin",
      "2026-03-29T01:00:00Z",
      {
        "30 2 * * *": ["01:00"],
        "30 2,3 * * *": ["01:00", "01:30"],
        "30 * * * *": ["22:30", "23:30", "00:30", "01:30", "02:30", "03:30"],
      },
    ],
    [
      "put back by an hour",
      "Europe/Berlin",
      "2026-10-25T01:00:00Z",
      {
        "30 2 * * *": ["00:30"],
        "0,30 2 * * *": ["00:00", "00:30"],
        "30 * * * *": ["22:30", "23:30", "00:30", "01:30", "02:30", "03:30"],
      },
    ],
    [
      "put forward by half an hour",
      "Australia/Lord_Howe",
      "2026-10-03T15:30:00Z",
      { "15 2 * * *": ["15:30"], "15,45 2 * * *": ["15:30", "15:45"] },
    ],
    [
      "put back by half an hour",
      "Australia/Lord_Howe",
      "2026-04-04T15:00:00Z",
      { "45 1 * * *": ["14:45"], "15,45 1 * * *": ["14:15", "14:45"] },
    ],
  ];

test.each(CHANGES)(
  "a real server, made to fire while a clock is %s in %s, gives each time its one record and its one execution",
  async (_, timezone, at, due) => {
    const changedAt = new Date(at);
    const start = new Date(changedAt.getTime() - 3 * HOUR_MS);
    const end = new Date(changedAt.getTime() + 3 * HOUR_MS);
    // What was fired is decided by a clock that stands there, and was compiled by one that stood a day before.
    const room = aTickRoom(db, end);
    const declared = await Promise.all(
      Object.keys(due).map(async (cron) => {
        const schedule = { cron, timezone, overlap: "allow", catchup: "all", maxLatenessSeconds: 86_400 } as const;
        const since = new Date(start.getTime() - 1);
        return { cron, workflowId: (await aScheduledWorkflow(db, { since, schedule })).workflowId };
      }),
    );
    const sound = createTemporalSchedules(temporal.connection, temporal.namespace);
    // Paused for the clock on the wall, by which some of them may be due now. What is asked for is fired all the same.
    const schedules: TemporalSchedules = { ...sound, put: (wanted) => sound.put({ ...wanted, paused: true }) };
    const then = () => new Date(start.getTime() - 24 * HOUR_MS);
    await emptyOutbox({ db, schedules, now: then, log }, new AbortController().signal);
    const client = new Client({ connection: temporal.connection, namespace: temporal.namespace });
    let fired = 0;
    const recordTick: typeof room.recordTick = async (tick) => {
      const recorded = await room.recordTick(tick);
      fired += 1;
      return recorded;
    };
    const nothing = async (): Promise<never> => Promise.reject(new Error("Not here."));
    const { connection, namespace, workflowBundle } = temporal;
    const activities = { recordTick, reserveCredits: nothing };
    const worker = await Worker.create({ connection, namespace, taskQueue: TASK_QUEUE, workflowBundle, activities });
    const fire = async (): Promise<void> => {
      const deadline = Date.now() + PATIENCE_MS;
      const isOver = async (): Promise<boolean> => {
        const recorded = await Promise.all(declared.map((each) => listRecorded(each.workflowId)));
        const isWhole = recorded.every((ticks, index) => ticks.length >= (Object.values(due)[index] ?? []).length);
        const found = await Promise.all(declared.map((each) => client.schedule.getHandle(each.workflowId).describe()));
        // What the guard drops comes with what is meant.
        return isWhole && fired >= found.reduce((sum, { info }) => sum + info.numActionsTaken, 0);
      };
      for (const { workflowId } of declared) {
        const handle = client.schedule.getHandle(workflowId);
        await handle.backfill({ start: new Date(start.getTime() - 1), end, overlap: "ALLOW_ALL" });
      }
      while (!(await isOver()) && Date.now() < deadline) await sleep(200);
    };
    await worker.runUntil(fire);
    for (const { cron, workflowId } of declared) {
      const ticks = await listRecorded(workflowId);
      expect(ticks.map(({ nominalAt }) => nominalAt.toISOString().slice(11, 16))).toEqual(due[cron]);
      expect(ticks.map(({ nominalAt }) => nominalAt)).toEqual(
        nextTicks(cronOf({ cron }), timezone, new Date(start.getTime() - 1), 100, end),
      );
      expect(ticks.every(({ outcome, source }) => outcome === "started" && source === "clock")).toBe(true);
      const executions = await queryRows<{ id: string }>(
        db,
        `select id from executions where workflow_id = :workflowId order by id`,
        { workflowId },
      );
      expect(executions.map(({ id }) => id)).toEqual(ticks.flatMap(({ executionId }) => executionId ?? []).toSorted());
    }
  },
  600_000,
);
