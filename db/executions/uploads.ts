import type { ExecutionId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/**
 * Notes that files of an execution to be are put into storage; before the first of them is. `acceptExecution` deletes the note
 * when it records the execution.
 */
export async function noteUploads(db: Db, executionId: ExecutionId): Promise<void> {
  await queryRows(db, `insert into uploads (execution_id) values (:executionId)`, { executionId });
}

/** Deletes the notes of executions that have no files in storage any more, and never will. */
export async function forgetUploads(db: Db, ids: readonly ExecutionId[]): Promise<void> {
  await queryRows(db, `delete from uploads where execution_id = any(cast(:ids as text[]))`, { ids: [...ids] });
}

/**
 * Notes that are older than `olderThanSeconds`, in the order of their ids, those after `after`. One of an execution that is in
 * the record is none of them.
 */
export async function listAbandonedUploads(
  db: Db,
  page: { olderThanSeconds: number; after: ExecutionId | undefined; limit: number },
): Promise<ExecutionId[]> {
  const rows = await queryRows<{ id: ExecutionId }>(
    db,
    `select u.execution_id as id from uploads u
      where u.begun_at < now() - make_interval(secs => :olderThanSeconds) and u.execution_id > :after
        and not exists (select from executions e where e.id = u.execution_id)
      order by u.execution_id limit :limit`,
    { ...page, after: page.after ?? "" },
  );
  return rows.map(({ id }) => id);
}
