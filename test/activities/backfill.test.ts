import { expect, test } from "@jest/globals";
import { toRunVariables } from "../../activities/run-variables.ts";
import { queryRows } from "../../db/connect.ts";
import { claimAttempt } from "../../db/executions/attempts.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { listTicks } from "../../db/schedules/ticks.ts";
import type { ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { Overlap } from "../../domain/manifest/manifest.ts";
import { listBackfillTicks } from "../../src/schedules/backfill.ts";
import { anAccount, anInput } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";
import {
  aScheduledWorkflow,
  aTickRoom,
  ELEVEN,
  endTick,
  findTick,
  NINE,
  SINCE,
  secondsAfter,
  stateOfTick,
  TEN,
} from "../support/schedules.ts";

const { db } = await aFileDatabase();

test("backfill, of past ticks, begins each once and one after the other", async () => {
  const workflow = await aScheduledWorkflow(db, { since: ELEVEN, schedule: { overlap: "skip" } });
  const { workflowId } = workflow;
  const room = aTickRoom(db, secondsAfter(ELEVEN, 60));
  for (const firedAt of [NINE, TEN, NINE]) await room.backfill({ workflowId, firedAt });
  const ticks = await listTicks(db, { workflowId, before: null, limit: 10 });
  expect(ticks.map(({ nominalAt, outcome, source }) => ({ nominalAt, outcome, source }))).toEqual([
    { nominalAt: TEN, outcome: "started", source: "backfill" },
    { nominalAt: NINE, outcome: "started", source: "backfill" },
  ]);
  expect(new Set(room.started)).toEqual(new Set([ticks[1]?.executionId]));
  await endTick(db, ticks[1]?.executionId ?? null);
  expect(await stateOfTick(db, ticks[0]?.executionId ?? null)).toEqual({ state: "queued", waits: false });
});

test.each([
  // Written by hand: 02:30 is missing on the first Sunday, and comes twice on the second.
  [
    "is put forward",
    "2026-03-28",
    ["2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"],
  ],
  [
    "is put back",
    "2026-10-24",
    ["2026-10-24T02:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"],
  ],
])("backfill, over the day on which the clock %s, gives each run its own day", async (_, from, expected) => {
  const timezone = "Europe/Berlin";
  const payload = { day: "${{ tick.date }}", note: "from ${{ tick.previous }} in ${{ tick.zone }}" };
  const schedule = { cron: "30 2 * * *", timezone, overlap: "allow" as const, payload };
  const manifest = { inputs: [anInput("date", "day", { default: null }), anInput("string", "note")] };
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, schedule, manifest });
  const room = aTickRoom(db, secondsAfter(new Date("2026-11-02T00:00:00Z"), 60));
  const start = new Date(`${from}T00:00:00Z`);
  const range = { from: start, to: secondsAfter(start, 3 * 86_400) };
  const listed = listBackfillTicks({ cron: schedule.cron, timezone }, range);
  for (const firedAt of listed.ok ? listed.ticks : []) await room.backfill({ workflowId, firedAt });
  const claim = { hostId: "host_a", processId: "proc_a", leaseSeconds: 60, lostMax: 3 };
  const works = await Promise.all(
    room.started.map(async (executionId) => {
      const claimed = await claimAttempt(db, { ...claim, executionId });
      return claimed.kind === "claimed" ? claimed.work : undefined;
    }),
  );
  const variables = works.map((work) => work && toRunVariables(work));
  expect(works.map((work) => work?.inputs["day"])).toEqual(expected.map((time) => time.slice(0, 10)));
  expect(works.slice(1).map((work) => work?.inputs["note"])).toEqual(
    expected.slice(0, -1).map((time) => `from ${time} in ${timezone}`),
  );
  expect(variables.map((each) => each?.["TREADLE_RUN_SCHEDULED_FOR"])).toEqual(expected);
  expect(variables.slice(1).map((each) => each?.["TREADLE_RUN_PREVIOUS_SCHEDULED_FOR"])).toEqual(expected.slice(0, -1));
  expect(variables[0]).toMatchObject({
    TREADLE_RUN_ID: room.started[0],
    TREADLE_RUN_TRIGGER: "schedule",
    TREADLE_RUN_ATTEMPT: "1",
    TREADLE_RUN_WORKFLOW: workflowId,
    TREADLE_RUN_TIMEZONE: timezone,
  });
});

test("backfill, of a tick that was missed, starts it and changes its record", async () => {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, schedule: { catchup: "none" } });
  const room = aTickRoom(db, TEN);
  expect(await room.fire({ workflowId, firedAt: NINE }, "repair")).toMatchObject({ outcome: "missed" });
  expect(await room.backfill({ workflowId, firedAt: NINE })).toMatchObject({ kind: "decided", outcome: "started" });
  expect(await findTick(db, workflowId, NINE)).toMatchObject({ outcome: "started", source: "backfill", reason: "" });
});

test("backfill, that the account cannot pay, says so and leaves nothing", async () => {
  const accountId = await anAccount(db, { microCredits: 5n });
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, accountId });
  expect(await aTickRoom(db, TEN).backfill({ workflowId, firedAt: NINE })).toMatchObject({
    outcome: "refused_credits",
  });
  expect(await listTicks(db, { workflowId, before: null, limit: 10 })).toEqual([]);
  expect(await queryRows(db, `select id from executions where workflow_id = :workflowId`, { workflowId })).toEqual([]);
});

/** Two past ticks that were asked for, and two that the clock fires while the first of those is under way. */
async function backfilledBesideTheClock(overlap: Overlap, manifest = {}) {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, schedule: { overlap }, manifest });
  const room = aTickRoom(db, secondsAfter(ELEVEN, 60));
  const asked = [secondsAfter(NINE, -7_200), secondsAfter(NINE, -3_600)];
  for (const firedAt of asked) await room.backfill({ workflowId, firedAt });
  for (const firedAt of [TEN, ELEVEN]) {
    room.clock.now = firedAt;
    await room.fire({ workflowId, firedAt }, "clock");
  }
  const find = async (at: Date) => (await findTick(db, workflowId, at))?.executionId ?? null;
  const [[older, newer], [ten, eleven]] = (await Promise.all(
    [asked, [TEN, ELEVEN]].map((times) => Promise.all(times.map(find))),
  )) as [[ExecutionId, ExecutionId], [ExecutionId, ExecutionId | null]];
  return { workflowId, room, older, newer, ten, eleven };
}

async function cancelledOf(workflowId: WorkflowId): Promise<string[]> {
  const rows = await queryRows<{ id: string }>(
    db,
    `select id from executions where workflow_id = :workflowId and cancel_requested_at is not null`,
    { workflowId },
  );
  return rows.map(({ id }) => id);
}

test.each([
  ["skip", "skipped_overlap", []],
  ["queue", "started", []],
  ["cancel_previous", "started", ["ten"]],
  ["allow", "started", []],
] as const)(
  "overlap %s, while past ticks run that were asked for, counts those of the clock alone and leaves the others alone",
  async (overlap, outcome, cancelled) => {
    const { workflowId, room, older, newer, ten, eleven } = await backfilledBesideTheClock(overlap);
    const isSideBySide = overlap === "allow";
    expect(room.started).toEqual(isSideBySide ? [older, newer, ten, eleven] : [older, ten]);
    expect(await stateOfTick(db, newer)).toEqual({ state: "queued", waits: !isSideBySide });
    expect(await findTick(db, workflowId, ELEVEN)).toMatchObject({ outcome });
    if (outcome === "skipped_overlap")
      expect(await findTick(db, workflowId, ELEVEN)).toMatchObject({
        reason: `${ten} of an earlier tick was still under way.`,
      });
    else expect(await stateOfTick(db, eleven)).toEqual({ state: "queued", waits: !isSideBySide });
    expect(await cancelledOf(workflowId)).toEqual(cancelled.map(() => ten));
  },
);

test("past ticks that were asked for, with others of the clock waiting, each wait for those of their own kind alone", async () => {
  const { older, newer, ten, eleven } = await backfilledBesideTheClock("queue");
  const waiting = async () => [(await stateOfTick(db, newer))?.waits, (await stateOfTick(db, eleven))?.waits];
  expect(await waiting()).toEqual([true, true]);
  await endTick(db, older);
  expect(await waiting()).toEqual([false, true]);
  await endTick(db, ten);
  expect(await waiting()).toEqual([false, false]);
});

test("a past tick that was asked for, while one of the clock runs, begins at once", async () => {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE });
  const room = aTickRoom(db, TEN);
  await room.fire({ workflowId, firedAt: TEN }, "clock");
  expect(await room.backfill({ workflowId, firedAt: NINE })).toMatchObject({ outcome: "started", admitted: true });
});

test("past ticks that were asked for, of a workflow that runs one execution at a time, let those of the clock pass", async () => {
  const concurrency = { executionsMax: 1, whenFull: "queue" as const };
  const { older, newer, ten, eleven } = await backfilledBesideTheClock("queue", { concurrency });
  const place = async (id: ExecutionId | null) => (await findExecution(db, id as ExecutionId))?.queuePosition;
  const places = async () => [await place(newer), await place(ten), await place(eleven)];
  expect(await places()).toEqual([3, 1, 2]);
  await endTick(db, older);
  expect(await places()).toEqual([2, null, 1]);
  await endTick(db, ten);
  expect(await places()).toEqual([1, null, null]);
  await endTick(db, eleven);
  expect(await places()).toEqual([null, null, null]);
});
