import type { MicroCredits } from "../../domain/credits.ts";
import type { AccountId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

export interface LedgerEntry {
  readonly id: bigint;
  readonly kind: "grant" | "settlement" | "adjustment";
  readonly amount: MicroCredits;
  readonly executionId: ExecutionId | null;
  /** Null without an execution, and when that is not on record any more. */
  readonly workflowId: WorkflowId | null;
  readonly workflowName: string | null;
  readonly reason: string;
  readonly createdAt: Date;
}

/** Ledger entries of an account, the newest first, of those before `before` where that is given. At most `limit`. */
export async function listLedger(
  db: Db,
  page: { accountId: AccountId; limit: number; before: bigint | null },
): Promise<LedgerEntry[]> {
  return queryRows<LedgerEntry>(
    db,
    `select l.id, l.kind, l.amount, l.execution_id as "executionId", w.id as "workflowId", w.name as "workflowName",
            l.reason, l.created_at as "createdAt"
       from ledger_entries l
       left join executions e on e.id = l.execution_id
       left join workflows w on w.id = e.workflow_id
      where l.account_id = :accountId and l.id < coalesce(cast(:before as bigint), 9223372036854775807)
      order by l.id desc limit :limit`,
    { ...page, before: page.before === null ? null : String(page.before) },
  );
}

/** What the executions of a workflow that ended on a UTC day (`2026-11-01`) were charged. */
export interface DaySpend {
  readonly workflowId: WorkflowId;
  readonly name: string;
  readonly day: string;
  readonly amount: MicroCredits;
}

/**
 * What an account spent on each UTC day from `from` on and before `to`, both beginnings of days, of the `most`
 * workflows that cost most. Past days are read from `execution_days`, later ones one by one. Days without a charge are
 * missing.
 */
export async function listSpend(
  db: Db,
  given: { accountId: AccountId; from: Date; to: Date; most: number },
): Promise<DaySpend[]> {
  return queryRows<DaySpend>(
    db,
    `with counted as materialized (
       select until from execution_days_counted
     ), spent as (
       select p.workflow_id, p.day, cast(sum(p.spent) as bigint) as amount from (
         select d.workflow_id, d.day, d.spent
           from execution_days d join workflows o on o.id = d.workflow_id and o.account_id = :accountId
          where d.day >= cast(cast(:from as timestamptz) at time zone 'UTC' as date)
            and d.day < cast(cast(:to as timestamptz) at time zone 'UTC' as date)
         union all
         select e.workflow_id, cast(e.finished_at at time zone 'UTC' as date), e.charge_total from executions e
          where e.account_id = :accountId and e.finished_at < :to and e.finished_at >= greatest(:from, (select until from counted))
       ) p group by p.workflow_id, p.day having sum(p.spent) > 0
     ), most as (
       select workflow_id, sum(amount) as total from spent group by workflow_id order by total desc, workflow_id limit :most
     )
     select s.workflow_id as "workflowId", w.name, to_char(s.day, 'YYYY-MM-DD') as day, s.amount
       from most m join spent s on s.workflow_id = m.workflow_id join workflows w on w.id = m.workflow_id
      order by m.total desc, m.workflow_id, s.day`,
    { ...given },
  );
}
