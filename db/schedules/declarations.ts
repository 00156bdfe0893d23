import type { WorkflowId } from "../../domain/ids.ts";
import type { ScheduleDeclaration } from "../../domain/schedules/declaration.ts";
import { type Db, queryRows } from "../connect.ts";
import { ANNOUNCED, NOTED, noteScheduleChange, SCHEDULES_CHANGED } from "./changes.ts";
import { SCHEDULE, type StoredSchedule } from "./schedules.ts";

/** Of the schedules due at one minute, so many are fired by Temporal at that minute. Chosen, not measured: few enough that the look, seconds later, has the others. */
const CROWD_MIN = 100;
const SPREAD_SECONDS = 300;

/** What a workflow's schedule is to be from `at` on. */
interface NewDeclaration {
  readonly workflowId: WorkflowId;
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
  const { workflowId, declaration, at } = given;
  const [current] = await queryRows<StoredSchedule>(
    tx,
    `select ${SCHEDULE} from schedules s where s.workflow_id = :workflowId and s.until is null for no key update`,
    { workflowId },
  );
  if (current === undefined ? declaration === null : declaration !== null && isSame(current, declaration)) return false;
  if (current !== undefined)
    await queryRows(
      tx,
      `update schedules set until = greatest(since, cast(:at as timestamptz)), look_at = :at
        where workflow_id = :workflowId and until is null`,
      { workflowId, at },
    );
  if (declaration === null) await noteScheduleChange(tx, [workflowId]);
  else await declareFirstSchedule(tx, { ...given, declaration, at: laterOf(at, current?.since) });
  return true;
}

/**
 * Declares the schedule of a workflow that has none now, and notes in the outbox that it is to be pushed to Temporal.
 */
export async function declareFirstSchedule(tx: Db, given: NewDeclaration): Promise<void> {
  const { workflowId, declaration, at, lookAt } = given;
  await queryRows(
    tx,
    `with declared as (
       insert into schedules (workflow_id, enabled, cron, timezone, overlap, catchup, max_lateness_seconds, jitter_seconds,
                              since, accounted_until, look_at, spread_seconds)
       values (:workflowId, :enabled, :cron, :timezone, :overlap, :catchup, :maxLatenessSeconds, :jitterSeconds,
               :at, :at, :lookAt,
               case when (select count(*) from (select from schedules where look_at = :lookAt limit :crowdMin) others) < :crowdMin
                    then 0 else :spreadSeconds end)
     ), ${NOTED}
     ${ANNOUNCED}`,
    {
      workflowIds: [workflowId],
      channel: SCHEDULES_CHANGED,
      workflowId,
      ...declaredOf(declaration),
      at,
      lookAt,
      crowdMin: CROWD_MIN,
      spreadSeconds: SPREAD_SECONDS,
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
