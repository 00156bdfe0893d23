import type { MicroCredits } from "../../domain/credits.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** Two amounts, in micro-credits, that should be one. */
export interface MoneyFault {
  readonly accountId: AccountId;
  /** `balance`, `reserved`, `days`, or `reservation ex_…`, `settlement ex_…`. */
  readonly what: string;
  /** By ledger entries, reservations and executions. */
  readonly due: bigint;
  readonly actual: bigint;
}

/**
 * Adds up all money of all accounts anew and returns what does not agree. It compares balances with the ledger, what is
 * reserved with the open reservations, and those with executions under way. It compares settlements with what
 * executions were charged, and the spend by days with the ledger. Reads whole tables, two moments of them: for checks
 * after a fault and in tests, not for every request.
 */
export async function findMoneyFaults(db: Db): Promise<MoneyFault[]> {
  return [...(await findAmountFaults(db)), ...(await findDayFaults(db))];
}

/**
 * What `execution_days` has counted, against the settlements of executions that it should have. Those ended before
 * `until`, or are not on record any more. A backup may be of a time before there were such days.
 */
async function findDayFaults(db: Db): Promise<MoneyFault[]> {
  const [tables] = await queryRows<{ known: boolean }>(
    db,
    `select to_regclass('uncounted_charges') is not null as known`,
  );
  if (tables?.known !== true) return [];
  return queryRows<MoneyFault>(
    db,
    `with charged as (
       select l.account_id, cast(sum(-l.amount) as bigint) as total
         from ledger_entries l left join executions e on e.id = l.execution_id
        where l.kind = 'settlement' and (e.id is null or e.finished_at < (select until from execution_days_counted))
        group by l.account_id
     ), counted as (
       select w.account_id, cast(sum(d.spent) as bigint) as total
         from execution_days d join workflows w on w.id = d.workflow_id group by w.account_id
     ), compared (account_id, due, actual) as (
       select a.id, coalesce(charged.total, 0), coalesce(counted.total, 0) + coalesce(u.amount, 0)
         from accounts a
         left join charged on charged.account_id = a.id
         left join counted on counted.account_id = a.id
         left join uncounted_charges u on u.account_id = a.id
     )
     select account_id as "accountId", 'days' as what, due, actual from compared where due <> actual order by 1`,
  );
}

async function findAmountFaults(db: Db): Promise<MoneyFault[]> {
  return queryRows<MoneyFault>(
    db,
    `with entered as (select account_id, cast(sum(amount) as bigint) as total from ledger_entries group by account_id),
          held as (select account_id, cast(sum(amount) as bigint) as total from reservations where state = 'open' group by account_id),
          compared (account_id, what, due, actual) as (
       select a.id, 'balance', coalesce(entered.total, 0), a.balance
         from accounts a left join entered on entered.account_id = a.id
       union all
       select a.id, 'reserved', coalesce(held.total, 0), a.reserved
         from accounts a left join held on held.account_id = a.id
       union all
       select r.account_id, 'reservation ' || r.execution_id, case when e.id is not null and e.finished_at is null then e.charge_max else 0 end, r.amount
         from reservations r left join executions e on e.id = r.execution_id where r.state = 'open'
       union all
       select e.account_id, 'settlement ' || e.id, e.charge_total, coalesce(-l.amount, 0)
         from executions e left join ledger_entries l on l.execution_id = e.id
     )
     select account_id as "accountId", what, due, actual from compared where due is distinct from actual order by 1, 2`,
  );
}

/**
 * Accounts with credits held for no execution under way. Holds are counted by open executions, which are few, not by
 * all reservations there ever were; so it may be asked every minute. Our code leaves no such hold; a restored backup or
 * SQL by hand does.
 */
async function listAccountsWithStrayHolds(db: Db): Promise<AccountId[]> {
  const rows = await queryRows<{ id: AccountId }>(
    db,
    `with open as materialized (
       select id, account_id from executions where state in ('queued', 'running') and admitted_at is not null
     ), held as (
       select open.account_id, sum(r.amount) as total
         from open join reservations r on r.execution_id = open.id and r.state = 'open' group by open.account_id
     )
     select a.id from accounts a left join held on held.account_id = a.id
      where a.reserved > coalesce(held.total, 0)`,
  );
  return rows.map((row) => row.id);
}

/** A hold that was freed because its execution has ended, or is not in the record. */
export interface StrayHold {
  readonly executionId: ExecutionId;
  readonly accountId: AccountId;
  readonly amount: MicroCredits;
}

/**
 * Releases reservations older than `olderThanSeconds` that no execution under way has, and answers them. Of several
 * processes that do so at once, one answers each. Nothing is charged: what an execution cost is in the ledger by then, or
 * will never be known.
 */
export async function releaseStrayHolds(
  db: Db,
  { olderThanSeconds }: { olderThanSeconds: number },
): Promise<StrayHold[]> {
  const released: StrayHold[] = [];
  for (const accountId of await listAccountsWithStrayHolds(db)) {
    const rows = await queryRows<StrayHold>(
      db,
      `with stray as (
         select r.execution_id from reservations r
          where r.account_id = :accountId and r.state = 'open'
            and r.created_at < now() - make_interval(secs => :olderThanSeconds)
            and not exists (select from executions e where e.id = r.execution_id and e.finished_at is null)
            for update of r skip locked
       )
       update reservations r set state = 'released', closed_at = now() from stray
        where r.execution_id = stray.execution_id and r.state = 'open'
       returning r.execution_id as "executionId", r.account_id as "accountId", r.amount`,
      { accountId, olderThanSeconds },
    );
    released.push(...rows);
  }
  return released;
}
