import type { MicroCredits } from "../domain/credits.ts";
import type { ExecutionEnd } from "../domain/execution.ts";
import type { AccountId, ExecutionId } from "../domain/ids.ts";
import { type Db, queryRows, sqlState, UNIQUE_VIOLATION } from "./connect.ts";

/** The channel on which ended executions are announced; the payload is the execution id. */
export const EXECUTION_ENDED = "execution_ended";

const CHECK_VIOLATION = "23514";

export interface Balance {
  readonly balance: MicroCredits;
  readonly reserved: MicroCredits;
  readonly available: MicroCredits;
}

export async function findBalance(db: Db, accountId: AccountId): Promise<Balance | undefined> {
  const [row] = await queryRows<Balance>(
    db,
    `select balance, reserved, balance - reserved as available from accounts where id = :accountId`,
    { accountId },
  );
  return row;
}

/** Adds credits to an account: one ledger entry. The amount is positive. */
export async function grant(
  db: Db,
  entry: { accountId: AccountId; amount: MicroCredits; reason: string },
): Promise<void> {
  await queryRows(
    db,
    `insert into ledger_entries (account_id, kind, amount, reason) values (:accountId, 'grant', :amount, :reason)`,
    { ...entry, amount: String(entry.amount) },
  );
}

/** Corrects a balance up or down. Refused when it would leave less than is reserved by executions under way. */
export async function adjust(
  db: Db,
  entry: { accountId: AccountId; amount: MicroCredits; reason: string },
): Promise<{ kind: "adjusted" } | { kind: "below_reserved" }> {
  try {
    await queryRows(
      db,
      `insert into ledger_entries (account_id, kind, amount, reason) values (:accountId, 'adjustment', :amount, :reason)`,
      { ...entry, amount: String(entry.amount) },
    );
    return { kind: "adjusted" };
  } catch (error) {
    if (sqlState(error) !== CHECK_VIOLATION) throw error;
    return { kind: "below_reserved" };
  }
}

export type ReserveOutcome =
  | { readonly kind: "reserved" }
  | { readonly kind: "insufficient_credits" }
  /** Settled or released before: too late to hold anything. */
  | { readonly kind: "closed" }
  | { readonly kind: "unknown_execution" };

/**
 * Holds the most an execution can cost, once per execution. One statement, so there is no moment at which
 * the account is debited and the reservation does not exist. The account's row settles the race of several
 * executions; the reservation's primary key settles the race of a repeated call, and of a release that came first.
 * A call that sees a reservation does not touch the account: holding its row while waiting for the key would be a
 * deadlock with a settlement, which takes them the other way round.
 */
export async function reserve(db: Db, executionId: ExecutionId): Promise<ReserveOutcome> {
  try {
    const rows = await queryRows(
      db,
      `with asked as (
         select id, account_id, charge_max from executions e where id = :executionId
           and not exists (select 1 from reservations r where r.execution_id = e.id)
       ), held as (
         update accounts a
            set reserved = a.reserved + asked.charge_max
           from asked
          where a.id = asked.account_id
            and a.balance - a.reserved >= asked.charge_max
         returning a.id
       )
       insert into reservations (execution_id, account_id, amount, state)
       select asked.id, asked.account_id, asked.charge_max, 'open'
         from asked join held on held.id = asked.account_id
       returning execution_id`,
      { executionId },
    );
    if (rows.length === 1) return { kind: "reserved" };
  } catch (error) {
    if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
  }
  return findReserveOutcome(db, executionId);
}

async function findReserveOutcome(db: Db, executionId: ExecutionId): Promise<ReserveOutcome> {
  const [row] = await queryRows<{ state: "open" | "settled" | "released" | null }>(
    db,
    `select r.state from executions e left join reservations r on r.execution_id = e.id where e.id = :executionId`,
    { executionId },
  );
  if (row === undefined) return { kind: "unknown_execution" };
  if (row.state === null) return { kind: "insufficient_credits" };
  return row.state === "open" ? { kind: "reserved" } : { kind: "closed" };
}

export interface Settlement {
  readonly executionId: ExecutionId;
  readonly status: ExecutionEnd;
  readonly secondsUsed: number;
  readonly compute: MicroCredits;
  readonly total: MicroCredits;
}

/**
 * Ends an execution and charges it: closes the reservation, frees what was held, writes the ledger entry,
 * announces the end to whoever waits. One statement: either all of it, or nothing. Answers whether this call
 * ended it; a second call, or one after a release, changes nothing. The message is that of the last attempt.
 */
export async function settle(db: Db, settlement: Settlement): Promise<boolean> {
  const rows = await queryRows(
    db,
    `with ended as (
       update executions e
          set state = :status, finished_at = clock_timestamp(), seconds_used = :secondsUsed,
              charge_compute = :compute, charge_total = :total,
              message = coalesce((select message from attempts
                                   where execution_id = :executionId and status is not null
                                   order by attempt desc limit 1), '')
        where e.id = :executionId and e.state in ('queued', 'running')
          and exists (select 1 from reservations r where r.execution_id = e.id and r.state = 'open')
       returning e.id
     ), closed as (
       update reservations r set state = 'settled', closed_at = now()
         from ended where r.execution_id = ended.id and r.state = 'open'
       returning r.execution_id, r.account_id, r.amount
     ), freed as (
       update accounts a set reserved = a.reserved - closed.amount from closed where a.id = closed.account_id
     ), charged as (
       insert into ledger_entries (account_id, kind, amount, execution_id)
       select account_id, 'settlement', -cast(:total as bigint), execution_id from closed
     )
     select pg_notify(:channel, id) from ended`,
    {
      ...settlement,
      compute: String(settlement.compute),
      total: String(settlement.total),
      channel: EXECUTION_ENDED,
    },
  );
  return rows.length === 1;
}

export interface Release {
  readonly executionId: ExecutionId;
  readonly status: "failed" | "cancelled";
  readonly failure: "internal" | "insufficient_credits" | "no_capacity" | null;
  readonly message: string;
}

/**
 * Ends an execution without a charge and frees all it held. Also closes an execution that holds nothing yet, so
 * that a slow reserve arriving later finds it closed. Answers whether this call ended it; repeating changes nothing.
 */
export async function release(db: Db, input: Release): Promise<boolean> {
  const rows = await queryRows(
    db,
    `with ended as (
       update executions
          set state = :status, failure = :failure, message = :message, finished_at = clock_timestamp()
        where id = :executionId and state in ('queued', 'running')
       returning id, account_id
     ), closed as (
       insert into reservations (execution_id, account_id, amount, state, closed_at)
       select id, account_id, 0, 'released', now() from ended
       on conflict (execution_id) do update set state = 'released', closed_at = now() where reservations.state = 'open'
       returning account_id, amount
     ), freed as (
       update accounts a set reserved = a.reserved - closed.amount
         from closed where a.id = closed.account_id and closed.amount > 0
     )
     select pg_notify(:channel, id) from ended`,
    { ...input, channel: EXECUTION_ENDED },
  );
  return rows.length === 1;
}

/** What pricing an execution needs. */
export interface Billing {
  readonly cpu: number;
  /** The most seconds its program may have used: time-out times attempts. */
  readonly secondsMax: number;
  readonly chargeMax: MicroCredits;
  readonly ended: boolean;
}

export async function findBilling(db: Db, executionId: ExecutionId): Promise<Billing | undefined> {
  const [row] = await queryRows<Billing>(
    db,
    `select cpu, timeout_seconds * attempts_max as "secondsMax", charge_max as "chargeMax",
            finished_at is not null as ended
       from executions where id = :executionId`,
    { executionId },
  );
  return row;
}
