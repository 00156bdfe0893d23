import type { FiringOutcome, Ticks } from "../../activities/ticks.ts";
import type { Db } from "../../db/connect.ts";
import type { StoredSchedule } from "../../db/schedules/schedules.ts";
import { listStartedTicks } from "../../db/schedules/ticks.ts";
import { nextTicks } from "../../domain/cron/next-runs.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { cronOf } from "../../domain/schedules/declaration.ts";
import type { TickOutcome } from "../../domain/schedules/ticks.ts";

/** Ticks of one call: each is a transaction, and the caller waits. */
export const BACKFILL_TICKS_MAX = 1_000;

export interface BackfilledTick {
  readonly nominalAt: Date;
  /** `started_before`: by the clock, or by an earlier backfill. `due`: would be started, or was not come to. */
  readonly state: "started" | "started_before" | "due";
  readonly executionId: ExecutionId | null;
}

interface Stop {
  readonly nominalAt: Date;
  readonly outcome: TickOutcome | "no_schedule";
  readonly reason: string;
}

export interface Backfill {
  readonly ticks: readonly BackfilledTick[];
  /** The first that could not begin, and why; null when all did. Those after it were left alone. */
  readonly stopped: Stop | null;
}

/** The ticks of a schedule from `from` on, before `to`. Undefined where there are more than one backfill takes; then `end` is where to split. */
export function listBackfillTicks(
  schedule: Pick<StoredSchedule, "cron" | "timezone">,
  { from, to }: { from: Date; to: Date },
): { readonly ok: true; readonly ticks: readonly Date[] } | { readonly ok: false; readonly end: Date } {
  const before = new Date(from.getTime() - 1);
  const until = new Date(to.getTime() - 1);
  const ticks = nextTicks(cronOf(schedule), schedule.timezone, before, BACKFILL_TICKS_MAX + 1, until);
  const end = ticks[BACKFILL_TICKS_MAX];
  return end === undefined ? { ok: true, ticks } : { ok: false, end };
}

/**
 * Starts past ticks in their order, each that was not started already, until one cannot begin or nobody waits for it
 * any more. To be repeated: then it continues where it stopped. Nothing is started twice, also when others do the same
 * at the time.
 */
export async function backfillTicks(
  deps: { readonly db: Db; readonly ticks: Pick<Ticks, "backfill"> },
  given: { schedule: StoredSchedule; ticks: readonly Date[]; dryRun: boolean; isWanted: () => boolean },
): Promise<Backfill> {
  const { workflowId, scheduleName } = given.schedule;
  const before = await listStartedTicks(deps.db, {
    workflowId,
    scheduleName,
    from: given.ticks[0],
    to: given.ticks.at(-1),
  });
  const startedBefore = new Map(before.map((tick) => [tick.nominalAt.getTime(), tick.executionId]));
  const done: BackfilledTick[] = [];
  let stopped: Stop | null = null;
  for (const nominalAt of given.ticks) {
    const executionId = startedBefore.get(nominalAt.getTime());
    if (executionId !== undefined) {
      done.push({ nominalAt, state: "started_before", executionId });
      continue;
    }
    const mayStart: boolean = stopped === null && !given.dryRun && given.isWanted();
    const fired: FiringOutcome | undefined = mayStart
      ? await deps.ticks.backfill({ workflowId, scheduleName, firedAt: nominalAt })
      : undefined;
    if (fired?.kind === "known" || (fired?.kind === "decided" && fired.outcome === "started")) {
      const state = fired.kind === "known" ? "started_before" : "started";
      done.push({ nominalAt, state, executionId: fired.executionId });
      continue;
    }
    done.push({ nominalAt, state: "due", executionId: null });
    if (fired?.kind === "decided") stopped = { nominalAt, outcome: fired.outcome, reason: fired.reason };
    if (fired?.kind === "none")
      stopped = { nominalAt, outcome: "no_schedule", reason: "The schedule was removed meanwhile." };
  }
  return { ticks: done, stopped };
}
