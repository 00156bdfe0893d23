import type { WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

export interface GitObject {
  readonly id: string;
  readonly kind: "blob" | "tree" | "commit";
  readonly content: Buffer;
}

/** The first of the two numbers of the advisory locks of workflows' objects; the second is of the workflow. */
const OBJECTS_LOCK = 7_283_517;

/**
 * Until the end of the transaction no object of a workflow is removed, so an object that is there can be named. Taken
 * before looking which objects there are.
 */
export async function holdObjects(tx: Db, workflowId: WorkflowId): Promise<void> {
  await queryRows(tx, `select pg_advisory_xact_lock_shared(:lock, hashtext(:workflowId))`, {
    lock: OBJECTS_LOCK,
    workflowId,
  });
}

/**
 * Claims the removal of a workflow's objects until the end of the transaction. Returns false when another transaction
 * needs them now.
 */
export async function claimObjects(tx: Db, workflowId: WorkflowId): Promise<boolean> {
  const [row] = await queryRows<{ claimed: boolean }>(
    tx,
    `select pg_try_advisory_xact_lock(:lock, hashtext(:workflowId)) as claimed`,
    { lock: OBJECTS_LOCK, workflowId },
  );
  return row?.claimed === true;
}

/** Trees of a workflow in the order of their ids, behind one of them; at most `limit`. */
export async function listTrees(
  db: Db,
  page: { workflowId: WorkflowId; after: string; limit: number },
): Promise<Pick<GitObject, "id" | "content">[]> {
  return queryRows<Pick<GitObject, "id" | "content">>(
    db,
    `select id, content from git_objects where workflow_id = :workflowId and kind = 'tree' and id > :after order by id limit :limit`,
    page,
  );
}

/** Those of the objects that a commit names itself. */
export async function listNamedObjects(db: Db, workflowId: WorkflowId, ids: readonly string[]): Promise<string[]> {
  const rows = await queryRows<{ id: string }>(
    db,
    `select c.tree_id as id from commits c where c.workflow_id = :workflowId and c.tree_id = any(cast(:ids as text[]))
     union select c.id from commits c where c.workflow_id = :workflowId and c.id = any(cast(:ids as text[]))`,
    { workflowId, ids: [...ids] },
  );
  return rows.map(({ id }) => id);
}

export async function deleteObjects(db: Db, workflowId: WorkflowId, ids: readonly string[]): Promise<void> {
  await queryRows(db, `delete from git_objects where workflow_id = :workflowId and id = any(cast(:ids as text[]))`, {
    workflowId,
    ids: [...ids],
  });
}
