import type { AccountId, UploadId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** A file that a caller brings before the call that takes it. */
export interface FileUpload {
  readonly id: UploadId;
  readonly workflowId: WorkflowId;
  readonly fileName: string;
  readonly contentType: string;
  readonly bytes: number;
  /** As its caller declared it; the file has it once it is complete. */
  readonly sha256: string;
  /** Of each part but the last, which has the rest. */
  readonly partBytes: number;
  /** What storage calls it; null when the process that began it died before storage had answered. */
  readonly session: string | null;
  readonly expiresAt: Date;
  readonly completedAt: Date | null;
}

export interface NewFileUpload
  extends Pick<FileUpload, "id" | "workflowId" | "fileName" | "contentType" | "bytes" | "sha256" | "partBytes"> {
  readonly accountId: AccountId;
  readonly seconds: number;
  /** How many of a workflow may be incomplete, and how many there may be. */
  readonly openMax: number;
  readonly keptMax: number;
}

/** Records an upload that is about to begin. Returns false when the workflow has as many as it may. */
export async function beginFileUpload(db: Db, upload: NewFileUpload): Promise<boolean> {
  const [row] = await queryRows<{ begun: boolean }>(
    db,
    `select begin_file_upload(:id, :workflowId, :accountId, :fileName, :contentType, :bytes, :sha256, :partBytes, :seconds, :openMax,
                              :keptMax) as begun`,
    { ...upload },
  );
  return row?.begun === true;
}

/** Notes what storage calls an upload, from which time on it takes parts. */
export async function noteUploadSession(db: Db, id: UploadId, session: string): Promise<void> {
  await queryRows(db, `update file_uploads set session = :session where id = :id and session is null`, { id, session });
}

/** Returns those of these uploads that the workflow has and that have not expired. */
export async function findFileUploads(
  db: Db,
  workflowId: WorkflowId,
  ids: readonly UploadId[],
): Promise<readonly FileUpload[]> {
  return queryRows<FileUpload>(
    db,
    `select id, workflow_id as "workflowId", file_name as "fileName", content_type as "contentType",
            cast(bytes as double precision) as bytes, sha256, cast(part_bytes as double precision) as "partBytes", session, expires_at as "expiresAt", completed_at as "completedAt"
       from file_uploads
      where workflow_id = :workflowId and id = any(cast(:ids as text[])) and expires_at > now()`,
    { workflowId, ids: [...ids] },
  );
}

/** Notes that an upload is whole: executions may have it from now on. */
export async function completeFileUpload(db: Db, id: UploadId): Promise<void> {
  await queryRows(db, `update file_uploads set completed_at = now() where id = :id and completed_at is null`, { id });
}

/** Forgets uploads of which storage has nothing any more. */
export async function forgetFileUploads(db: Db, ids: readonly UploadId[]): Promise<void> {
  await queryRows(db, `delete from file_uploads where id = any(cast(:ids as text[]))`, { ids: [...ids] });
}

/** Uploads that expired `olderThanSeconds` ago or before, in the order of their ids, those after `after`. */
export async function listExpiredUploads(
  db: Db,
  page: { olderThanSeconds: number; after: UploadId | undefined; limit: number },
): Promise<UploadId[]> {
  const rows = await queryRows<{ id: UploadId }>(
    db,
    `select id from file_uploads
      where expires_at < now() - make_interval(secs => :olderThanSeconds) and id > :after order by id limit :limit`,
    { ...page, after: page.after ?? "" },
  );
  return rows.map(({ id }) => id);
}
