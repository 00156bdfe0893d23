import type { MicroCredits } from "../../domain/credits.ts";
import type { ExecutionState } from "../../domain/execution.ts";
import type { AccountId, CommitId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { Schedule } from "../../domain/manifest/manifest.ts";
import { type Db, queryRows } from "../connect.ts";
import type { ListedExecution } from "../executions/pages.ts";

/** A workflow as people look at it in a list. */
export interface ListedWorkflow {
  readonly id: WorkflowId;
  readonly accountId: AccountId;
  readonly name: string;
  readonly description: string;
  readonly head: CommitId | null;
  readonly createdAt: Date;
  readonly apiEnabled: boolean;
  /** Those that hold now. */
  readonly schedules: readonly Pick<Schedule, "enabled" | "cron" | "timezone">[];
  readonly lastExecution: {
    readonly id: ExecutionId;
    readonly state: ExecutionState;
    readonly failure: ListedExecution["failure"];
    readonly createdAt: Date;
  } | null;
  /** How many have ended since the day given. */
  readonly executions: number;
  /** What those have cost. */
  readonly spent: MicroCredits;
}

type Row = Omit<ListedWorkflow, "lastExecution"> & {
  readonly executionId: ExecutionId | null;
  readonly state: ExecutionState;
  readonly failure: ListedExecution["failure"];
  readonly executedAt: Date;
};

/**
 * The workflows of an account, or one of them, by name; with `search`, those whose name has it. Executions and costs
 * are those that ended on `since` (the beginning of a day in UTC) or later. Past days are read from `execution_days`,
 * later ones one by one from an index alone.
 */
export async function listForPeople(
  db: Db,
  filter: {
    readonly accountId: AccountId;
    readonly workflowId?: WorkflowId;
    readonly search?: string;
    readonly since: Date;
  },
): Promise<ListedWorkflow[]> {
  const rows = await queryRows<Row>(
    db,
    `with counted as materialized (
       select until from execution_days_counted
     ), figures as materialized (
       select p.workflow_id, sum(p.executions)::int as executions, sum(p.spent)::bigint as spent from (
         select d.workflow_id, d.executions, d.spent
           from execution_days d join workflows o on o.id = d.workflow_id and o.account_id = :accountId
          where d.day >= cast(cast(:since as timestamptz) at time zone 'UTC' as date)
            and (cast(:workflowId as text) is null or d.workflow_id = :workflowId)
         union all
         select e.workflow_id, 1, e.charge_total from executions e
          where e.account_id = :accountId and e.finished_at >= greatest(:since, (select until from counted))
       ) p group by p.workflow_id
     )
     select w.id, w.account_id as "accountId", w.name, coalesce(c.manifest ->> 'description', '') as description, w.head,
            w.created_at as "createdAt",
            coalesce(c.manifest -> 'triggers' -> 'api' ->> 'enabled', 'false') = 'true' as "apiEnabled",
            coalesce(s.schedules, '[]') as schedules,
            l.id as "executionId", l.state, l.failure, l.created_at as "executedAt",
            coalesce(m.executions, 0) as executions, coalesce(m.spent, 0) as spent
       from workflows w
       left join commits c on c.workflow_id = w.id and c.id = w.head
       left join lateral (
         select jsonb_agg(jsonb_build_object('enabled', d.enabled, 'cron', d.cron, 'timezone', d.timezone) order by d.name) as schedules
           from schedules d where d.workflow_id = w.id and d.until is null
       ) s on true
       left join lateral (
         select e.id, e.state, e.failure, e.created_at from executions e
          where e.workflow_id = w.id order by e.created_at desc limit 1
       ) l on true
       left join figures m on m.workflow_id = w.id
      where w.deleted_at is null
        and w.account_id = :accountId
        and (cast(:workflowId as text) is null or w.id = :workflowId)
        and (cast(:search as text) is null or strpos(lower(w.name), lower(:search)) > 0)
      order by lower(w.name), w.id`,
    {
      accountId: filter.accountId,
      workflowId: filter.workflowId ?? null,
      search: filter.search ?? null,
      since: filter.since,
    },
  );
  return rows.map(({ executionId, state, failure, executedAt, ...workflow }) => ({
    ...workflow,
    lastExecution: executionId === null ? null : { id: executionId, state, failure, createdAt: executedAt },
  }));
}
