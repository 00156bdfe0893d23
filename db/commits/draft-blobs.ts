import type { WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** Returns the blobs that a draft names without having the content. */
export async function listBlobsOfDrafts(db: Db, workflowId: WorkflowId, ids: readonly string[]): Promise<string[]> {
  const rows = await queryRows<{ id: string }>(
    db,
    `select distinct blob_id as id from draft_files
      where workflow_id = :workflowId and content is null and blob_id = any(cast(:ids as text[]))`,
    { workflowId, ids: [...ids] },
  );
  return rows.map(({ id }) => id);
}

/** Notes that only drafts name these blobs of a workflow now: they are removed when none does. */
export async function noteDraftBlobs(tx: Db, workflowId: WorkflowId, ids: readonly string[]): Promise<void> {
  await queryRows(
    tx,
    `insert into draft_blobs (workflow_id, blob_id) select :workflowId, unnest(cast(:ids as text[])) on conflict do nothing`,
    { workflowId, ids: [...ids] },
  );
}

const IS_LEFT = `not exists (select from draft_files f
                              where f.workflow_id = b.workflow_id and f.blob_id = b.blob_id and f.content is null)`;

/** Workflows with noted blobs that no draft names any more; at most `limit`. */
export async function listWorkflowsWithLeftBlobs(db: Db, limit: number): Promise<WorkflowId[]> {
  const rows = await queryRows<{ workflowId: WorkflowId }>(
    db,
    `select distinct b.workflow_id as "workflowId" from draft_blobs b where ${IS_LEFT} limit :limit`,
    { limit },
  );
  return rows.map(({ workflowId }) => workflowId);
}

/**
 * Forgets the notes of such blobs of a workflow, at most `limit`, and answers them. The caller removes these blobs in
 * the same transaction, unless a commit has them by now. The transaction must have claimed the workflow's objects
 * before, so no draft can name one meanwhile.
 */
export async function takeLeftBlobs(
  tx: Db,
  { workflowId, limit }: { workflowId: WorkflowId; limit: number },
): Promise<string[]> {
  const rows = await queryRows<{ id: string }>(
    tx,
    `delete from draft_blobs where workflow_id = :workflowId and blob_id = any(array(
       select b.blob_id from draft_blobs b where b.workflow_id = :workflowId and ${IS_LEFT} limit :limit
     )) returning blob_id as id`,
    { workflowId, limit },
  );
  return rows.map(({ id }) => id);
}
