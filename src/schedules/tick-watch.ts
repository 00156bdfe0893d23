import { setTimeout as sleep } from "node:timers/promises";
import { type DecidedTick, type FiringOutcome, MISSED, PAUSED, type Ticks } from "../../activities/ticks.ts";
import type { Db } from "../../db/connect.ts";
import {
  type Accounted,
  listSchedulesToLookAt,
  listSuccessors,
  noteAccounted,
  type StoredSchedule,
} from "../../db/schedules/schedules.ts";
import { insertUnstartedTicks, listRecorded, type NewTick } from "../../db/schedules/ticks.ts";
import { cronOf } from "../../domain/schedules/declaration.ts";
import { type ScheduleId, type ScheduleRef, toScheduleId } from "../../domain/schedules/names.ts";
import {
  findFirstDue,
  findNextLook,
  type Look,
  type PlannedTick,
  planTicks,
  type TickPolicy,
} from "../../domain/schedules/tick-plan.ts";
import { forEachAtOnce } from "../../system/at-once.ts";
import { withTimeout } from "../../system/with-timeout.ts";
import type { Log } from "../log.ts";

const PAGE = 100;
/** Ticks of one schedule that are looked at together. */
const TICKS_MAX = 2_000;
/** The next tick is started when the execution of one has ended, so that it finds a slot, or after this time. */
const BEGUN_MS = 1_000;
/** Where no slot is free, the next one is started after this time. */
const CROWDED_MS = 50;

export interface TickWatchDeps {
  readonly db: Db;
  readonly ticks: Pick<Ticks, "fire">;
  /** Ticks that are started at a time. */
  readonly startsMax: number;
  readonly now: () => Date;
  /** Called with each tick that nothing was started for. `ticks` reports the others. */
  readonly onTick?: (tick: DecidedTick) => void;
  readonly log: Log;
}

/**
 * Gives a record to every tick that was due a while ago and has none. Starts what the policy lets start, and records of
 * the rest why not. Returns how many of those due since `watchedSince`, while the service was there, Temporal had not
 * fired although it should have at once. Then it may lack schedules.
 */
export async function accountForTicks(
  deps: TickWatchDeps,
  { watchedSince, signal }: { watchedSince: Date; signal: AbortSignal },
): Promise<number> {
  let unfired = 0;
  while (!signal.aborted) {
    const now = deps.now();
    const due = await listSchedulesToLookAt(deps.db, { now, limit: PAGE });
    if (due.length === 0) return unfired;
    const page = await accountForPage(deps, due, { now, watchedSince }, signal);
    unfired += page.unfired;
    // A schedule whose ticks could not all be recorded stays due: the next look tries again.
    if (page.failed > 0) return unfired;
  }
  return unfired;
}

/** Waits until another execution may begin as soon as this one did. Many at a time would all go the long way through Temporal. */
async function waitForRoom(fired: FiringOutcome): Promise<void> {
  if (fired.kind !== "decided" || !fired.admitted) return;
  if (fired.over === undefined) await sleep(CROWDED_MS);
  else await withTimeout(fired.over, BEGUN_MS, () => undefined);
}

interface Planned {
  readonly schedule: StoredSchedule;
  readonly policy: TickPolicy;
  readonly ticks: readonly PlannedTick[];
  readonly accountedUntil: Date;
}

async function accountForPage(
  deps: TickWatchDeps,
  due: readonly StoredSchedule[],
  look: Look,
  signal: AbortSignal,
): Promise<{ unfired: number; failed: number }> {
  const planned = await planPage(deps.db, due, look);
  const unstarted = planned.flatMap(({ schedule, ticks }) =>
    ticks.flatMap((tick) => toUnstarted(schedule, tick, look.now)),
  );
  // Another look may have recorded some of them meanwhile: those it reports.
  for (const { decidedAt, nominalAt, scheduleId: _, ...tick } of await insertUnstartedTicks(deps.db, unstarted))
    deps.onTick?.({ ...tick, nominalAt, lateSeconds: (decidedAt.getTime() - nominalAt.getTime()) / 1_000 });
  const accounted: Accounted[] = [];
  let unfired = 0;
  await forEachAtOnce(planned, deps.startsMax, async ({ schedule, policy, ticks, accountedUntil }) => {
    if (signal.aborted) return;
    try {
      for (const { at, result } of ticks) {
        if (result.kind === "start")
          await waitForRoom(await deps.ticks.fire({ ...refOf(schedule), firedAt: at }, "repair"));
        if (result.kind === "start" && at >= look.watchedSince && schedule.spreadSeconds === 0) unfired += 1;
      }
      const lookAt = findNextLook(policy, { accountedUntil, until: schedule.until });
      accounted.push({ id: schedule.id, accountedUntil, lookAt });
    } catch (error) {
      const { workflowId } = schedule;
      deps.log.warn({ event: "fault", workflowId, error }, "A tick could not be recorded yet.");
    }
  });
  if (accounted.length > 0) await noteAccounted(deps.db, accounted, due);
  return { unfired, failed: planned.length - accounted.length };
}

async function planPage(db: Db, due: readonly StoredSchedule[], look: Look): Promise<Planned[]> {
  const rows = await listRecorded(
    db,
    due.map((schedule) => ({ ...refOf(schedule), since: schedule.accountedUntil, until: look.now })),
  );
  const recorded = new Map<ScheduleId, Set<number>>();
  for (const { nominalAt, ...ref } of rows) {
    const known = recorded.get(toScheduleId(ref)) ?? new Set();
    recorded.set(toScheduleId(ref), known.add(nominalAt.getTime()));
  }
  const successors = await listSuccessors(db, due);
  return due.map((schedule) => {
    const successorDueAt = findFirstDue(successors.filter(({ followed }) => followed === schedule.id));
    const policy: TickPolicy = { ...schedule, cron: cronOf(schedule), successorDueAt };
    const plan = planTicks({
      policy,
      since: schedule.accountedUntil,
      look,
      recorded: recorded.get(toScheduleId(schedule)) ?? new Set(),
      countMax: TICKS_MAX,
    });
    return { schedule, policy, ...plan };
  });
}

const refOf = ({ workflowId, scheduleName }: Required<ScheduleRef>) => ({ workflowId, scheduleName });

/** The record of a tick that nothing is started for. */
function toUnstarted(
  schedule: StoredSchedule,
  { at, result }: PlannedTick,
  now: Date,
): (NewTick & Required<ScheduleRef> & { readonly scheduleId: bigint })[] {
  if (result.kind === "start") return [];
  const reason = result.kind === "paused" ? PAUSED : MISSED[result.reason];
  const tick = {
    ...refOf(schedule),
    nominalAt: at,
    outcome: result.kind,
    reason,
    source: "repair",
    executionId: null,
  } as const;
  return [{ ...tick, scheduleId: schedule.id, decidedAt: now }];
}
