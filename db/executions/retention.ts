import type { ExecutionId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/**
 * The advisory lock of what is in storage. A backup holds it alone. So the files of the record that it has copied stay
 * until it has copied them, too.
 */
export const STORAGE_LOCK = 7_283_516;

/** How long a process that claimed a removal may need for it. Then the next process gets it. */
const CLAIM_SECONDS = 300;

/**
 * Whether there may be objects that the record does not know. They come from an interrupted upload, or from a host that
 * was given up. Who looks for them takes all there is, so nobody looks before files and log have both had their time.
 */
const MAY_HAVE_MORE = `(e.uploaded_at is null
  or exists (select from attempts a where a.execution_id = e.id and a.outputs_lost))`;

/** Days that something is kept after the end of its execution; null: not removed by age. */
export interface KeptDays {
  readonly files: number | null;
  readonly logs: number | null;
}

export interface Expired {
  /** Executions whose files, or log, were given up. */
  readonly files: number;
  readonly logs: number;
}

/**
 * Gives up the files of executions that ended long enough ago, the oldest first: at most `limit`. Logs that are due go
 * with them. The same statement notes what is in storage in `removals` by the same statement. Leaves alone executions
 * under way, those whose idempotency key is kept, and those that another process has at this moment.
 */
export function expireFiles(db: Db, input: { days: KeptDays; limit: number }): Promise<Expired> {
  return expire(db, "files_removed_at", { ...input, dueDays: input.days.files });
}

/** The same for logs, and files that are due as well. */
export function expireLogs(db: Db, input: { days: KeptDays; limit: number }): Promise<Expired> {
  return expire(db, "log_removed_at", { ...input, dueDays: input.days.logs });
}

async function expire(
  db: Db,
  part: "files_removed_at" | "log_removed_at",
  input: { days: KeptDays; dueDays: number | null; limit: number },
): Promise<Expired> {
  const { days, dueDays, limit } = input;
  if (dueDays === null) return { files: 0, logs: 0 };
  const [row] = await queryRows<Expired>(
    db,
    `with due as (
       select e.id, e.log_key, ${MAY_HAVE_MORE} as more, e.files_removed_at is not null as files_gone,
              e.log_key is null or e.log_removed_at is not null as log_gone,
              e.files_removed_at is null and ${isDue("fileDays")} as files,
              e.log_removed_at is null and ${isDue("logDays")} as log
         from executions e
        where e.finished_at is not null and e.idempotency_key is null and e.${part} is null and ${isDue("dueDays")}
        order by e.finished_at limit :limit for update skip locked
     ), marked as (
       update executions e
          set files_removed_at = case when due.files then now() else e.files_removed_at end,
              log_removed_at = case when due.log then now() else e.log_removed_at end
         from due where e.id = due.id
     ), noted as (
       insert into removals (execution_id, keys, look)
       select g.id, g.keys, g.look
         from (select due.id, due.more and (due.files or due.files_gone) and (due.log or due.log_gone) as look,
                      case when due.files then array(select f.storage_key from execution_files f where f.execution_id = due.id)
                           else '{}' end
                      || case when due.log and due.log_key is not null then array[due.log_key] else '{}' end as keys
                 from due) g
        where g.look or cardinality(g.keys) > 0
     )
     select (count(*) filter (where files))::int as files, (count(*) filter (where log))::int as logs from due`,
    { fileDays: days.files, logDays: days.logs, dueDays, limit },
  );
  return row as Expired;
}

/** False, not null, where nothing is removed by age. */
function isDue(days: string): string {
  return `coalesce(e.finished_at < now() - make_interval(days => cast(:${days} as int)), false)`;
}

/**
 * Deletes the records of executions that ended more than `days` ago, the oldest first, at most `limit`. Attempts,
 * files, closed reservation, refusal and the execution itself go, all of them or none. Returns how many executions. The
 * ledger stays. What is in storage is noted in `removals`. Left alone: the same as by `expireFiles`, and those that
 * `execution_days` has not counted yet.
 */
export async function removeExecutions(db: Db, input: { days: number; limit: number }): Promise<number> {
  const [row] = await queryRows<{ removed: number }>(
    db,
    `with due as (
       select e.id, e.account_id, e.log_key, e.log_bytes, ${MAY_HAVE_MORE} as look, e.files_removed_at, e.log_removed_at
         from executions e
        where e.finished_at is not null and e.idempotency_key is null and ${isDue("days")}
          and e.finished_at < (select until from execution_days_counted)
          and not exists (select from reservations r where r.execution_id = e.id and r.state = 'open')
        order by e.finished_at limit :limit for update skip locked
     ), noted as (
       insert into removals (execution_id, keys, look)
       select g.id, g.keys, g.look
         from (select due.id, due.look and (due.files_removed_at is null or due.log_removed_at is null) as look,
                      case when due.files_removed_at is null
                           then array(select f.storage_key from execution_files f where f.execution_id = due.id)
                           else '{}' end
                      || case when due.log_removed_at is null and due.log_key is not null then array[due.log_key] else '{}' end
                      as keys
                 from due) g
        where g.look or cardinality(g.keys) > 0
     ), freed as (
       insert into kept_changes (account_id, bytes)
       select k.account_id, -sum(k.bytes)
         from (select due.account_id,
                      case when due.log_removed_at is null and due.log_key is not null then due.log_bytes else 0 end
                      + case when due.files_removed_at is null then (
                          select coalesce(sum(f.bytes), 0) from execution_files f where f.execution_id = due.id
                        ) else 0 end as bytes
                 from due) k
        group by k.account_id having sum(k.bytes) > 0
     ), attempted as (
       delete from attempts where execution_id = any(array(select id from due))
     ), forgotten as (
       delete from known_destinations where last_execution_id = any(array(select id from due))
     ), stored as (
       delete from execution_files where execution_id = any(array(select id from due))
     ), held as (
       delete from reservations where execution_id = any(array(select id from due))
     ), gone as (
       delete from executions where id = any(array(select id from due)) returning id
     )
     select count(*)::int as removed from gone`,
    input,
  );
  return row?.removed ?? 0;
}

/** What of one execution is to be deleted from storage. */
export interface Removal {
  readonly id: bigint;
  readonly executionId: ExecutionId;
  readonly keys: readonly string[];
  /** There may be more of it than is known. */
  readonly look: boolean;
}

/** Takes at most `limit` removals on, the oldest first, so that nobody else does them meanwhile. None during a backup. */
export async function claimRemovals(db: Db, limit: number): Promise<Removal[]> {
  return queryRows<Removal>(
    db,
    `with allowed as materialized (select pg_try_advisory_xact_lock_shared(:lock) as yes)
     update removals set claimed_until = now() + make_interval(secs => :claimSeconds)
      where id = any(array(select r.id from removals r
                            where (select yes from allowed) and r.claimed_until < now()
                            order by r.id limit :limit for update skip locked))
     returning id, execution_id as "executionId", keys, look`,
    { limit, lock: STORAGE_LOCK, claimSeconds: CLAIM_SECONDS },
  );
}

/** Forgets removals whose objects are gone. */
export async function endRemovals(db: Db, ids: readonly bigint[]): Promise<void> {
  await queryRows(db, `delete from removals where id = any(cast(:ids as bigint[]))`, { ids: ids.map(String) });
}
