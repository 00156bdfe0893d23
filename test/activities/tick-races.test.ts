import { beforeEach, expect, test } from "@jest/globals";
import type { DecidedTick } from "../../activities/ticks.ts";
import { type Db, queryRows } from "../../db/connect.ts";
import { insertTicks, listTicks, type NewTick } from "../../db/schedules/ticks.ts";
import type { WorkflowId } from "../../domain/ids.ts";
import { createLog } from "../../src/log.ts";
import { accountForTicks } from "../../src/schedules/tick-watch.ts";
import { aFileDatabase } from "../support/file-database.ts";
import { waitForLockWait } from "../support/lock-waits.ts";
import {
  aScheduledWorkflow,
  aTickRoom,
  commitSchedule,
  ELEVEN,
  NINE,
  SINCE,
  secondsAfter,
  TEN,
} from "../support/schedules.ts";

const SILENT = createLog({ level: "silent", terminal: false });
const AWAY = { catchup: "all", overlap: "allow", maxLatenessSeconds: 86_400 } as const;

const { db } = await aFileDatabase();

beforeEach(() => db.raw("update schedules set look_at = null"));

const missed = (workflowId: WorkflowId, nominalAt: Date): NewTick => ({
  workflowId,
  nominalAt,
  outcome: "missed",
  reason: "by another",
  source: "repair",
  executionId: null,
  decidedAt: secondsAfter(nominalAt, 60),
});

/** Does something, lets `other` come to where it has to wait for that, and answers what came of it. */
async function meanwhile<Result>(act: (tx: Db) => Promise<unknown>, other: () => Promise<Result>): Promise<Result> {
  let waiting: Promise<Result> | undefined;
  await db.transaction(async (tx) => {
    await act(tx);
    waiting = other();
    await waitForLockWait(db);
  });
  return (await waiting) as Result;
}

async function recordOf(workflowId: WorkflowId): Promise<string[]> {
  const ticks = await listTicks(db, { workflowId, before: null, limit: 100 });
  return ticks.toReversed().map((tick) => `${tick.nominalAt.toISOString().slice(11, 16)} ${tick.outcome}`);
}

const listExecutions = (workflowId: WorkflowId) =>
  queryRows<{ id: string }>(db, `select id from executions where workflow_id = :workflowId`, { workflowId });

/** Looks after what has no record, and answers of what it told. */
async function look(now: Date): Promise<DecidedTick[]> {
  const told: DecidedTick[] = [];
  const deps = { db, ticks: aTickRoom(db, now), now: () => now, log: SILENT };
  await accountForTicks(
    { ...deps, startsMax: 8, onTick: (tick) => void told.push(tick) },
    { watchedSince: now, signal: new AbortController().signal },
  );
  return told;
}

test("tick, that a look calls missed at the same moment, is missed and begins nothing", async () => {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, schedule: AWAY });
  const room = aTickRoom(db, secondsAfter(NINE, 60));
  const fired = await meanwhile(
    (tx) => insertTicks(tx, [missed(workflowId, NINE)]),
    () => room.fire({ workflowId, firedAt: NINE }, "clock"),
  );
  expect(fired).toMatchObject({ kind: "known", outcome: "missed", executionId: null });
  expect({ executions: await listExecutions(workflowId), ...room }).toMatchObject({
    executions: [],
    started: [],
    told: [],
  });
  expect(await recordOf(workflowId)).toEqual(["09:00 missed"]);
});

test("backfill, of a tick that a look calls missed at the same moment, starts it once and it says so", async () => {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, schedule: AWAY });
  const room = aTickRoom(db, TEN);
  const fired = await meanwhile(
    (tx) => insertTicks(tx, [missed(workflowId, NINE)]),
    () => room.backfill({ workflowId, firedAt: NINE }),
  );
  expect(fired).toMatchObject({ kind: "decided", outcome: "started" });
  const [tick] = await listTicks(db, { workflowId, before: null, limit: 2 });
  expect(tick).toMatchObject({ outcome: "started", source: "backfill" });
  expect(await listExecutions(workflowId)).toEqual([{ id: tick?.executionId }]);
});

test("backfill, of a tick that another backfill starts at the same moment, starts nothing and says which it is", async () => {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, schedule: AWAY });
  const room = aTickRoom(db, TEN);
  const fired = await Promise.all(Array.from({ length: 10 }, () => room.backfill({ workflowId, firedAt: NINE })));
  expect(fired.filter(({ kind }) => kind === "decided")).toHaveLength(1);
  expect(await listExecutions(workflowId)).toHaveLength(1);
});

test("a look, at ticks of which another look records one at the same moment, tells of the others only", async () => {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, schedule: { catchup: "none" } });
  const told = await meanwhile(
    (tx) => insertTicks(tx, [missed(workflowId, TEN)]),
    () => look(secondsAfter(ELEVEN, 600)),
  );
  expect(told.map(({ nominalAt, outcome }) => [nominalAt, outcome])).toEqual([
    [NINE, "missed"],
    [ELEVEN, "missed"],
  ]);
  expect(await recordOf(workflowId)).toEqual(["09:00 missed", "10:00 missed", "11:00 missed"]);
});

test.each([
  ["moved to other times", { cron: "30 * * * *" }, ["09:00 paused", "09:30 missed", "10:30 missed"]],
  ["resumed", { cron: "0 * * * *" }, ["09:00 paused", "10:00 missed", "11:00 missed"]],
] as const)(
  "a look, at a paused schedule that is being %s, waits for that and says of each time what was declared then",
  async (_, changed, expected) => {
    const paused = { enabled: false, catchup: "none" as const };
    const workflow = await aScheduledWorkflow(db, { since: SINCE, schedule: paused });
    const { workflowId } = workflow;
    // A commit that took its time over its last statements: its time is past when it can be seen.
    const change = (tx: Db) =>
      commitSchedule(tx, workflow, { at: secondsAfter(NINE, 60), schedule: { ...paused, enabled: true, ...changed } });
    const now = secondsAfter(ELEVEN, 120);
    await meanwhile(change, () => look(now));
    await look(now);
    expect(await recordOf(workflowId)).toEqual(expected);
  },
);
