import type { StoredFile } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";
import { filesAsJson } from "./acceptance.ts";

/**
 * Records an execution's output files, once: an upload that is repeated writes the same rows again. False, and nothing is
 * recorded, where the outcome of their attempt is void: see `loseOutputs`, which locks in the same order.
 */
export async function insertOutputs(
  db: Db,
  input: {
    executionId: ExecutionId;
    files: readonly StoredFile[];
    logKey: string | null;
    logBytes: number;
    /** Undefined: of any attempt. */
    attempt?: number | undefined;
  },
): Promise<boolean> {
  const [row] = await queryRows<{ recorded: boolean }>(
    db,
    `with valid as materialized (
       select from attempts where execution_id = :executionId and attempt = cast(:attempt as int) and status is not null
          for share
     ), logged as (
       update executions set log_key = :logKey, log_bytes = :logBytes, uploaded_at = coalesce(uploaded_at, now())
        where id = :executionId and (cast(:attempt as int) is null or exists (select from valid))
       returning id
     ), stored as (
       insert into execution_files (execution_id, direction, name, file_name, storage_key, bytes, sha256, content_type)
       select logged.id, 'output', f.name, f.file_name, f.storage_key, f.bytes, f.sha256, f.content_type
         from logged, jsonb_to_recordset(cast(:files as jsonb))
           as f (name text, file_name text, storage_key text, bytes bigint, sha256 text, content_type text)
       on conflict (execution_id, direction, name, position) do nothing
     )
     select exists (select from logged) as recorded`,
    { ...input, attempt: input.attempt ?? null, files: filesAsJson(input.files) },
  );
  return row?.recorded === true;
}

/**
 * Records where the log of an execution is that has no outputs yet, or gets none, and of which attempt its last lines are. Changes
 * nothing once they are recorded, unless it `isLate`: then it has what was recorded with them, too.
 */
export async function insertLog(
  db: Db,
  log: { executionId: ExecutionId; logKey: string; logBytes: number; attempt: number | null; isLate?: boolean },
): Promise<void> {
  await queryRows(
    db,
    `update executions set log_key = :logKey, log_bytes = :logBytes, log_attempt = :attempt
      where id = :executionId and (uploaded_at is null or :isLate) and log_removed_at is null`,
    { isLate: false, ...log },
  );
}

export interface UploadState {
  readonly uploaded: boolean;
  readonly ended: boolean;
  readonly logRemoved: boolean;
  readonly logKey: string | null;
  readonly hostId: string | null;
  readonly attempt: number | null;
  /** Whether the outputs of that attempt were lost. */
  readonly isLost: boolean;
  /** Whether it was cancelled, and that attempt came to no end. What those before it left was void once it began. */
  readonly isCutOff: boolean;
  /** Attempts whose outputs were lost with their host. */
  readonly outputsLost: number;
}

/** How far the upload of an execution is, and which host ran its last attempt. */
export async function findUpload(db: Db, executionId: ExecutionId): Promise<UploadState | undefined> {
  const [row] = await queryRows<UploadState>(
    db,
    `select uploaded_at is not null as uploaded, finished_at is not null as ended, log_removed_at is not null as "logRemoved",
            e.log_key as "logKey", a.host_id as "hostId", a.attempt, coalesce(a.outputs_lost, false) as "isLost",
            coalesce(e.cancel_requested_at is not null and a.ended_at is not null and a.status is null and not a.outputs_lost, false) as "isCutOff",
            (select count(*)::int from attempts o where o.execution_id = e.id and o.outputs_lost) as "outputsLost"
       from executions e
       left join lateral (select * from attempts l where l.execution_id = e.id order by l.attempt desc limit 1) a on true
      where e.id = :executionId`,
    { executionId },
  );
  return row;
}
