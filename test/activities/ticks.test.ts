import { expect, test } from "@jest/globals";
import { createTicks } from "../../activities/ticks.ts";
import { queryRows } from "../../db/connect.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { putKeptBytesMax } from "../../db/executions/kept-bytes.ts";
import { reserve } from "../../db/ledger/credits.ts";
import { listTicks } from "../../db/schedules/ticks.ts";
import { keepWatch } from "../../db/schedules/watch.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { DEFAULT_BOUNDS } from "../../domain/manifest/bounds.ts";
import { createExecutionId } from "../../src/ids.ts";
import { anAccount, anExecution, anInput } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";
import {
  aScheduledWorkflow,
  aTickRoom,
  commitSchedule,
  ELEVEN,
  findTick,
  NINE,
  SINCE,
  secondsAfter,
  TEN,
} from "../support/schedules.ts";

const { db } = await aFileDatabase();

test("tick, on time, starts one execution of the latest commit with its payload and has a record", async () => {
  const inputs = [anInput("string", "region"), anInput("integer", "count", { required: false, default: 3 })];
  const first = await aScheduledWorkflow(db, {
    since: SINCE,
    manifest: { inputs },
    schedule: { payload: { region: "EU" } },
  });
  const { workflowId, commitId } = await commitSchedule(db, first, {
    at: SINCE,
    schedule: { payload: { region: "US" } },
  });
  const room = aTickRoom(db, secondsAfter(NINE, 1));
  const fired = await room.fire({ workflowId, firedAt: NINE }, "clock");

  expect(fired).toMatchObject({ kind: "decided", outcome: "started", admitted: true, nominalAt: NINE });
  const tick = await findTick(db, workflowId, NINE);
  expect(tick).toMatchObject({ outcome: "started", reason: "", source: "clock", decidedAt: secondsAfter(NINE, 1) });
  expect(room.started).toEqual([tick?.executionId]);
  expect(await findExecution(db, tick?.executionId as ExecutionId)).toMatchObject({
    commitId,
    trigger: "schedule",
    state: "queued",
  });
  const rows = await queryRows(db, `select inputs from executions where workflow_id = :workflowId`, { workflowId });
  expect(rows).toEqual([{ inputs: { region: "US", count: 3 } }]);
  expect(room.told).toEqual([
    {
      workflowId,
      scheduleName: "schedule",
      nominalAt: NINE,
      outcome: "started",
      source: "clock",
      executionId: tick?.executionId,
      lateSeconds: 1,
    },
  ]);
});

test("tick, with JSON in its payload, keeps the text of config.yaml", async () => {
  const { workflowId } = await aScheduledWorkflow(db, {
    since: SINCE,
    manifest: { inputs: [anInput("json", "data"), anInput("json", "more", { required: false })] },
    schedule: { payload: { data: { id: 9007199254740992 } }, payloadText: '{"data":{"id":9007199254740993}}' },
  });
  await aTickRoom(db, NINE).fire({ workflowId, firedAt: NINE }, "clock");
  const rows = await queryRows(db, `select input_texts from executions where workflow_id = :workflowId`, {
    workflowId,
  });
  expect(rows).toEqual([{ input_texts: { data: '{"id":9007199254740993}' } }]);
});

test("tick, fired by a hundred at once, starts one execution", async () => {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, schedule: { overlap: "allow" } });
  const room = aTickRoom(db, NINE);
  const fired = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      room.fire({ workflowId, firedAt: secondsAfter(NINE, index % 50) }, index % 2 === 0 ? "clock" : "repair"),
    ),
  );
  expect(fired.filter(({ kind }) => kind === "decided")).toHaveLength(1);
  expect(new Set(fired.map((one) => one.kind !== "none" && one.executionId)).size).toBe(1);
  expect(await queryRows(db, `select id from executions where workflow_id = :workflowId`, { workflowId })).toHaveLength(
    1,
  );
});

test("tick, whose execution could not be started, has its record and is started by the next firing", async () => {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE });
  const room = aTickRoom(db, NINE);
  const broken = createTicks({
    db,
    prices: { perCpuSecond: microCredits(1n), perExecution: microCredits(0n) },
    processId: "proc_test",
    keptBytesMax: 0,
    createExecutionId,
    now: () => NINE,
    onTick: () => undefined,
    startExecution: async () => Promise.reject(new Error("away")),
  });
  await expect(broken.fire({ workflowId, firedAt: NINE }, "clock")).rejects.toThrow("away");
  const tick = await findTick(db, workflowId, NINE);
  expect(await room.fire({ workflowId, firedAt: NINE }, "clock")).toMatchObject({ kind: "known" });
  expect(room.started).toEqual([tick?.executionId]);
});

test("tick, of a commit that asks for more time than the installation allows by now, needs the credits of what it gets", async () => {
  const accountId = await anAccount(db, { microCredits: 299_999n });
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, accountId });
  const room = aTickRoom(db, NINE, { ...DEFAULT_BOUNDS, timeoutSecondsMax: 200 });
  expect(await room.fire({ workflowId, firedAt: NINE }, "clock")).toMatchObject({ outcome: "started" });
  const [executionId] = room.started as [ExecutionId];
  expect(await findExecution(db, executionId)).toMatchObject({ chargeMax: 200_000n });
});

test.each([
  ["a time it is not due", { firedAt: secondsAfter(NINE, 60) }],
  ["a time before it was declared", { firedAt: secondsAfter(NINE, -3_600) }],
])("tick, fired for %s, is none and leaves nothing", async (_, { firedAt }) => {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE });
  expect(await aTickRoom(db, ELEVEN).fire({ workflowId, firedAt }, "clock")).toEqual({ kind: "none" });
  expect(await listTicks(db, { workflowId, before: null, limit: 10 })).toEqual([]);
});

test("tick, of a schedule that was removed before, is none; of one removed after, counts", async () => {
  const workflow = await aScheduledWorkflow(db, { since: SINCE, schedule: { catchup: "all" } });
  const { workflowId } = await commitSchedule(db, workflow, { schedule: null, at: secondsAfter(TEN, -60) });
  const room = aTickRoom(db, secondsAfter(TEN, -30));
  expect(await room.fire({ workflowId, firedAt: TEN }, "clock")).toEqual({ kind: "none" });
  expect(await room.fire({ workflowId, firedAt: NINE }, "repair")).toMatchObject({ outcome: "no_commit" });
});

test("tick, of a schedule that is paused at the time, is paused, whatever it is when it is looked at", async () => {
  const workflow = await aScheduledWorkflow(db, { since: SINCE, schedule: { enabled: false } });
  const { workflowId } = await commitSchedule(db, workflow, { schedule: { enabled: true }, at: secondsAfter(NINE, 1) });
  const fired = await aTickRoom(db, secondsAfter(NINE, 2)).fire({ workflowId, firedAt: NINE }, "clock");
  expect(fired).toMatchObject({
    outcome: "paused",
    executionId: null,
    reason: "The schedule was paused (enabled: false).",
  });
});

test("tick, while the account cannot pay it, is refused, with an execution that says so", async () => {
  const accountId = await anAccount(db, { microCredits: 299_999n });
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, accountId });
  const room = aTickRoom(db, NINE);
  const fired = await room.fire({ workflowId, firedAt: NINE }, "clock");
  expect(fired).toMatchObject({ outcome: "refused_credits", admitted: false });
  const tick = await findTick(db, workflowId, NINE);
  expect(await findExecution(db, tick?.executionId as ExecutionId)).toMatchObject({
    state: "failed",
    failure: "insufficient_credits",
    creditsNeeded: 300_000n,
    creditsAvailable: 299_999n,
    chargeTotal: 0n,
  });
  expect(room.started).toEqual([]);
});

test("tick, while the account keeps as much as it may, is refused without an execution, and begins when there is room", async () => {
  const accountId = await anAccount(db);
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, accountId });
  // Besides the 40 of the commit.
  await queryRows(db, "insert into kept_changes (account_id, bytes) values (:accountId, 1000)", { accountId });
  await putKeptBytesMax(db, accountId, 1_040);
  const fired = await aTickRoom(db, NINE).fire({ workflowId, firedAt: NINE }, "clock");
  expect(fired).toMatchObject({
    outcome: "refused_storage",
    executionId: null,
    admitted: false,
    reason: "The account kept as many bytes as it may.",
  });
  expect(await findTick(db, workflowId, NINE)).toMatchObject({ outcome: "refused_storage", executionId: null });
  await putKeptBytesMax(db, accountId, 1_041);
  const ten = secondsAfter(NINE, 3_600);
  const next = await aTickRoom(db, ten).fire({ workflowId, firedAt: ten }, "clock");
  expect(next).toMatchObject({ outcome: "started" });
});

test("tick, whose credits are gone when its execution begins, becomes a refused one", async () => {
  const accountId = await anAccount(db, { microCredits: 300_000n });
  const workflow = await aScheduledWorkflow(db, { since: SINCE, accountId });
  const { workflowId } = workflow;
  await aTickRoom(db, NINE).fire({ workflowId, firedAt: NINE }, "clock");
  const other = await anExecution(db, { workflow, chargeMax: microCredits(1n) });
  expect(await reserve(db, other)).toEqual({ kind: "reserved" });
  const { executionId } = (await findTick(db, workflowId, NINE)) ?? {};
  expect(await reserve(db, executionId as ExecutionId)).toEqual({ kind: "insufficient_credits" });
  expect(await findTick(db, workflowId, NINE)).toMatchObject({ outcome: "refused_credits", executionId });
});

test.each([
  ["reject", { outcome: "refused_concurrency", executionId: null }],
  ["queue", { outcome: "started", admitted: false }],
] as const)(
  "tick, of a workflow that has as many under way as it allows and would %s, is so",
  async (whenFull, expected) => {
    const concurrency = { executionsMax: 1, whenFull };
    const workflow = await aScheduledWorkflow(db, { since: SINCE, manifest: { concurrency } });
    await anExecution(db, { workflow });
    const room = aTickRoom(db, NINE);
    expect(await room.fire({ workflowId: workflow.workflowId, firedAt: NINE }, "clock")).toMatchObject(expected);
    expect(room.started).toEqual([]);
  },
);

test.each([
  ["too_late", "all", secondsAfter(NINE, 3_601), "It was later than max_lateness allows."],
  ["catchup none", "none", secondsAfter(NINE, 600), "The service was away when it was due, and catchup is none."],
] as const)("tick, that is %s, is missed and says why", async (_, catchup, now, reason) => {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, schedule: { catchup } });
  const fired = await aTickRoom(db, now).fire({ workflowId, firedAt: NINE }, "repair");
  expect(fired).toMatchObject({ outcome: "missed", reason, executionId: null });
});

test("tick, late only because much is due, starts although catchup is none", async () => {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, schedule: { catchup: "none" } });
  const watch = { holder: "proc_test" };
  await db.raw("delete from schedule_watch");
  for (const second of [-30, 0, 30, 60, 90, 120, 150])
    await keepWatch(db, { ...watch, now: secondsAfter(NINE, second) });
  expect(await aTickRoom(db, secondsAfter(NINE, 170)).fire({ workflowId, firedAt: NINE }, "clock")).toMatchObject({
    outcome: "started",
  });
  await db.raw("delete from schedule_watch");
});

test("tick, fired at the repetition of its local time, is that of the first time, once", async () => {
  const schedule = {
    cron: "30 2 * * *",
    timezone: "Europe/Berlin",
    catchup: "all" as const,
    maxLatenessSeconds: 7_200,
  };
  const since = new Date("2026-10-24T12:00:00Z");
  const { workflowId } = await aScheduledWorkflow(db, { since, schedule });
  const first = new Date("2026-10-25T00:30:00Z");
  const repetition = new Date("2026-10-25T01:30:00Z");
  const room = aTickRoom(db, repetition);
  expect(await room.fire({ workflowId, firedAt: repetition }, "clock")).toMatchObject({
    kind: "decided",
    nominalAt: first,
  });
  expect(await room.fire({ workflowId, firedAt: first }, "repair")).toMatchObject({ kind: "known" });
  // To start an execution again changes nothing.
  expect(new Set(room.started).size).toBe(1);
});
