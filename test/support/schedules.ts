import { createTicks, type DecidedTick, type Ticks, type TicksDeps } from "../../activities/ticks.ts";
import type { Db } from "../../db/connect.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { release } from "../../db/ledger/credits.ts";
import { listTicks, type Tick } from "../../db/schedules/ticks.ts";
import { microCredits } from "../../domain/credits.ts";
import type { AccountId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import { DEFAULT_BOUNDS } from "../../domain/manifest/bounds.ts";
import type { Manifest, Schedule } from "../../domain/manifest/manifest.ts";
import { listDeclaredSchedules } from "../../domain/schedules/names.ts";
import { createExecutionId } from "../../src/ids.ts";
import { publishSchedule, publishSchedules } from "../../src/publish/published-schedule.ts";
import { aCommit, aManifest, aWorkflow, type TestWorkflow } from "./builders.ts";

/** A schedule that is due every hour in UTC, unless the test says otherwise. */
export function aSchedule(given: Partial<Schedule> = {}): Schedule {
  return {
    enabled: true,
    cron: "0 * * * *",
    timezone: "UTC",
    payload: {},
    overlap: "skip",
    catchup: "latest",
    maxLatenessSeconds: 3_600,
    jitterSeconds: 0,
    ...given,
  };
}

export async function findTick(
  db: Db,
  workflowId: WorkflowId,
  nominalAt: Date,
  scheduleName?: string,
): Promise<Tick | undefined> {
  const ref = scheduleName === undefined ? { workflowId } : { workflowId, scheduleName };
  const ticks = await listTicks(db, { ...ref, before: null, limit: 1_000 });
  return ticks.find((tick) => tick.nominalAt.getTime() === nominalAt.getTime());
}

/** A workflow whose latest commit declares a schedule, declared at `since`. */
export async function aScheduledWorkflow(
  db: Db,
  given: { since: Date; schedule?: Partial<Schedule>; manifest?: Partial<Manifest>; accountId?: AccountId },
): Promise<TestWorkflow> {
  const schedule = aSchedule(given.schedule);
  const manifest = { ...given.manifest, triggers: { api: { enabled: true }, schedule } };
  const { accountId } = given;
  const workflow = await aWorkflow(db, { manifest, ...(accountId === undefined ? {} : { accountId }) });
  await db.transaction((tx) => publishSchedule(tx, { workflowId: workflow.workflowId, schedule, at: given.since }));
  return workflow;
}

/** A workflow whose latest commit declares schedules with these names, declared at `since`. */
export async function aWorkflowWithSchedules(
  db: Db,
  given: { since: Date; schedules: Readonly<Record<string, Partial<Schedule>>>; manifest?: Partial<Manifest> },
): Promise<TestWorkflow> {
  const schedules = Object.entries(given.schedules).map(([name, schedule]) => ({ ...aSchedule(schedule), name }));
  const triggers = { api: { enabled: true }, schedule: null, schedules };
  const workflow = await aWorkflow(db, { manifest: { ...given.manifest, triggers } });
  const declared = { workflowId: workflow.workflowId, schedules: listDeclaredSchedules({ triggers }), at: given.since };
  await db.transaction((tx) => publishSchedules(tx, declared));
  return workflow;
}

/** Commits a schedule, or none, on top of the workflow's commit, and answers the workflow as it is then. */
export async function commitSchedule(
  db: Db,
  workflow: TestWorkflow,
  given: { schedule: Partial<Schedule> | null; at: Date; manifest?: Partial<Manifest> },
): Promise<TestWorkflow> {
  const schedule = given.schedule && aSchedule(given.schedule);
  const manifest = aManifest({
    ...workflow.manifest,
    ...given.manifest,
    triggers: { api: { enabled: true }, schedule },
  });
  const { workflowId, commitId: parentId } = workflow;
  const commitId = await aCommit(db, { workflowId, parentId, manifest });
  await db.transaction((tx) => publishSchedule(tx, { workflowId, schedule, at: given.at }));
  return { ...workflow, commitId, manifest };
}

/** Ticks with a clock that stands where the test sets it, and what they started and told. Prices are nothing an account feels. */
export function aTickRoom(db: Db, now: Date, bounds = DEFAULT_BOUNDS, more: Partial<TicksDeps> = {}) {
  const clock = { now };
  const started: ExecutionId[] = [];
  const told: DecidedTick[] = [];
  const ticks = createTicks({
    db,
    bounds,
    keptBytesMax: 0,
    prices: { perCpuSecond: microCredits(1_000n), perExecution: microCredits(0n) },
    processId: "proc_test",
    createExecutionId,
    now: () => clock.now,
    startExecution: async (executionId) => void started.push(executionId),
    onTick: (tick) => void told.push(tick),
    ...more,
  });
  return { ...ticks, clock, started, told };
}

/** Ticks by the clock of this machine, whose executions are recorded and not run. */
export function someTicks(db: Db): Ticks {
  return createTicks({
    db,
    keptBytesMax: 0,
    prices: { perCpuSecond: microCredits(1_000n), perExecution: microCredits(0n) },
    processId: "proc_test",
    createExecutionId,
    now: () => new Date(),
    startExecution: async () => undefined,
    onTick: () => undefined,
  });
}

/** When the hourly schedule of a test is declared, and when it is due after that. */
export const SINCE = new Date("2026-05-04T08:30:00Z");
export const NINE = new Date("2026-05-04T09:00:00Z");
export const TEN = new Date("2026-05-04T10:00:00Z");
export const ELEVEN = new Date("2026-05-04T11:00:00Z");

export function secondsAfter(instant: Date, seconds: number): Date {
  return new Date(instant.getTime() + seconds * 1_000);
}

/** Ends the execution that a tick started, as a cancellation does. */
export async function endTick(db: Db, executionId: ExecutionId | null): Promise<void> {
  await release(db, { executionId: executionId as ExecutionId, status: "cancelled", failure: null, message: "" });
}

/** The state of the execution that a tick started, and whether it waits for others. */
export async function stateOfTick(db: Db, executionId: ExecutionId | null) {
  const execution = await findExecution(db, executionId as ExecutionId);
  return execution && { state: execution.state, waits: execution.queuePosition !== null };
}
