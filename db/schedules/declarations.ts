import type { ScheduleDeclaration } from "../../domain/schedules/declaration.ts";
import { MAIN_SCHEDULE, type ScheduleRef, toScheduleId } from "../../domain/schedules/names.ts";
import { LEFT_TO_TEMPORAL_SECONDS, LOOK_AFTER_SECONDS } from "../../domain/schedules/tick-plan.ts";
import { type Db, queryRows } from "../connect.ts";
import { ANNOUNCED, NOTED, noteScheduleChange, SCHEDULES_CHANGED } from "./changes.ts";
import { SCHEDULE, type StoredSchedule } from "./schedules.ts";

/** Of the schedules due at one minute, so many are fired by Temporal at that minute. Firing one is as much work as executing it. */
const CROWD_MIN = 25;
const SPREAD_SECONDS = 900;

/** What a schedule of a workflow is to be from `at` on. */
interface NewDeclaration extends ScheduleRef {
  readonly declaration: ScheduleDeclaration;
  readonly at: Date;
  /** When the first tick should have a record; null: there is none. */
  readonly lookAt: Date | null;
}

/**
 * Makes a workflow's schedule the one declared, from `at` on; null: none. Notes in the outbox that it is to be pushed
 * to Temporal. False, and nothing is written, when the schedule was declared just so already. In the transaction that
 * changes the declaration.
 */
export async function declareSchedule(
  tx: Db,
  given: Omit<NewDeclaration, "declaration"> & { readonly declaration: ScheduleDeclaration | null },
): Promise<boolean> {
  const { workflowId, scheduleName = MAIN_SCHEDULE, declaration, at } = given;
  const [current] = await queryRows<StoredSchedule>(
    tx,
    `select ${SCHEDULE} from schedules s where s.workflow_id = :workflowId and s.name = :scheduleName and s.until is null
      for no key update`,
    { workflowId, scheduleName },
  );
  if (current === undefined ? declaration === null : declaration !== null && isSame(current, declaration)) return false;
  if (current !== undefined)
    await queryRows(
      tx,
      `update schedules set until = greatest(since, cast(:at as timestamptz)), look_at = :at
        where workflow_id = :workflowId and name = :scheduleName and until is null`,
      { workflowId, scheduleName, at },
    );
  if (declaration === null) await noteScheduleChange(tx, [toScheduleId(given)]);
  else await declareFirstSchedule(tx, { ...given, declaration, at: laterOf(at, current?.since) });
  return true;
}

/**
 * Declares the schedule of a workflow that has none now, and notes in the outbox that it is to be pushed to Temporal.
 */
export async function declareFirstSchedule(tx: Db, given: NewDeclaration): Promise<void> {
  const { workflowId, scheduleName = MAIN_SCHEDULE, declaration, at, lookAt } = given;
  await queryRows(
    tx,
    `with due as (
       select count(*) >= :crowdMin as many from (select from schedules where look_at = :lookAt limit :crowdMin) others
     ), declared as (
       insert into schedules (workflow_id, name, enabled, cron, timezone, overlap, catchup, max_lateness_seconds, jitter_seconds,
                              since, accounted_until, look_at, spread_seconds)
       values (:workflowId, :scheduleName, :enabled, :cron, :timezone, :overlap, :catchup, :maxLatenessSeconds, :jitterSeconds,
               :at, :at,
               cast(:lookAt as timestamptz) - make_interval(secs => case when (select many from due) then :leftSeconds else 0 end),
               case when (select many from due) then :spreadSeconds else 0 end)
     ), ${NOTED}
     ${ANNOUNCED}`,
    {
      scheduleIds: [toScheduleId(given)],
      channel: SCHEDULES_CHANGED,
      workflowId,
      scheduleName,
      ...declaredOf(declaration),
      at,
      lookAt,
      crowdMin: CROWD_MIN,
      spreadSeconds: SPREAD_SECONDS,
      leftSeconds: LEFT_TO_TEMPORAL_SECONDS + LOOK_AFTER_SECONDS,
    },
  );
}

function laterOf(one: Date, other: Date | undefined): Date {
  return other !== undefined && other > one ? other : one;
}

function declaredOf(schedule: ScheduleDeclaration) {
  const { enabled, cron, timezone, overlap, catchup, maxLatenessSeconds, jitterSeconds } = schedule;
  return { enabled, cron, timezone, overlap, catchup, maxLatenessSeconds, jitterSeconds };
}

function isSame(one: ScheduleDeclaration, other: ScheduleDeclaration): boolean {
  return JSON.stringify(declaredOf(one)) === JSON.stringify(declaredOf(other));
}
