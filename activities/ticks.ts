import type { Db } from "../db/connect.ts";
import { listSuccessors, lockScheduleAt, type StoredSchedule } from "../db/schedules/schedules.ts";
import { insertTicks, readTickGround, type TickGround } from "../db/schedules/ticks.ts";
import type { ExecutionId } from "../domain/ids.ts";
import { cronOf } from "../domain/schedules/declaration.ts";
import { MAIN_SCHEDULE, type ScheduleRef } from "../domain/schedules/names.ts";
import { nominalTickOf } from "../domain/schedules/nominal-ticks.ts";
import { checkTick, findFirstDue, type MissedReason } from "../domain/schedules/tick-plan.ts";
import { findTickTimes } from "../domain/schedules/tick-values.ts";
import type { TickInput, TickOutcome, TickSource, TickSummary } from "../domain/schedules/ticks.ts";
import { type Decision, type DecisionDeps, decideTick, RecordedMeanwhile } from "./tick-decision.ts";

/** Why a tick was missed, for people. */
export const MISSED: Readonly<Record<MissedReason, string>> = {
  too_late: "It was later than max_lateness allows.",
  catchup_none: "The service was away when it was due, and catchup is none.",
  superseded: "The service was away when it was due, and a later one was due before it was back (catchup: latest).",
};
export const PAUSED = "The schedule was paused (enabled: false).";

/** What became of a tick, and how late. */
export interface DecidedTick extends Required<ScheduleRef> {
  readonly nominalAt: Date;
  readonly outcome: TickOutcome;
  readonly source: TickSource;
  readonly executionId: ExecutionId | null;
  readonly lateSeconds: number;
}

export interface TicksDeps extends DecisionDeps {
  readonly db: Db;
  /** Starts an execution that was let in. To start one twice changes nothing. */
  readonly startExecution: (executionId: ExecutionId) => Promise<void>;
  readonly now: () => Date;
  /** Told of each tick that got its record. */
  readonly onTick: (tick: DecidedTick) => void;
}

/** A firing: at `firedAt` its source found a schedule of the workflow due. */
export interface Firing extends ScheduleRef {
  readonly firedAt: Date;
}

/** What a firing came to. `none`: the schedule means nothing by it. */
export type FiringOutcome =
  | { readonly kind: "none" }
  /** Another firing was first. */
  | {
      readonly kind: "known";
      readonly outcome: TickOutcome;
      readonly nominalAt: Date;
      readonly executionId: ExecutionId | null;
    }
  | ({
      readonly kind: "decided";
      readonly nominalAt: Date;
      /** Resolves when the execution that it began has ended, or is left to its workflow. Undefined where it began none. */
      readonly over?: Promise<void> | undefined;
    } & Decision);

/**
 * Decides and records each tick once, however often it is fired, in one transaction, under the lock of its schedule.
 * Starts the execution after that. If the process ends before, the next firing of the tick or the sweeper starts it.
 */
export function createTicks(deps: TicksDeps) {
  async function fire(firing: Firing, source: "clock" | "repair"): Promise<FiringOutcome> {
    const fired = await decideOnce(deps.db, (tx) => decideFiring(tx, deps, firing, source));
    if (fired.kind === "decided") tell(deps, firing, fired, source);
    return startFired(deps, fired);
  }

  /**
   * Starts a past tick that a user asked for, after the others that were asked for, unless it was started already.
   * Where it cannot begin, the outcome says why, and nothing of it is kept: it may be asked for again.
   */
  async function backfill(firing: Firing): Promise<FiringOutcome> {
    try {
      const fired = await decideOnce(deps.db, (tx) => decideBackfill(tx, deps, firing));
      if (fired.kind === "decided") tell(deps, firing, fired, "backfill");
      return await startFired(deps, fired);
    } catch (error) {
      if (!(error instanceof BackfillRefused)) throw error;
      return { kind: "decided", nominalAt: firing.firedAt, ...error.decision };
    }
  }

  return {
    fire,
    backfill,
    /** What Temporal's clock calls. `firedAt` is the nominal time it fired for, ISO 8601. */
    async recordTick({ firedAt, ...schedule }: TickInput & { firedAt: string }): Promise<TickSummary> {
      const fired = await fire({ ...schedule, firedAt: new Date(firedAt) }, "clock");
      if (fired.kind === "none") return { nominalAt: firedAt, outcome: "none", executionId: null };
      return { nominalAt: fired.nominalAt.toISOString(), outcome: fired.outcome, executionId: fired.executionId };
    },
  };
}

export type Ticks = ReturnType<typeof createTicks>;

async function startFired(deps: TicksDeps, fired: FiringOutcome): Promise<FiringOutcome> {
  if (fired.kind === "none" || fired.outcome !== "started" || fired.executionId === null) return fired;
  if (fired.kind === "decided" && !fired.admitted) return fired;
  if (fired.kind === "decided" && fired.begins !== undefined) {
    const { execution, commit } = fired.begins;
    return Object.assign(fired, { over: deps.headStart?.begin(execution, commit) });
  }
  await deps.startExecution(fired.executionId);
  return fired;
}

function tell(
  deps: TicksDeps,
  { workflowId, scheduleName = MAIN_SCHEDULE }: ScheduleRef,
  { nominalAt, outcome, executionId }: { nominalAt: Date } & Decision,
  source: TickSource,
): void {
  const lateSeconds = (deps.now().getTime() - nominalAt.getTime()) / 1_000;
  deps.onTick({ workflowId, scheduleName, nominalAt, outcome, source, executionId, lateSeconds });
}

/** Those who note what nothing is started for lock no schedule: when one of them was quicker, nothing was begun, and what it noted counts. */
async function decideOnce(db: Db, decide: (tx: Db) => Promise<FiringOutcome>): Promise<FiringOutcome> {
  try {
    return await db.transaction(decide);
  } catch (error) {
    if (!(error instanceof RecordedMeanwhile)) throw error;
    return await db.transaction(decide);
  }
}

async function decideFiring(
  tx: Db,
  deps: TicksDeps,
  { workflowId, scheduleName = MAIN_SCHEDULE, firedAt }: Firing,
  source: TickSource,
): Promise<FiringOutcome> {
  const schedule = await lockScheduleAt(tx, { workflowId, scheduleName }, firedAt);
  if (schedule === undefined) return { kind: "none" };
  const cron = cronOf(schedule);
  const nominalAt = nominalTickOf(cron, schedule.timezone, firedAt)?.at;
  if (nominalAt === undefined || nominalAt <= schedule.since) return { kind: "none" };
  const now = deps.now();
  const ground = await readGround(tx, schedule, { nominalAt, now, backfilled: false });
  if (ground.known !== undefined) return { kind: "known", nominalAt, ...ground.known };
  const successorDueAt = findFirstDue(await listSuccessors(tx, [schedule]));
  const result = checkTick({ ...schedule, cron, successorDueAt }, nominalAt, {
    now,
    watchedSince: ground.watchedSince,
  });
  const decision =
    result.kind === "start"
      ? await decideTick(tx, deps, { ...toGiven(schedule, nominalAt, { source, decidedAt: now }), ground })
      : {
          outcome: result.kind,
          reason: result.kind === "paused" ? PAUSED : MISSED[result.reason],
          executionId: null,
          admitted: false,
        };
  if (decision.outcome !== "started") {
    const tick = { workflowId, scheduleName, nominalAt, source, decidedAt: now, ...decision };
    if ((await insertTicks(tx, [tick])).length === 0) throw new RecordedMeanwhile();
  }
  return { kind: "decided", nominalAt, ...decision };
}

async function decideBackfill(
  tx: Db,
  deps: TicksDeps,
  { workflowId, scheduleName = MAIN_SCHEDULE, firedAt: nominalAt }: Firing,
): Promise<FiringOutcome> {
  const now = deps.now();
  const schedule = await lockScheduleAt(tx, { workflowId, scheduleName }, now);
  if (schedule === undefined) return { kind: "none" };
  const ground = await readGround(tx, schedule, { nominalAt, now, backfilled: true });
  if (ground.known?.outcome === "started") return { kind: "known", nominalAt, ...ground.known };
  const given = toGiven(schedule, nominalAt, { source: "backfill", decidedAt: now });
  // Past ticks run one after the other, and none is lost for another. What comes with the clock goes on beside them.
  const overlap = schedule.overlap === "allow" ? "allow" : "queue";
  const decision = await decideTick(tx, deps, { ...given, overlap, ground });
  if (decision.outcome !== "started" || decision.executionId === null) throw new BackfillRefused(decision);
  return { kind: "decided", nominalAt, ...decision };
}

/** Takes back what its transaction wrote. */
class BackfillRefused extends Error {
  override readonly name = "BackfillRefused";
  readonly decision: Decision;

  constructor(decision: Decision) {
    super(decision.reason);
    this.decision = decision;
  }
}

function readGround(
  tx: Db,
  { workflowId, scheduleName, overlap }: StoredSchedule,
  tick: { readonly nominalAt: Date; readonly now: Date; readonly backfilled: boolean },
): Promise<TickGround> {
  return readTickGround(tx, { workflowId, scheduleName, ...tick, overlaps: overlap !== "allow" });
}

function toGiven(
  schedule: StoredSchedule,
  nominalAt: Date,
  found: { readonly source: TickSource; readonly decidedAt: Date },
) {
  const { workflowId, scheduleName, overlap } = schedule;
  return { workflowId, scheduleName, overlap, tick: { ...findTickTimes(schedule, nominalAt), ...found } };
}
