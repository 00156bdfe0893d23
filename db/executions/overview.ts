import type { ExecutionEnd } from "../../domain/execution.ts";
import type { ExecutionId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";
import type { ListedExecution } from "./pages.ts";

/** Of each day so many are looked at: enough for a 95th percentile, and few enough to read at any size of the record. */
export const SAMPLE_OF_DAY = 100;
/** The last failure is looked for among so many. */
const FAILURE_WINDOW = 500;

/** An execution as a strip of the last ones shows it. */
export type RecentExecution = Pick<
  ListedExecution,
  "id" | "workflowId" | "state" | "failure" | "createdAt" | "secondsUsed"
>;

/** The last `most` executions of each workflow, the newest first. Each workflow is one look into an index. */
export async function listRecentExecutions(
  db: Db,
  { workflowIds, most }: { workflowIds: readonly WorkflowId[]; most: number },
): Promise<ReadonlyMap<WorkflowId, readonly RecentExecution[]>> {
  const rows = await queryRows<RecentExecution>(
    db,
    `select r.id, w.id as "workflowId", r.state, r.failure, r.created_at as "createdAt", r.seconds_used as "secondsUsed"
       from unnest(cast(:workflowIds as text[])) as w (id)
      cross join lateral (
        select e.id, e.state, e.failure, e.created_at, e.seconds_used from executions e
         where e.workflow_id = w.id order by e.created_at desc limit cast(:most as bigint)
      ) r order by w.id, r.created_at desc`,
    { workflowIds: [...workflowIds], most },
  );
  const found = new Map<WorkflowId, RecentExecution[]>();
  for (const row of rows) found.set(row.workflowId, [...(found.get(row.workflowId) ?? []), row]);
  return found;
}

/** How the executions went that were accepted on a UTC day (`2026-11-01`). Durations are in seconds, of successful ones. */
export interface DayFigures {
  readonly day: string;
  readonly succeeded: number;
  readonly failed: number;
  readonly median: number | null;
  readonly p95: number | null;
}

/**
 * Figures of the last days, today included, the oldest first. Of each day the newest executions are looked at, at most
 * `SAMPLE_OF_DAY`; cancelled and refused ones count neither way.
 */
export async function listDayFigures(
  db: Db,
  { workflowId, days, now }: { workflowId: WorkflowId; days: number; now: Date },
): Promise<DayFigures[]> {
  return queryRows<DayFigures>(
    db,
    `select to_char(d.day, 'YYYY-MM-DD') as day,
            cast(count(*) filter (where e.state = 'success') as int) as succeeded,
            cast(count(*) filter (where e.state in ('failed', 'timed_out', 'out_of_memory')
                                    and e.failure is distinct from 'insufficient_credits') as int) as failed,
            percentile_disc(0.5) within group (order by e.seconds_used) filter (where e.state = 'success') as median,
            percentile_disc(0.95) within group (order by e.seconds_used) filter (where e.state = 'success') as p95
       from generate_series(0, cast(:last as int)) as n
      cross join lateral (
        select date_trunc('day', cast(:now as timestamptz) at time zone 'UTC') - make_interval(days => n) as day
      ) d
       left join lateral (
        select x.state, x.failure, x.seconds_used from executions x
         where x.workflow_id = :workflowId
           and x.created_at >= d.day at time zone 'UTC' and x.created_at < (d.day + interval '1 day') at time zone 'UTC'
         order by x.created_at desc limit cast(:sample as bigint)
      ) e on true
      group by d.day order by d.day`,
    { workflowId, last: days - 1, now, sample: SAMPLE_OF_DAY },
  );
}

/** An execution whose program failed. */
export interface LastFailure {
  readonly id: ExecutionId;
  readonly state: ExecutionEnd;
  readonly message: string;
  readonly createdAt: Date;
}

/** The last execution of a workflow whose program failed, among its newest; undefined without one. */
export async function findLastFailure(db: Db, workflowId: WorkflowId): Promise<LastFailure | undefined> {
  const [row] = await queryRows<LastFailure>(
    db,
    `select e.id, e.state, e.message, e.created_at as "createdAt"
       from (select x.id, x.state, x.failure, x.message, x.created_at from executions x
              where x.workflow_id = :workflowId order by x.created_at desc limit cast(:window as bigint)) e
      where e.state in ('failed', 'timed_out', 'out_of_memory') and e.failure is distinct from 'insufficient_credits'
      order by e.created_at desc limit 1`,
    { workflowId, window: FAILURE_WINDOW },
  );
  return row;
}
