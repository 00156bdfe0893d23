import type { MicroCredits } from "../../domain/credits.ts";
import type { WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** What executions of a workflow have cost: `median`, and what 95 of 100 did not exceed. */
export interface CostEstimate {
  /** How many executions it is taken from. */
  readonly executions: number;
  readonly median: MicroCredits;
  readonly p95: MicroCredits;
}

/** Enough for a 95th percentile that one slow execution does not decide, and quick to read by index. */
const LAST_EXECUTIONS = 100;

/**
 * The cost of the last successful executions of a workflow, at most `last` of them; undefined when there are none. Amounts
 * that were really charged. For showing to people only: what is reserved is always the most an execution can cost.
 */
export async function findCostEstimate(
  db: Db,
  workflowId: WorkflowId,
  last = LAST_EXECUTIONS,
): Promise<CostEstimate | undefined> {
  const [row] = await queryRows<CostEstimate>(
    db,
    `select count(*)::int as executions, percentile_disc(0.5) within group (order by charge_total) as median,
            percentile_disc(0.95) within group (order by charge_total) as p95
       from (select charge_total from executions where workflow_id = :workflowId and state = 'success'
              order by finished_at desc limit :last) recent
     having count(*) > 0`,
    { workflowId, last },
  );
  return row;
}

/** The same for several workflows at once; those without a successful execution are missing. */
export async function listCostEstimates(
  db: Db,
  workflowIds: readonly WorkflowId[],
  last = LAST_EXECUTIONS,
): Promise<ReadonlyMap<WorkflowId, CostEstimate>> {
  const rows = await queryRows<CostEstimate & { workflowId: WorkflowId }>(
    db,
    `select w.id as "workflowId", recent.executions, recent.median, recent.p95
       from unnest(cast(:workflowIds as text[])) as w (id)
      cross join lateral (
        select count(*)::int as executions, percentile_disc(0.5) within group (order by charge_total) as median,
               percentile_disc(0.95) within group (order by charge_total) as p95
          from (select charge_total from executions where workflow_id = w.id and state = 'success'
                 order by finished_at desc limit :last) last
      ) recent where recent.executions > 0`,
    { workflowIds: [...workflowIds], last },
  );
  return new Map(rows.map(({ workflowId, ...estimate }) => [workflowId, estimate]));
}
