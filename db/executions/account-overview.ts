import type { MicroCredits } from "../../domain/credits.ts";
import type { ExecutionEnd } from "../../domain/execution.ts";
import type { AccountId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** Open executions are counted up to so many: a queue may have a million. */
export const OPEN_COUNTED_MAX = 1_000;
/** The newest end of a workflow is looked for among so many executions. */
const END_WINDOW = 20;
/** So many executions that `execution_days` has not counted yet are added up. Usually these are those of some minutes. */
const UNCOUNTED_MAX = 100_000;
/** A call with a key is looked for among so many executions. */
const CALLS_WINDOW = 100;
/** The spending of so many days before today, and of today, makes the rate. */
const RATE_DAYS = 7;

/** How an account stands now. */
export interface AccountFigures {
  /** At most `OPEN_COUNTED_MAX`. */
  readonly running: number;
  /** At most `OPEN_COUNTED_MAX`. */
  readonly queued: number;
  readonly available: MicroCredits;
  /** What a day costs, by the last seven days and today. Of a younger account: by the days since it was made, at least one. */
  readonly spentPerDay: MicroCredits;
  /** When the account was made. */
  readonly createdAt: Date;
}

/** Figures of an account that there is. Each part is a look into an index; past days of spending are sums. */
export async function getAccountFigures(
  db: Db,
  { accountId, now }: { accountId: AccountId; now: Date },
): Promise<AccountFigures> {
  const count = (state: "running" | "queued"): string =>
    `(select cast(count(*) as int) from (
        select 1 from executions where account_id = :accountId and state = '${state}' limit :most
      ) o)`;
  const [row] = await queryRows<AccountFigures>(
    db,
    `with counted as materialized (
       select until from execution_days_counted
     ), since as materialized (
       select date_trunc('day', cast(:now as timestamptz) at time zone 'UTC') at time zone 'UTC'
              - make_interval(days => :days) as day
     ), spent as (
       select coalesce(sum(p.spent), 0) as amount from (
         select d.spent from execution_days d join workflows o on o.id = d.workflow_id and o.account_id = :accountId
          where d.day >= cast((select day from since) at time zone 'UTC' as date)
         union all
         -- The limit makes it a walk through the index: how many there are cannot be estimated.
         (select e.charge_total from executions e
           where e.account_id = :accountId
             and e.finished_at >= greatest((select day from since), (select until from counted))
           order by e.finished_at desc limit :uncounted)
       ) p
     )
     select ${count("running")} as running, ${count("queued")} as queued, a.balance - a.reserved as available,
            cast(s.amount / greatest(1, extract(epoch from cast(:now as timestamptz) - greatest((select day from since), a.created_at)) / 86400)
                 as bigint) as "spentPerDay",
            a.created_at as "createdAt"
       from accounts a cross join spent s where a.id = :accountId`,
    { accountId, now, days: RATE_DAYS, most: OPEN_COUNTED_MAX, uncounted: UNCOUNTED_MAX },
  );
  if (row === undefined) throw new Error(`There is no account ${accountId}.`);
  return row;
}

/** A workflow whose newest run failed. */
export interface FailingWorkflow {
  readonly workflowId: WorkflowId;
  readonly name: string;
  readonly executionId: ExecutionId;
  readonly state: ExecutionEnd;
  readonly message: string;
  readonly failedAt: Date;
}

/**
 * The workflows of an account whose program failed in the newest run that ended by itself, that failed last first.
 * Cancelled and refused runs count neither way. Each workflow is one look into an index.
 */
export async function listFailingWorkflows(db: Db, accountId: AccountId): Promise<FailingWorkflow[]> {
  return queryRows<FailingWorkflow>(
    db,
    `select w.id as "workflowId", w.name, l.id as "executionId", l.state, l.message, l.finished_at as "failedAt"
       from workflows w
      cross join lateral (
        select n.* from (
          select e.id, e.state, e.failure, e.message, e.created_at, e.finished_at from executions e
           where e.workflow_id = w.id order by e.created_at desc limit :window
        ) n
         where n.state in ('success', 'failed', 'timed_out', 'out_of_memory')
           and n.failure is distinct from 'insufficient_credits'
         order by n.created_at desc limit 1
      ) l
      where w.account_id = :accountId and w.deleted_at is null and l.state <> 'success'
      order by l.finished_at desc, w.id`,
    { accountId, window: END_WINDOW },
  );
}

/** What the people of a new account have done already. */
export interface FirstSteps {
  /** Whether anything has run. */
  readonly ran: boolean;
  /** Whether one of its people has published code. */
  readonly published: boolean;
  /** Whether a workflow was called with its key. */
  readonly called: boolean;
}

/** Each step is one look into an index. The use of a key is stored within half a minute, so the newest calls count, too. */
export async function findFirstSteps(db: Db, accountId: AccountId): Promise<FirstSteps> {
  const [row] = await queryRows<FirstSteps>(
    db,
    `select exists (select 1 from executions where account_id = :accountId) as ran,
            exists (select 1 from users u join commits c on c.author_id = u.id
                     where u.account_id = :accountId and u.removed_at is null and not c.draft) as published,
            exists (select 1 from workflows w join api_keys k on k.workflow_id = w.id
                     where w.account_id = :accountId and w.deleted_at is null and k.last_used_at is not null)
            or exists (select 1 from (select trigger from executions where account_id = :accountId
                                       order by created_at desc limit :newest) n where n.trigger = 'api') as called`,
    { accountId, newest: CALLS_WINDOW },
  );
  return row as FirstSteps;
}
