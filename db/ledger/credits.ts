import type { MicroCredits } from "../../domain/credits.ts";
import type { ExecutionEnd } from "../../domain/execution.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { type Db, queryRows, sqlState } from "../connect.ts";

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
  /** `findRefusal` has the amounts. */
  | { readonly kind: "insufficient_credits" }
  /** Settled or released before: too late to hold anything. */
  | { readonly kind: "closed" }
  | { readonly kind: "unknown_execution" };

/** How `reserve_credits` writes an outcome: a letter for each execution asked for. */
const OUTCOMES: Readonly<Record<string, ReserveOutcome>> = {
  r: { kind: "reserved" },
  i: { kind: "insufficient_credits" },
  c: { kind: "closed" },
  u: { kind: "unknown_execution" },
};

/**
 * Holds the most each execution can cost, once per execution, in the order given; answers in that order. One call of the
 * database, all or nothing: there is no moment at which an account is debited and the reservation does not exist. Only
 * those that do not fit are refused: a smaller one after a refused larger one is granted when it fits. All are of one
 * account; otherwise nothing is held, and the error is one of data.
 */
export async function reserveAll(db: Db, ids: readonly ExecutionId[]): Promise<ReserveOutcome[]> {
  const [row] = await queryRows<{ letters: string }>(db, `select reserve_credits(cast(:ids as text[])) as letters`, {
    ids: [...ids],
  });
  const letters = row?.letters ?? "";
  return ids.map((id, index) => {
    const outcome = OUTCOMES[letters[index] ?? ""];
    if (outcome === undefined || letters.length !== ids.length)
      throw new Error(`The database answered ${letters.length} of ${ids.length} reservations, with none for ${id}.`);
    return outcome;
  });
}

/** The same for one. */
export async function reserve(db: Db, executionId: ExecutionId): Promise<ReserveOutcome> {
  const [outcome] = await reserveAll(db, [executionId]);
  return outcome as ReserveOutcome;
}

/**
 * Raises what is held for an execution to `amount`, before its next attempt. One statement. Returns what the account has available where
 * that does not suffice, and nothing was changed; undefined where as much is held. So it is of one that has ended.
 */
export async function raiseReservation(
  db: Db,
  { executionId, amount }: { executionId: ExecutionId; amount: MicroCredits },
): Promise<MicroCredits | undefined> {
  const [row] = await queryRows<{ available: MicroCredits | null }>(
    db,
    `select raise_reservation(:executionId, :amount) as available`,
    { executionId, amount: String(amount) },
  );
  return row?.available ?? undefined;
}

/** Whose the credits are for: the attempt that runs, and the process that runs it. */
export interface SliceHolder {
  readonly executionId: ExecutionId;
  readonly attempt: number;
  readonly processId: string;
}

/**
 * Raises what is held for an execution to `amount`, for more time of the attempt that runs. One statement, and a repeated one changes
 * nothing. `short`: the account has only so much available, and nothing was changed. `lost`: the attempt is not that process's any more.
 */
export async function holdSlice(
  db: Db,
  { amount, ...holder }: SliceHolder & { amount: MicroCredits },
): Promise<{ readonly kind: "held" | "lost" } | { readonly kind: "short"; readonly available: MicroCredits }> {
  const [row] = await queryRows<{ available: MicroCredits | null }>(
    db,
    `select raise_reservation(a.execution_id, :amount) as available from attempts a
      where a.execution_id = :executionId and a.attempt = :attempt and a.process_id = :processId and a.ended_at is null`,
    { ...holder, amount: String(amount) },
  );
  if (row === undefined) return { kind: "lost" };
  return row.available === null ? { kind: "held" } : { kind: "short", available: row.available };
}

/** What an execution needed, and what was available when its turn came. */
export interface Refusal {
  readonly needed: MicroCredits;
  readonly available: MicroCredits;
}

/** For what an execution was refused the last time it asked; undefined when it never was. */
export async function findRefusal(db: Db, executionId: ExecutionId): Promise<Refusal | undefined> {
  const [row] = await queryRows<Refusal>(
    db,
    `select needed, available from refusals where execution_id = :executionId`,
    {
      executionId,
    },
  );
  return row;
}

export interface Settlement {
  readonly executionId: ExecutionId;
  readonly status: ExecutionEnd;
  readonly secondsUsed: number;
  readonly compute: MicroCredits;
  readonly total: MicroCredits;
}

/**
 * Ends executions and charges them: closes each reservation, frees what was held, writes the ledger entry, and
 * announces the end to waiting callers. One call, all or nothing. Returns, in order, whether this call ended it; a
 * second call, or one after a release, changes nothing. The message is that of the last attempt.
 */
export async function settleAll(db: Db, settlements: readonly Settlement[]): Promise<boolean[]> {
  const ended = await queryRows<{ id: ExecutionId }>(
    db,
    `select id from settle_executions(cast(:ids as text[]), cast(:statuses as text[]), cast(:seconds as numeric[]),
                                      cast(:computes as bigint[]), cast(:totals as bigint[]), :channel) as id`,
    {
      ids: settlements.map((each) => each.executionId),
      statuses: settlements.map((each) => each.status),
      seconds: settlements.map((each) => each.secondsUsed),
      computes: settlements.map((each) => String(each.compute)),
      totals: settlements.map((each) => String(each.total)),
      channel: EXECUTION_ENDED,
    },
  );
  return markFirst(settlements, ended);
}

/** The same for one. */
export async function settle(db: Db, settlement: Settlement): Promise<boolean> {
  const [ended] = await settleAll(db, [settlement]);
  return ended as boolean;
}

export interface Release {
  readonly executionId: ExecutionId;
  readonly status: "failed" | "cancelled";
  readonly failure: "internal" | "insufficient_credits" | "no_capacity" | null;
  readonly message: string;
}

/**
 * Ends executions without a charge and frees all they held. Closes also one that holds nothing yet, so that a slow
 * reserve arriving later finds it closed. One call, all or nothing. Returns, in order, whether this call ended it;
 * repeating changes nothing.
 */
export async function releaseAll(db: Db, releases: readonly Release[]): Promise<boolean[]> {
  const ended = await queryRows<{ id: ExecutionId }>(
    db,
    `select id from release_executions(cast(:ids as text[]), cast(:statuses as text[]), cast(:failures as text[]),
                                       cast(:messages as text[]), :channel) as id`,
    {
      ids: releases.map((each) => each.executionId),
      statuses: releases.map((each) => each.status),
      failures: releases.map((each) => each.failure),
      messages: releases.map((each) => each.message),
      channel: EXECUTION_ENDED,
    },
  );
  return markFirst(releases, ended);
}

/** The same for one. */
export async function release(db: Db, input: Release): Promise<boolean> {
  const [ended] = await releaseAll(db, [input]);
  return ended as boolean;
}

/** Of several calls for one execution that ended, the first ended it. */
function markFirst(asked: readonly { executionId: ExecutionId }[], ended: readonly { id: ExecutionId }[]): boolean[] {
  const left = new Set(ended.map(({ id }) => id));
  return asked.map(({ executionId }) => left.delete(executionId));
}

/** What pricing an execution needs. */
export interface Billing {
  readonly accountId: AccountId;
  readonly cpu: number;
  /** The most seconds its program may have used: time-out times attempts. */
  readonly secondsMax: number;
  /** What its attempts used of the processors, where that was measured. */
  readonly processorSeconds: number;
  readonly chargeMax: MicroCredits;
  readonly ended: boolean;
  /** How its program ended by the record, and the seconds of all attempts that count; null where no attempt has ended so. */
  readonly outcome: { readonly status: ExecutionEnd; readonly secondsUsed: number } | null;
}

/** Returns whether an execution has been charged, which ends it. */
export async function isSettled(db: Db, executionId: ExecutionId): Promise<boolean> {
  const rows = await queryRows(
    db,
    `select 1 from reservations where execution_id = :executionId and state = 'settled'`,
    { executionId },
  );
  return rows.length > 0;
}

export async function findBilling(db: Db, executionId: ExecutionId): Promise<Billing | undefined> {
  const [row] = await queryRows<Billing>(
    db,
    `select account_id as "accountId", cpu, timeout_seconds * attempts_max as "secondsMax", charge_max as "chargeMax",
            finished_at is not null as ended,
            (select coalesce(sum(processor_seconds), 0) from attempts where execution_id = e.id) as "processorSeconds",
            (select jsonb_build_object('status', case when a.retry_at is not null and e.cancel_requested_at is not null then 'cancelled' else a.status end,
                                       'secondsUsed', (select sum(seconds_used) from attempts where execution_id = e.id))
               from attempts a where a.execution_id = e.id and a.status is not null order by a.attempt desc limit 1) as outcome
       from executions e where e.id = :executionId`,
    { executionId },
  );
  return row;
}
