import type { AccountId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** Two amounts, in micro-credits, that should be one. */
export interface MoneyFault {
  readonly accountId: AccountId;
  /** `balance`, `reserved`, or `reservation ex_…`, `settlement ex_…`. */
  readonly what: string;
  /** By ledger entries, reservations and executions. */
  readonly due: bigint;
  readonly actual: bigint;
}

/**
 * Adds up all money anew and answers what does not agree, of all accounts: balances with the ledger, what is reserved with
 * the open reservations, open reservations with executions under way, settlements with what executions were charged. Reads
 * one moment of whole tables: for checks after a fault and in tests, not for every request.
 */
export async function findMoneyFaults(db: Db): Promise<MoneyFault[]> {
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
       select r.account_id, 'reservation ' || r.execution_id, case when e.finished_at is null then e.charge_max else 0 end, r.amount
         from reservations r left join executions e on e.id = r.execution_id where r.state = 'open'
       union all
       select e.account_id, 'settlement ' || e.id, e.charge_total, coalesce(-l.amount, 0)
         from executions e left join ledger_entries l on l.execution_id = e.id
     )
     select account_id as "accountId", what, due, actual from compared where due is distinct from actual order by 1, 2`,
  );
}
