import type { MicroCredits } from "../../domain/credits.ts";
import type { ExecutionEnd, ExecutionState, StoredFile, Trigger } from "../../domain/execution.ts";
import type { AccountId, CommitId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** The searchable record of one execution, as callers may see it. */
export interface ExecutionRecord {
  readonly id: ExecutionId;
  readonly accountId: AccountId;
  readonly workflowId: WorkflowId;
  readonly commitId: CommitId;
  /** Its commit is of files that nobody has committed: it is in no history. */
  readonly draft: boolean;
  readonly trigger: Trigger;
  readonly state: ExecutionState;
  readonly failure: "internal" | "insufficient_credits" | "no_capacity" | null;
  readonly message: string;
  readonly secondsUsed: number;
  readonly chargeMax: MicroCredits;
  readonly chargeCompute: MicroCredits;
  readonly chargeTotal: MicroCredits;
  readonly attempts: number;
  readonly logKey: string | null;
  /** Since when its files, or its log, are not kept any more. */
  readonly filesRemovedAt: Date | null;
  readonly logRemovedAt: Date | null;
  readonly cancelRequestedBy: string | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly outputs: readonly { readonly name: string; readonly fileName: string }[];
  /** 1: the next to begin when one of its workflow ends. Null when it does not wait for others, and in lists. */
  readonly queuePosition: number | null;
  /** Where its open attempt is; null without one, and in lists. */
  readonly hostId: string | null;
  /** Of one that was refused for want of credits: the most it may have cost, and what the account had. */
  readonly creditsNeeded: MicroCredits | null;
  readonly creditsAvailable: MicroCredits | null;
}

const RECORD = `
  e.id, e.account_id as "accountId", e.workflow_id as "workflowId", e.commit_id as "commitId", e.trigger, e.state,
  e.failure, e.message, e.seconds_used as "secondsUsed", e.charge_max as "chargeMax",
  e.charge_compute as "chargeCompute", e.charge_total as "chargeTotal", e.log_key as "logKey",
  e.files_removed_at as "filesRemovedAt", e.log_removed_at as "logRemovedAt",
  e.cancel_requested_by as "cancelRequestedBy",
  e.created_at as "createdAt", e.started_at as "startedAt", e.finished_at as "finishedAt",
  (select c.draft from commits c where c.workflow_id = e.workflow_id and c.id = e.commit_id) as draft,
  (select count(*)::int from attempts a where a.execution_id = e.id) as attempts,
  case when e.failure = 'insufficient_credits' then
    (select f.needed from refusals f where f.execution_id = e.id)
  end as "creditsNeeded",
  case when e.failure = 'insufficient_credits' then
    (select f.available from refusals f where f.execution_id = e.id)
  end as "creditsAvailable",
  coalesce((select jsonb_agg(jsonb_build_object('name', f.name, 'fileName', f.file_name) order by f.name collate "C")
              from execution_files f where f.execution_id = e.id and f.direction = 'output'), '[]') as outputs`;

const QUEUE_POSITION = `
  case when e.admitted_at is null and e.state = 'queued' then
    (select count(*)::int from executions o
      where o.workflow_id = e.workflow_id and o.admitted_at is null and o.state = 'queued'
        and (o.turn <= e.turn and not (o.backfilled and not e.backfilled) or e.backfilled and not o.backfilled))
  end as "queuePosition"`;

const HOST = `
  case when e.finished_at is null then
    (select a.host_id from attempts a where a.execution_id = e.id and a.ended_at is null
      order by a.attempt desc limit 1)
  end as "hostId"`;

export async function findExecution(db: Db, id: ExecutionId): Promise<ExecutionRecord | undefined> {
  const [row] = await queryRows<ExecutionRecord>(
    db,
    `select ${RECORD}, ${QUEUE_POSITION}, ${HOST} from executions e where e.id = :id`,
    { id },
  );
  return row;
}

/** One output file of an execution by the name in its URL, and since when it is not kept any more. */
export async function findOutputFile(
  db: Db,
  executionId: ExecutionId,
  fileName: string,
): Promise<(StoredFile & { readonly removedAt: Date | null }) | undefined> {
  const [row] = await queryRows<Omit<StoredFile, "bytes"> & { bytes: bigint; removedAt: Date | null }>(
    db,
    `select f.name, f.file_name as "fileName", f.storage_key as "storageKey", f.bytes, f.sha256,
            f.content_type as "contentType", e.files_removed_at as "removedAt"
       from execution_files f join executions e on e.id = f.execution_id
      where f.execution_id = :executionId and f.direction = 'output' and f.file_name = :fileName`,
    { executionId, fileName },
  );
  return row && { ...row, bytes: Number(row.bytes) };
}

/** The output files of an execution, by name. */
export async function listOutputFiles(db: Db, executionId: ExecutionId): Promise<StoredFile[]> {
  const rows = await queryRows<Omit<StoredFile, "bytes"> & { bytes: bigint }>(
    db,
    `select name, file_name as "fileName", storage_key as "storageKey", bytes, sha256, content_type as "contentType"
       from execution_files where execution_id = :executionId and direction = 'output' order by file_name`,
    { executionId },
  );
  return rows.map(({ name, fileName, storageKey, bytes, sha256, contentType }) => {
    return { name, fileName, storageKey, bytes: Number(bytes), sha256, contentType };
  });
}

/** The channel on which requests to cancel are announced; the payload is the execution id. */
export const CANCEL_REQUESTED = "execution_cancel_requested";

/**
 * Notes who asked to cancel, the first time, and announces it to the process that runs the program. Returns whether the
 * execution was still open; undefined for an unknown execution.
 */
export async function requestCancel(
  db: Db,
  id: ExecutionId,
  requestedBy: string,
): Promise<{ open: boolean } | undefined> {
  const [row] = await queryRows<{ open: boolean }>(
    db,
    `with asked as (
       update executions
          set cancel_requested_at = coalesce(cancel_requested_at, now()),
              cancel_requested_by = coalesce(cancel_requested_by, :requestedBy)
        where id = :id and state in ('queued', 'running')
       returning id, pg_notify(:channel, id)
     )
     select asked.id is not null as open from executions e left join asked on asked.id = e.id where e.id = :id`,
    { id, requestedBy, channel: CANCEL_REQUESTED },
  );
  return row;
}

/** Whether an execution waits for its next attempt, or has begun it this moment. */
export async function isBetweenAttempts(db: Db, id: ExecutionId): Promise<boolean> {
  const rows = await queryRows(
    db,
    `select from (select retry_at from attempts where execution_id = :id order by attempt desc limit 1) last
      where last.retry_at is not null`,
    { id },
  );
  return rows.length > 0;
}

/** What starting an open execution again needs. */
export interface OpenExecution {
  readonly id: ExecutionId;
  readonly workflowId: WorkflowId;
  readonly workflowName: string;
  readonly commitId: CommitId;
  readonly accountId: AccountId;
  readonly trigger: Trigger;
  readonly timeoutSeconds: number;
  readonly attemptsMax: number;
}

/** The columns of `OpenExecution`, of `executions e` and `workflows w`. */
export const OPEN = `
  e.id, e.workflow_id as "workflowId", w.name as "workflowName", e.commit_id as "commitId",
  e.account_id as "accountId", e.trigger, e.timeout_seconds as "timeoutSeconds", e.attempts_max as "attemptsMax"`;

/** What starting an execution needs; undefined for one that has ended, waits for its turn, or is unknown. */
export async function findStartable(db: Db, id: ExecutionId): Promise<OpenExecution | undefined> {
  const [row] = await queryRows<OpenExecution>(
    db,
    `select ${OPEN} from executions e join workflows w on w.id = e.workflow_id
      where e.id = :id and e.finished_at is null and e.admitted_at is not null`,
    { id },
  );
  return row;
}

/** One that the sweeper looks at. */
export interface LongOpenExecution extends OpenExecution {
  /** Its program was begun, or credits are held for it: a workflow drove it once. */
  readonly begun: boolean;
}

/**
 * Open executions that were let in before `olderThanSeconds` ago, by id, at most `limit` with an id after `after`: for
 * the sweeper, page by page. Those that wait for their turn are as they should be.
 */
export async function listOpenExecutions(
  db: Db,
  input: { olderThanSeconds: number; limit: number; after?: ExecutionId | undefined },
): Promise<LongOpenExecution[]> {
  // Materialized, so that they are found by the index of open executions and never by walking through all ids.
  return queryRows<LongOpenExecution>(
    db,
    `with open as materialized (
       select id from executions
        where state in ('queued', 'running') and admitted_at < now() - make_interval(secs => :olderThanSeconds)
     )
     select ${OPEN},
            e.started_at is not null or exists (select from reservations r where r.execution_id = e.id) as begun
       from open join executions e on e.id = open.id join workflows w on w.id = e.workflow_id
      where open.id > :after order by open.id limit :limit`,
    { ...input, after: input.after ?? "" },
  );
}

interface LastOutcome {
  readonly status: ExecutionEnd;
  readonly secondsUsed: number;
  readonly uploaded: boolean;
  /** Whether it ended within the last minute. */
  readonly isFresh: boolean;
}

/** Returns whether a process runs the execution's program now, or has been lost less than a lease ago. */
export async function isRunning(db: Db, executionId: ExecutionId): Promise<boolean> {
  const rows = await queryRows(
    db,
    `select from attempts where execution_id = :executionId and ended_at is null and lease_until > now()`,
    { executionId },
  );
  return rows.length > 0;
}

/** How the last attempt of an execution ended, if one did, and whether its outputs are in storage. */
export async function findLastOutcome(db: Db, executionId: ExecutionId): Promise<LastOutcome | undefined> {
  const [row] = await queryRows<LastOutcome>(
    db,
    `select a.status, e.uploaded_at is not null as uploaded, a.ended_at > now() - interval '1 minute' as "isFresh",
            (select sum(seconds_used) from attempts where execution_id = e.id) as "secondsUsed"
       from executions e join attempts a on a.execution_id = e.id and a.status is not null
      where e.id = :executionId order by a.attempt desc limit 1`,
    { executionId },
  );
  return row;
}

/** Those of the given executions that have ended. */
export async function listEnded(db: Db, ids: readonly ExecutionId[]): Promise<ExecutionId[]> {
  const rows = await queryRows<{ id: ExecutionId }>(
    db,
    `select id from executions where id = any(cast(:ids as text[])) and finished_at is not null`,
    { ids: [...ids] },
  );
  return rows.map((row) => row.id);
}
