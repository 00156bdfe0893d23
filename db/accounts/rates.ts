import type { AccountId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** `burst` executions at once, then one more every 60 / `perMinute` seconds. */
export interface Rate {
  readonly perMinute: number;
  readonly burst: number;
}

/** A limit with the bucket that counts for it. */
export interface BucketUse {
  readonly bucket: string;
  readonly rate: Rate;
}

/** The limits an execution counts for, each with the bucket it shares with others; null: no limit. */
export interface RateUse {
  readonly key: BucketUse | null;
  readonly account: BucketUse | null;
}

/** The bucket of the limit that a workflow's key has, and of the one its account has. `findTarget` knows the names, too. */
export const keyBucket = (workflowId: WorkflowId): string => `key ${workflowId}`;
export const accountBucket = (accountId: AccountId): string => `account ${accountId}`;

/** A limit at one moment. */
export interface BucketState {
  readonly rate: Rate;
  /** How many more would be let through at once. */
  readonly remaining: number;
  /** Until all of `burst` would be. */
  readonly fullAfterSeconds: number;
  /** Until one would be; 0 while some remain. */
  readonly nextAfterSeconds: number;
}

export interface RateState {
  readonly key: BucketState | null;
  readonly account: BucketState | null;
}

/** Rounding of times in the database: a millionth of a second. */
const EPSILON = 1e-4;

export function spacingSeconds(rate: Rate): number {
  return 60 / rate.perMinute;
}

/** `busySeconds`: for how long the bucket is busy with what it has let through; null and less than 0 mean not at all. */
export function toBucketState(rate: Rate, busySeconds: number | null): BucketState {
  const busy = Math.max(0, busySeconds ?? 0);
  const spacing = spacingSeconds(rate);
  const remaining = Math.max(0, Math.min(rate.burst, Math.floor(rate.burst - busy / spacing + EPSILON)));
  return {
    rate,
    remaining,
    fullAfterSeconds: busy,
    nextAfterSeconds: remaining > 0 ? 0 : busy - spacing * (rate.burst - 1),
  };
}

/** What was agreed with an account; null where nothing was. 0 a minute: no limit. */
export interface AgreedRates {
  readonly perMinute: number | null;
  readonly burst: number | null;
  readonly accountPerMinute: number | null;
}

/** Replaces what was agreed with an account. */
export async function putAccountRates(db: Db, accountId: AccountId, agreed: AgreedRates): Promise<void> {
  await queryRows(
    db,
    `insert into account_rates (account_id, per_minute, burst, account_per_minute)
     values (:accountId, :perMinute, :burst, :accountPerMinute)
     on conflict (account_id) do update
        set per_minute = excluded.per_minute, burst = excluded.burst, account_per_minute = excluded.account_per_minute`,
    { accountId, ...agreed },
  );
}

/**
 * What was agreed with an account, and for how long its buckets are busy. Those are its own, and that of the key of one
 * of its workflows.
 */
export interface AccountRates {
  readonly agreed: AgreedRates | null;
  readonly accountBusySeconds: number | null;
  /** Null without a workflow, too. */
  readonly keyBusySeconds: number | null;
}

export async function findAccountRates(
  db: Db,
  of: { accountId: AccountId; workflowId: WorkflowId | null },
): Promise<AccountRates> {
  const [row] = await queryRows<AccountRates>(
    db,
    `select (select jsonb_build_object('perMinute', r.per_minute, 'burst', r.burst, 'accountPerMinute', r.account_per_minute)
               from account_rates r where r.account_id = :accountId) as agreed,
            (select cast(extract(epoch from b.busy_until - now()) as double precision)
               from rate_buckets b where b.bucket = :accountBucket) as "accountBusySeconds",
            (select cast(extract(epoch from b.busy_until - now()) as double precision)
               from rate_buckets b where b.bucket = cast(:keyBucket as text)) as "keyBusySeconds"`,
    {
      accountId: of.accountId,
      accountBucket: accountBucket(of.accountId),
      keyBucket: of.workflowId && keyBucket(of.workflowId),
    },
  );
  return row as AccountRates;
}

/**
 * Takes one from each bucket, or from none: answers for how many seconds not, 0 when all were taken. All callers of the
 * same buckets name them in the same order.
 */
export async function takeFromBuckets(db: Db, uses: readonly BucketUse[]): Promise<number> {
  return db.transaction(async (tx) => {
    for (const [index, use] of uses.entries()) {
      const [row] = await queryRows<{ taken: boolean }>(
        tx,
        `select take_rate(:bucket, cast(:spacing as double precision), cast(:burst as int)) is not null as taken`,
        { bucket: use.bucket, spacing: spacingSeconds(use.rate), burst: use.rate.burst },
      );
      if (row?.taken === true) continue;
      for (const taken of uses.slice(0, index)) await returnToBucket(tx, taken);
      const [found] = await queryRows<{ busySeconds: number }>(
        tx,
        `select cast(extract(epoch from busy_until - clock_timestamp()) as double precision) as "busySeconds"
           from rate_buckets where bucket = :bucket`,
        { bucket: use.bucket },
      );
      return Math.max(1, toBucketState(use.rate, found?.busySeconds ?? 0).nextAfterSeconds);
    }
    return 0;
  });
}

/** Gives back what was taken. */
export async function returnToBucket(db: Db, { bucket, rate }: BucketUse): Promise<void> {
  await queryRows(db, `select return_rate(:bucket, cast(:spacing as double precision))`, {
    bucket,
    spacing: spacingSeconds(rate),
  });
}

/** Fills a bucket: nothing counts that was taken from it. */
export async function fillBucket(db: Db, bucket: string): Promise<void> {
  await queryRows(db, `delete from rate_buckets where bucket = :bucket`, { bucket });
}

/**
 * Deletes buckets that have been full for an hour, at most `limit`; answers how many. A call that needs one makes it
 * anew.
 */
export async function deleteFullBuckets(db: Db, limit: number): Promise<number> {
  const rows = await queryRows(
    db,
    `delete from rate_buckets where bucket in (
       select bucket from rate_buckets where busy_until < now() - interval '1 hour' limit :limit
     ) and busy_until < now() - interval '1 hour' returning bucket`,
    { limit },
  );
  return rows.length;
}
