import { type Db, queryRows } from "../../db/connect.ts";
import type { ExecutionId } from "../../domain/ids.ts";

/** As if an execution had been accepted, and had ended, so many days earlier, and been counted then. */
export async function endEarlier(db: Db, id: ExecutionId, days: number): Promise<void> {
  await addToDay(db, id, -1);
  await queryRows(
    db,
    `update executions set created_at = created_at - make_interval(days => :days),
            finished_at = finished_at - make_interval(days => :days) where id = :id`,
    { id, days },
  );
  await addToDay(db, id, 1);
}

/** Nothing of one that goes on, or that will be counted by itself. */
async function addToDay(db: Db, id: ExecutionId, sign: 1 | -1): Promise<void> {
  await queryRows(
    db,
    `insert into execution_days as d (workflow_id, day, executions, spent)
     select e.workflow_id, cast(e.finished_at at time zone 'UTC' as date), cast(:sign as int), cast(:sign as int) * e.charge_total
       from executions e where e.id = :id and e.finished_at < (select until from execution_days_counted)
     on conflict (workflow_id, day) do update
       set executions = d.executions + excluded.executions, spent = d.spent + excluded.spent`,
    { id, sign },
  );
}
