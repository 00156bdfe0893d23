import { type Db, queryRows } from "../connect.ts";

/** An execution says when it ended a little before others can see that. By then, all have. */
const SETTLED_SECONDS = 600;
/** What one statement counts, so that it stays short when nobody has counted for long. */
const DAYS_AT_ONCE = 1;

/**
 * Counts executions that have ended since the last count into `execution_days`. Returns whether there may be more to
 * count now. One statement, and the row that says how far it is locked first: of two processes the second goes on where
 * the first ended.
 */
export async function countExecutionDays(db: Db): Promise<boolean> {
  const [row] = await queryRows<{ more: boolean }>(
    db,
    `with held as materialized (
       select until from execution_days_counted for update
     ), span as materialized (
       select until as since, now() - make_interval(secs => :settledSeconds) as settled,
              least(until + make_interval(days => :daysAtOnce), now() - make_interval(secs => :settledSeconds)) as until
         from held
     ), ended as (
       select e.workflow_id, cast(e.finished_at at time zone 'UTC' as date) as day, count(*)::int as executions,
              sum(e.charge_total)::bigint as spent
         from span cross join accounts a
         join executions e on e.account_id = a.id and e.finished_at >= span.since and e.finished_at < span.until
        group by 1, 2
     ), counted as (
       insert into execution_days as d (workflow_id, day, executions, spent)
       select workflow_id, day, executions, spent from ended
       on conflict (workflow_id, day) do update
         set executions = d.executions + excluded.executions, spent = d.spent + excluded.spent
     )
     update execution_days_counted c set until = span.until from span where span.until > span.since
     returning span.until < span.settled as more`,
    { settledSeconds: SETTLED_SECONDS, daysAtOnce: DAYS_AT_ONCE },
  );
  return row?.more === true;
}
