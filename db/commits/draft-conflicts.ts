import type { CommitId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";
import type { DraftKey } from "./drafts.ts";

/**
 * A file that the author of a draft and another user have both changed. The draft has the author's text, the commit the
 * other one.
 */
export interface DraftConflict {
  readonly path: string;
  readonly commitId: CommitId;
}

/** What the author of a draft has still to decide, sorted by path. */
export async function listDraftConflicts(db: Db, { userId, workflowId }: DraftKey): Promise<DraftConflict[]> {
  return queryRows<DraftConflict>(
    db,
    `select path, commit_id as "commitId" from draft_conflicts
      where user_id = :userId and workflow_id = :workflowId order by path collate "C"`,
    { userId, workflowId },
  );
}

/** Notes files that both have changed, for a draft that there is. Of one that was noted before, the newer commit counts. */
export async function addDraftConflicts(
  tx: Db,
  {
    userId,
    workflowId,
    commitId,
    paths,
  }: DraftKey & { readonly commitId: CommitId; readonly paths: readonly string[] },
): Promise<void> {
  if (paths.length === 0) return;
  await queryRows(
    tx,
    `insert into draft_conflicts (user_id, workflow_id, path, commit_id)
     select :userId, :workflowId, unnest(cast(:paths as text[])), :commitId
     on conflict (user_id, workflow_id, path) do update set commit_id = excluded.commit_id`,
    { userId, workflowId, commitId, paths: [...paths] },
  );
}

/** Forgets one that is decided. What another commit has changed in the same file since stays to be decided. */
export async function settleDraftConflict(
  db: Db,
  { userId, workflowId, path, commitId }: DraftKey & DraftConflict,
): Promise<void> {
  await queryRows(
    db,
    `delete from draft_conflicts
      where user_id = :userId and workflow_id = :workflowId and path = :path and commit_id = :commitId`,
    { userId, workflowId, path, commitId },
  );
}
