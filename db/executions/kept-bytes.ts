import type { AccountId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** Changes that are added up by one statement. */
const CHANGES_MAX = 10_000;

/** What an account keeps, in bytes: files of its executions, their logs, contents of its commits and drafts. */
export interface KeptBytes {
  readonly bytes: number;
  /** What was agreed with the account; null: as everybody, 0: no bound. */
  readonly agreedMax: number | null;
}

/** The two columns of `KeptBytes` for a statement that has the account as `a`. Costs one look into an index. */
export const KEPT_BYTES = `
  jsonb_build_object('bytes', a.kept_bytes + (select coalesce(sum(k.bytes), 0) from kept_changes k where k.account_id = a.id),
                     'agreedMax', a.kept_bytes_max)`;

/** Returns how many bytes an account may keep; undefined: any number. */
export function keptBytesMax({ agreedMax }: Pick<KeptBytes, "agreedMax">, everybodysMax: number): number | undefined {
  return (agreedMax ?? everybodysMax) || undefined;
}

/** Returns true when an account keeps as much as it may: then no execution of it begins, and nothing is committed. */
export function isStorageFull(kept: KeptBytes, everybodysMax: number): boolean {
  return kept.bytes >= (keptBytesMax(kept, everybodysMax) ?? Number.POSITIVE_INFINITY);
}

/** Returns what an account keeps now, to the byte of what is recorded. Throws for an unknown account. */
export async function getKeptBytes(db: Db, accountId: AccountId): Promise<KeptBytes> {
  const [row] = await queryRows<{ kept: KeptBytes }>(
    db,
    `select ${KEPT_BYTES} as kept from accounts a where a.id = :accountId`,
    { accountId },
  );
  if (row === undefined) throw new Error(`There is no account ${accountId}.`);
  return row.kept;
}

/** Sets how many bytes an account may keep; null: as everybody, 0: no bound. */
export async function putKeptBytesMax(db: Db, accountId: AccountId, bytesMax: number | null): Promise<void> {
  await queryRows(db, `update accounts set kept_bytes_max = :bytesMax where id = :accountId`, { accountId, bytesMax });
}

/** Returns what all accounts keep together, in bytes. */
export async function sumKeptBytes(db: Db): Promise<number> {
  const [row] = await queryRows<{ bytes: number }>(
    db,
    `select cast((select coalesce(sum(kept_bytes), 0) from accounts) + (select coalesce(sum(bytes), 0) from kept_changes)
                 as double precision) as bytes`,
  );
  return row?.bytes ?? 0;
}

/** Adds changes up, the oldest first, so that nobody has to look at many. Returns whether there may be more. */
export async function addUpKeptChanges(db: Db): Promise<boolean> {
  const [row] = await queryRows<{ count: number }>(
    db,
    `with moved as (
       delete from kept_changes
        where id in (select id from kept_changes order by id limit :most for update)
       returning account_id, bytes
     ), sums as (
       select account_id, sum(bytes) as bytes from moved group by account_id order by account_id
     ), added as (
       update accounts a set kept_bytes = a.kept_bytes + s.bytes from sums s where a.id = s.account_id
     )
     select count(*)::int as count from moved`,
    { most: CHANGES_MAX },
  );
  return (row?.count ?? 0) === CHANGES_MAX;
}

/** An account of which something else was added up than is on record, in bytes. */
export interface KeptFault {
  readonly accountId: AccountId;
  readonly due: bigint;
  readonly actual: bigint;
}

/** Counts anew what all accounts keep and lists those that are said to keep something else. Reads whole tables. */
export async function findKeptFaults(db: Db): Promise<KeptFault[]> {
  return queryRows<KeptFault>(
    db,
    `with kept as (select account_id, sum(bytes) as bytes from kept_by_record group by account_id)
     select a.id as "accountId", cast(coalesce(k.bytes, 0) as bigint) as due, kept_bytes_of(a.id) as actual
       from accounts a left join kept k on k.account_id = a.id
      where coalesce(k.bytes, 0) <> kept_bytes_of(a.id)
      order by a.id`,
  );
}
