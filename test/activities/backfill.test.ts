import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Db } from "../../db/connect.ts";
import { queryRows } from "../../db/connect.ts";
import { release } from "../../db/credits.ts";
import { findExecution } from "../../db/executions.ts";
import { findTick, listTicks } from "../../db/ticks.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { anAccount } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";
import { aScheduledWorkflow, aTickRoom, ELEVEN, NINE, SINCE, secondsAfter, TEN } from "../support/schedules.ts";

let database: TestDatabase;
let db: Db;

beforeAll(async () => {
  database = await aDatabase();
  db = database.db;
});

afterAll(() => database?.drop());

async function end(executionId: ExecutionId | null): Promise<void> {
  await release(db, { executionId: executionId as ExecutionId, status: "cancelled", failure: null, message: "" });
}

async function stateOf(id: ExecutionId | null) {
  const execution = await findExecution(db, id as ExecutionId);
  return execution && { state: execution.state, waits: execution.queuePosition !== null };
}

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
  await end(ticks[1]?.executionId ?? null);
  expect(await stateOf(ticks[0]?.executionId ?? null)).toEqual({ state: "queued", waits: false });
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
