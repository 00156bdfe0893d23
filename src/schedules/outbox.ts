import type { Db } from "../../db/connect.ts";
import {
  endScheduleChanges,
  listScheduleChanges,
  putOffScheduleChange,
  type ScheduleChange,
} from "../../db/schedules/changes.ts";
import { forEachAtOnce } from "../../system/at-once.ts";
import type { Log } from "../log.ts";
import { type TemporalSchedules, toDesired } from "./temporal-schedules.ts";

const PAGE = 200;
/** Calls under way at once: Temporal serves callers and ticks, too. */
const CALLS_MAX = 10;

export interface OutboxDeps {
  readonly db: Db;
  readonly schedules: TemporalSchedules;
  readonly now: () => Date;
  readonly log: Log;
}

/**
 * Pushes the schedules of the outbox to Temporal until none is left that could be pushed now, or the signal comes.
 * Returns how many were pushed. What fails is put off; it keeps nothing else.
 */
export async function emptyOutbox(deps: OutboxDeps, signal: AbortSignal): Promise<number> {
  let pushed = 0;
  for (;;) {
    const changes = signal.aborted ? [] : await listScheduleChanges(deps.db, PAGE);
    if (changes.length === 0) return pushed;
    pushed += await pushAll(deps, changes, signal);
  }
}

async function pushAll(deps: OutboxDeps, changes: readonly ScheduleChange[], signal: AbortSignal): Promise<number> {
  const pushed: ScheduleChange[] = [];
  await forEachAtOnce(changes, CALLS_MAX, async (change) => {
    if (signal.aborted) return;
    try {
      await pushOne(deps, change);
      pushed.push(change);
    } catch (error) {
      const { scheduleId } = change;
      deps.log.warn(
        { event: "fault", scheduleId, error },
        "A schedule could not be pushed to Temporal yet. It will be tried again.",
      );
      await putOffScheduleChange(deps.db, change);
    }
  });
  if (pushed.length > 0) await endScheduleChanges(deps.db, pushed);
  return pushed.length;
}

async function pushOne({ schedules, now }: OutboxDeps, { scheduleId, schedule }: ScheduleChange): Promise<void> {
  if (schedule === null) await schedules.remove(scheduleId);
  else await schedules.put(toDesired(schedule, now()));
}
