import type { CommitId, WorkflowId } from "../domain/ids.ts";
import { insertEnvironment, insertObjects, type NewCommit } from "./commits.ts";
import { type Db, queryRows } from "./connect.ts";

/**
 * Keeps files of a draft as a commit that executions can be of: never the head, in no history. All or nothing; false when the workflow
 * was deleted meanwhile.
 */
export async function keepDraftCommit(db: Db, commit: NewCommit): Promise<boolean> {
  return db.transaction(async (tx) => {
    const workflows = await queryRows(
      tx,
      `select 1 from workflows where id = :workflowId and deleted_at is null for key share`,
      { workflowId: commit.workflowId },
    );
    if (workflows.length === 0) return false;
    await insertObjects(tx, commit);
    if (commit.environment !== null) await insertEnvironment(tx, commit.environment);
    await queryRows(
      tx,
      `insert into commits (workflow_id, id, parent_id, tree_id, message, manifest, environment_key, author_id, author_email, draft)
       values (:workflowId, :id, :parentId, :treeId, :message, cast(:manifest as jsonb), :environmentKey, :authorId, :authorEmail, true)
       on conflict (workflow_id, id) do nothing`,
      {
        ...{ workflowId: commit.workflowId, id: commit.id, parentId: commit.parentId, treeId: commit.treeId },
        ...{ message: commit.message, manifest: JSON.stringify(commit.manifest) },
        environmentKey: commit.environment?.key ?? null,
        authorId: commit.author?.userId ?? null,
        authorEmail: commit.author?.email ?? null,
      },
    );
    return true;
  });
}

/** A commit of somebody's draft that was kept with exactly these files. */
export async function findDraftCommit(
  db: Db,
  of: { workflowId: WorkflowId; treeId: string; userId: string },
): Promise<CommitId | undefined> {
  const [row] = await queryRows<{ id: CommitId }>(
    db,
    `select id from commits
      where workflow_id = :workflowId and tree_id = :treeId and author_id = :userId and draft
      order by created_at desc limit 1`,
    of,
  );
  return row?.id;
}
