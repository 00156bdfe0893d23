import { expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { acceptExecution } from "../../db/executions/acceptance.ts";
import { admitExecutions } from "../../db/executions/admissions.ts";
import { microCredits } from "../../domain/credits.ts";
import type { Overlap } from "../../domain/manifest/manifest.ts";
import { createExecutionId } from "../../src/ids.ts";
import { anInput } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";
import {
  aScheduledWorkflow,
  aTickRoom,
  aWorkflowWithSchedules,
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

async function overlapped(overlap: Overlap) {
  const { workflowId } = await aScheduledWorkflow(db, { since: SINCE, schedule: { overlap, catchup: "all" } });
  const room = aTickRoom(db, NINE);
  const fire = async (at: Date) => {
    room.clock.now = at;
    await room.fire({ workflowId, firedAt: at }, "clock");
    return findTick(db, workflowId, at);
  };
  return { workflowId, room, fire, first: await fire(NINE), second: await fire(TEN), third: await fire(ELEVEN) };
}

test("overlap skip, with the one before under way, skips and says for which; starts again after its end", async () => {
  const { first, second, third, room, fire } = await overlapped("skip");
  expect(second).toMatchObject({
    outcome: "skipped_overlap",
    reason: `${first?.executionId} of an earlier tick was still under way.`,
    executionId: null,
  });
  expect(third).toMatchObject({ outcome: "skipped_overlap" });
  await endTick(db, first?.executionId ?? null);
  const fourth = await fire(secondsAfter(ELEVEN, 3_600));
  expect(room.started).toEqual([first?.executionId, fourth?.executionId]);
});

test("overlap allow, with others under way, starts beside them", async () => {
  const { first, second, third, room } = await overlapped("allow");
  expect(room.started).toEqual([first?.executionId, second?.executionId, third?.executionId]);
});

test("overlap queue, with others under way, begins one after the other in the order of the ticks", async () => {
  const { workflowId, first, second, third, room } = await overlapped("queue");
  expect(room.started).toEqual([first?.executionId]);
  const states = async () => [
    await stateOfTick(db, second?.executionId ?? null),
    await stateOfTick(db, third?.executionId ?? null),
  ];
  expect(await states()).toEqual([
    { state: "queued", waits: true },
    { state: "queued", waits: true },
  ]);
  // Its turn comes with the end of the one before, and with nothing else.
  expect(await admitExecutions(db, workflowId)).toEqual([]);
  await endTick(db, first?.executionId ?? null);
  expect((await states()).map((state) => state?.waits)).toEqual([false, true]);
  await endTick(db, second?.executionId ?? null);
  expect((await states())[1]).toEqual({ state: "queued", waits: false });
});

test("overlap cancel_previous, with one under way and one waiting, cancels both and begins after their end", async () => {
  const { first, second, third, room } = await overlapped("cancel_previous");
  expect(room.started).toEqual([first?.executionId]);
  const cancelled = await queryRows<{ id: string }>(
    db,
    `select id, cancel_requested_by as by from executions where id = :id and cancel_requested_at is not null`,
    { id: first?.executionId },
  );
  expect(cancelled).toEqual([{ id: first?.executionId, by: "schedule" }]);
  expect(await stateOfTick(db, second?.executionId ?? null)).toEqual({ state: "cancelled", waits: false });
  expect(await stateOfTick(db, third?.executionId ?? null)).toEqual({ state: "queued", waits: true });
  await endTick(db, first?.executionId ?? null);
  expect(await stateOfTick(db, third?.executionId ?? null)).toEqual({ state: "queued", waits: false });
});

test("overlap queue, with a tick that waits for its schedule, lets calls of others pass", async () => {
  const concurrency = { executionsMax: 2, whenFull: "reject" as const };
  const workflow = await aScheduledWorkflow(db, {
    since: SINCE,
    schedule: { overlap: "queue" },
    manifest: { concurrency },
  });
  const room = aTickRoom(db, NINE);
  for (const firedAt of [NINE, TEN]) {
    room.clock.now = firedAt;
    // With a place free it waits for the one before, although the workflow lets nobody wait for a place.
    expect(await room.fire({ workflowId: workflow.workflowId, firedAt }, "clock")).toMatchObject({
      outcome: "started",
    });
  }
  const call = async () => {
    const { accountId, workflowId, commitId } = workflow;
    const acceptance = await acceptExecution(
      db,
      {
        id: createExecutionId(),
        accountId,
        workflowId,
        commitId,
        trigger: "api" as const,
        inputs: {},
        secretInputs: null,

        files: [],
        acceptedBy: "proc_test",
        timeoutSeconds: 1,
        cpu: 1,
        attemptsMax: 1,
        chargeMax: microCredits(1n),
      },
      { idempotency: null, rates: { key: null, account: null }, concurrency: { executionsMax: 2, waitingMax: 0 } },
    );
    return acceptance.kind === "accepted" ? acceptance.admitted : acceptance.kind;
  };
  expect([await call(), await call()]).toEqual([true, "full"]);
});

test.each<Overlap>(["skip", "queue", "cancel_previous"])(
  "overlap %s, of one schedule, counts none of another's executions, also of the same minute",
  async (overlap) => {
    const schedules = { nightly: { overlap, payload: { which: "n" } }, hourly: { overlap, payload: { which: "h" } } };
    const manifest = { inputs: [anInput("string", "which")] };
    const { workflowId } = await aWorkflowWithSchedules(db, { since: SINCE, schedules, manifest });
    const room = aTickRoom(db, NINE);
    const fire = async (scheduleName: string, at: Date) => {
      room.clock.now = at;
      await room.fire({ workflowId, scheduleName, firedAt: at }, "clock");
      return findTick(db, workflowId, at, scheduleName);
    };
    const [night, hour] = [await fire("nightly", NINE), await fire("hourly", NINE)];
    expect(room.started).toEqual([night?.executionId, hour?.executionId]);
    const rows = await queryRows(
      db,
      "select schedule_name as name, inputs ->> 'which' as which from executions where workflow_id = :workflowId order by name",
      { workflowId },
    );
    expect(rows).toEqual([
      { name: "hourly", which: "h" },
      { name: "nightly", which: "n" },
    ]);
    const next = await fire("hourly", TEN);
    expect(await stateOfTick(db, night?.executionId ?? null)).toEqual({ state: "queued", waits: false });
    if (overlap !== "queue") return;
    expect(await stateOfTick(db, next?.executionId ?? null)).toEqual({ state: "queued", waits: true });
    await endTick(db, night?.executionId ?? null);
    expect(await admitExecutions(db, workflowId)).toEqual([]);
    await endTick(db, hour?.executionId ?? null);
    expect(await stateOfTick(db, next?.executionId ?? null)).toMatchObject({ waits: false });
  },
);

test("a tick, of a schedule that no commit declares, is none", async () => {
  const { workflowId } = await aWorkflowWithSchedules(db, { since: SINCE, schedules: { nightly: {} } });
  const room = aTickRoom(db, NINE);
  expect(await room.fire({ workflowId, scheduleName: "hourly", firedAt: NINE }, "clock")).toEqual({ kind: "none" });
  expect(await room.fire({ workflowId, firedAt: NINE }, "clock")).toEqual({ kind: "none" });
});
