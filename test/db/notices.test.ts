import { beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { recordRefusedExecution } from "../../db/executions/refused.ts";
import { release, reserve, settle } from "../../db/ledger/credits.ts";
import { listDueNotices, markNoticesStarted, writeSlowNotices } from "../../db/notices/notices.ts";
import { insertPlace } from "../../db/notices/places.ts";
import { findLastGood } from "../../db/notices/told-runs.ts";
import { insertTicks } from "../../db/schedules/ticks.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionEnd } from "../../domain/execution.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import type { Notify } from "../../domain/manifest/notify-schema.ts";
import { createExecutionId } from "../../src/ids.ts";
import { anAccount, anExecution, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const { db } = await aFileDatabase();
let accountId: AccountId;

beforeAll(async () => {
  accountId = await anAccount(db);
  for (const name of ["ops", "team"])
    await insertPlace(db, { accountId, name, kind: "slack", target: Buffer.of(1), secret: null, createdBy: "ada" });
});

const aListener = (notify: Notify): Promise<TestWorkflow> => aWorkflow(db, { accountId, manifest: { notify } });

async function end(
  workflow: TestWorkflow,
  status: ExecutionEnd,
  notifies = true,
  schedule?: string | null,
): Promise<ExecutionId> {
  const executionId = await anExecution(db, { workflow, notifies, chargeMax: microCredits(1n) });
  if (schedule !== undefined)
    await queryRows(
      db,
      `update executions set trigger = 'schedule', schedule_name = :schedule where id = :executionId`,
      {
        schedule,
        executionId,
      },
    );
  await reserve(db, executionId);
  const nothing = microCredits(0n);
  await settle(db, { executionId, status, secondsUsed: 1, compute: nothing, total: nothing });
  return executionId;
}

/** What was written for a workflow, the oldest first. */
async function listWritten({ workflowId }: TestWorkflow): Promise<Record<string, unknown>[]> {
  return queryRows(
    db,
    `select n.kind, p.name as place, n.more, n.execution_id as "executionId" from notices n join notice_places p on p.id = n.place_id
      where n.workflow_id = :workflowId order by n.kind = 'recovery' and p.name = 'team', n.created_at`,
    { workflowId },
  );
}

/** As if those written so far were of long ago. */
async function passTime({ workflowId }: TestWorkflow): Promise<void> {
  await queryRows(
    db,
    `update notices set due_at = due_at - interval '1 hour', started_at = now() where workflow_id = :workflowId`,
    { workflowId },
  );
}

test("ends, of each kind, are told as failures but for those that were asked for", async () => {
  const workflow = await aListener({ failure: ["ops"] });
  const told: ExecutionId[] = [];
  for (const status of ["failed", "cancelled", "timed_out", "out_of_memory", "success"] as const) {
    const executionId = await end(workflow, status);
    if (status !== "cancelled" && status !== "success") told.push(executionId);
    await passTime(workflow);
  }
  for (const failure of ["internal", "insufficient_credits"] as const) {
    const executionId = await anExecution(db, { workflow, notifies: true });
    await release(db, { executionId, status: "failed", failure, message: "ours" });
    told.push(executionId);
    await passTime(workflow);
  }
  const cancelled = await anExecution(db, { workflow, notifies: true });
  await release(db, { executionId: cancelled, status: "cancelled", failure: null, message: "" });
  await end(workflow, "failed", false);
  expect(await listWritten(workflow)).toEqual(
    told.map((executionId) => ({ kind: "failure", place: "ops", more: 0, executionId })),
  );
});

test("success, the first after failures, is a recovery in each place that is named, and no other is", async () => {
  const workflow = await aListener({ recovery: ["ops", "team"] });
  for (const status of ["success", "failed", "failed", "cancelled"] as const) await end(workflow, status);
  const recovered = await end(workflow, "success");
  await end(workflow, "success");
  expect(await listWritten(workflow)).toEqual(
    ["ops", "team"].map((place) => ({ kind: "recovery", place, more: 0, executionId: recovered })),
  );
});

test("success, of one schedule or of a call, is no recovery of another schedule that fails", async () => {
  const workflow = await aListener({ recovery: ["ops"] });
  const lines = ["nightly", "hourly", null, undefined];
  for (const failing of lines) {
    await end(workflow, "failed", true, failing);
    const before = (await listWritten(workflow)).length;
    for (const other of lines) if (other !== failing) await end(workflow, "success", true, other);
    expect(await listWritten(workflow)).toHaveLength(before);
    const executionId = await end(workflow, "success", true, failing);
    expect((await listWritten(workflow)).slice(before)).toEqual([
      { kind: "recovery", place: "ops", more: 0, executionId },
    ]);
  }
});

test("the last good run, of a schedule or of calls, is of the same, also when others ended well after it", async () => {
  const workflow = await aWorkflow(db, { accountId });
  const lines = ["nightly", "hourly", null, undefined];
  const good = new Map<string | null | undefined, ExecutionId>();
  for (const line of lines) good.set(line, await end(workflow, "success", true, line));
  for (const line of lines) {
    const failed = await end(workflow, "failed", true, line);
    expect([line, (await findLastGood(db, failed))?.id]).toEqual([line, good.get(line)]);
  }
  const first = await end(workflow, "failed", true, "weekly");
  expect(await findLastGood(db, first)).toBeUndefined();
});

test("ticks, that started nothing although they should have, are told; those that an overlap left out are not", async () => {
  const workflow = await aListener({ missed: ["ops"] });
  const { workflowId } = workflow;
  await markNoticesStarted(db, await listDueNotices(db, 100));
  const outcomes = ["skipped_overlap", "paused", "missed", "refused_concurrency", "missed"] as const;
  const tickAt = (minutes: number) => new Date(Date.UTC(2026, 2, 1, 0, minutes));
  const about = { workflowId, reason: "late", executionId: null, decidedAt: new Date() };
  for (const [minutes, outcome] of outcomes.entries())
    await insertTicks(db, [{ ...about, outcome, nominalAt: tickAt(minutes), source: "clock" }]);
  await insertTicks(db, [{ ...about, outcome: "missed", nominalAt: tickAt(9), source: "backfill" }]);
  // The first is due at once, and the two after it come together.
  expect(await listWritten(workflow)).toMatchObject([
    { kind: "missed", more: 0 },
    { kind: "missed", more: 1 },
  ]);
  const [due, ...others] = await listDueNotices(db, 100);
  expect(others).toEqual([]);
  await markNoticesStarted(db, [due as string]);
  expect(await listDueNotices(db, 100)).toEqual([]);
});

test("run, refused before it is recorded as accepted, is no failure: its tick is told", async () => {
  const workflow = await aListener({ failure: ["ops"] });
  const { workflowId, commitId } = workflow;
  const refused = {
    id: createExecutionId(),
    accountId,
    workflowId,
    commitId,
    trigger: "schedule" as const,
    inputs: {},
    secretInputs: null,
    timeoutSeconds: 1,
    cpu: 1,
    attemptsMax: 1,
    acceptedBy: "proc_test",
    files: [],
    chargeMax: microCredits(2n),
    notifies: true,
  };
  await recordRefusedExecution(db, refused, { available: microCredits(1n) });
  expect(await listWritten(workflow)).toEqual([]);
});

test("run, that takes longer than its commit says, is told once, while it runs or when it has ended", async () => {
  const workflow = await aListener({ slow: { afterSeconds: 60, to: ["ops"] } });
  const begin = async (minutes: number): Promise<ExecutionId> => {
    const executionId = await anExecution(db, { workflow, notifies: true });
    await reserve(db, executionId);
    await queryRows(
      db,
      `update executions set state = 'running', started_at = now() - make_interval(mins => :minutes) where id = :executionId`,
      { minutes, executionId },
    );
    return executionId;
  };
  const [slow, quick] = [await begin(2), await begin(0)];
  for (let look = 0; look < 3; look += 1) await writeSlowNotices(db);
  const last = await begin(3);
  const nothing = microCredits(0n);
  for (const executionId of [slow, quick, last])
    await settle(db, { executionId, status: "success", secondsUsed: 1, compute: nothing, total: nothing });
  await writeSlowNotices(db);
  expect(await listWritten(workflow)).toMatchObject([
    { kind: "slow", executionId: slow },
    { kind: "slow", executionId: last },
  ]);
});

test("failures, hundreds at once of several workflows, are each told or counted", async () => {
  const workflows = await Promise.all([1, 2, 3].map(() => aListener({ failure: ["ops", "team"] })));
  const runs = Array.from({ length: 300 }, (_, index) => workflows[index % 3] as TestWorkflow);
  await Promise.all(runs.map((workflow) => end(workflow, "failed")));
  for (const workflow of workflows) {
    const written = (await listWritten(workflow)) as { place: string; more: number }[];
    for (const place of ["ops", "team"]) {
      const told = written.filter((one) => one.place === place);
      expect(told).toHaveLength(2);
      expect(told.reduce((sum, { more }) => sum + 1 + more, 0)).toBe(100);
    }
  }
});

test("notice, while an end is added to it, is not handed on, and is when that is done", async () => {
  const workflow = await aListener({ failure: ["ops"] });
  await end(workflow, "failed");
  const [id] = (await listDueNotices(db, 100)).slice(-1);
  await db.transaction(async (tx) => {
    await queryRows(tx, "update notices set more = more + 1 where id = :id returning id", { id });
    expect(await listDueNotices(db, 100)).not.toContain(id);
  });
  expect(await listDueNotices(db, 100)).toContain(id);
});
