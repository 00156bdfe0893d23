import type { Db } from "../../db/connect.ts";
import {
  endScheduleChanges,
  listScheduleChanges,
  putOffScheduleChange,
  type ScheduleChange,
} from "../../db/schedule-changes.ts";
import type { Log } from "../log.ts";
import { type TemporalSchedules, toWanted } from "./temporal-schedules.ts";

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
 * Tells Temporal what the outbox says until there is nothing left that it could be told now, or the signal comes. Answers how
 * many schedules were told. What fails is put off; it keeps nothing else.
 */
export async function emptyOutbox(deps: OutboxDeps, signal: AbortSignal): Promise<number> {
  let told = 0;
  for (;;) {
    const changes = signal.aborted ? [] : await listScheduleChanges(deps.db, PAGE);
    if (changes.length === 0) return told;
    told += await tellAll(deps, changes, signal);
  }
}

async function tellAll(deps: OutboxDeps, changes: readonly ScheduleChange[], signal: AbortSignal): Promise<number> {
  const left = [...changes];
  const told: ScheduleChange[] = [];
  const work = async (): Promise<void> => {
    for (let change = left.shift(); change !== undefined && !signal.aborted; change = left.shift()) {
      try {
        await tellOne(deps, change);
        told.push(change);
      } catch (error) {
        const { workflowId } = change;
        deps.log.warn({ event: "fault", workflowId, error }, "Temporal could not be told of a schedule yet.");
        await putOffScheduleChange(deps.db, change);
      }
    }
  };
  await Promise.all(Array.from({ length: CALLS_MAX }, work));
  if (told.length > 0) await endScheduleChanges(deps.db, told);
  return told.length;
}

async function tellOne({ schedules, now }: OutboxDeps, { workflowId, schedule }: ScheduleChange): Promise<void> {
  if (schedule === null) await schedules.remove(workflowId);
  else await schedules.put(toWanted(schedule, now()));
}
