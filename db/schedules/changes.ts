import type { ScheduleId } from "../../domain/schedules/names.ts";
import { type Db, queryRows } from "../connect.ts";
import { SCHEDULE, type StoredSchedule } from "./schedules.ts";

/** The channel that announces schedules to push to Temporal. */
export const SCHEDULES_CHANGED = "schedules_changed";

/** Part of a statement: notes the changes of `:scheduleIds`. */
export const NOTED = `noted as (
  insert into schedule_changes (workflow_id)
  select u.id from unnest(cast(:scheduleIds as text[])) as u (id) order by 1
      on conflict (workflow_id) do update
     set change = nextval('schedule_change_numbers'), noted_at = now(), try_at = '-infinity', failures = 0
)`;
/** What such a statement ends with; `:channel` is `SCHEDULES_CHANGED`. */
export const ANNOUNCED = `select pg_notify(:channel, '')`;

/** Notes in the outbox that these schedules are to be pushed to Temporal, again if they were pushed before. */
export async function noteScheduleChange(db: Db, scheduleIds: readonly ScheduleId[]): Promise<void> {
  await queryRows(db, `with ${NOTED} ${ANNOUNCED}`, { scheduleIds: [...scheduleIds], channel: SCHEDULES_CHANGED });
}

/** What to push to Temporal: the schedule as it is declared now; null: not at all. */
export interface ScheduleChange {
  readonly scheduleId: ScheduleId;
  readonly change: bigint;
  readonly schedule: StoredSchedule | null;
}

/** Lists what is to be pushed to Temporal, the oldest first. */
export async function listScheduleChanges(db: Db, limit: number): Promise<ScheduleChange[]> {
  const rows = await queryRows<StoredSchedule & { change: bigint; changed: ScheduleId }>(
    db,
    `select n.workflow_id as changed, n.change, ${SCHEDULE}
       from (select * from schedule_changes where try_at <= now() order by try_at, change limit :limit) n
       left join schedules s on s.workflow_id = split_part(n.workflow_id, ':', 1) and s.until is null
        and s.name = coalesce(nullif(split_part(n.workflow_id, ':', 2), ''), 'schedule')`,
    { limit },
  );
  return rows.map(({ change, changed, ...schedule }) => ({
    scheduleId: changed,
    change,
    schedule: schedule.id === null ? null : schedule,
  }));
}

/** Forgets changes that Temporal knows of now; those that were noted again meanwhile stay. */
export async function endScheduleChanges(db: Db, pushed: readonly ScheduleChange[]): Promise<void> {
  await queryRows(
    db,
    `delete from schedule_changes c using unnest(cast(:ids as text[]), cast(:changes as bigint[])) as t (id, change)
      where c.workflow_id = t.id and c.change = t.change`,
    { ids: pushed.map((each) => each.scheduleId), changes: pushed.map((each) => String(each.change)) },
  );
}

/** Puts off a change that could not be pushed: for a second, then twice as long each time, at most ten minutes. */
export async function putOffScheduleChange(db: Db, { scheduleId, change }: ScheduleChange): Promise<void> {
  await queryRows(
    db,
    `update schedule_changes
        set failures = failures + 1, try_at = now() + least(make_interval(secs => power(2, least(failures, 20))), interval '10 minutes')
      where workflow_id = :scheduleId and change = :change`,
    { scheduleId, change: String(change) },
  );
}

/** Returns how many changes were not pushed to Temporal yet, and since when the oldest waits. */
export async function countScheduleChanges(db: Db): Promise<{ count: number; oldestSeconds: number }> {
  const [row] = await queryRows<{ count: number; oldestSeconds: number }>(
    db,
    `select count(*)::int as count, coalesce(extract(epoch from now() - min(noted_at)), 0)::double precision as "oldestSeconds"
       from schedule_changes`,
  );
  return row as { count: number; oldestSeconds: number };
}
