import type { CommitId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";
import { insertEnvironment, insertObjects, type NewCommit, toBindings } from "./commits.ts";
import { holdObjects } from "./git-objects.ts";

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
    await holdObjects(tx, commit.workflowId);
    await insertObjects(tx, commit);
    if (commit.environment !== null) await insertEnvironment(tx, commit.environment);
    await queryRows(
      tx,
      `insert into commits (workflow_id, id, parent_id, tree_id, message, manifest, environment_key, python, author_id, author_email, draft)
       values (:workflowId, :id, :parentId, :treeId, :message, cast(:manifest as jsonb), :environmentKey, :python, :authorId, :authorEmail, true)
       on conflict (workflow_id, id) do nothing`,
      toBindings(commit),
    );
    return true;
  });
}

/** For so long the same draft of the same person is executed as the commit that was kept before; then it is kept anew. */
const REUSED_HOURS = 12;
/** No draft's commit is removed before. A caller that just got it has all that time to record an execution of it. */
const KEPT_HOURS = 24;

/** Returns a commit of a user's draft that was kept with exactly these files not long ago. */
export async function findDraftCommit(
  db: Db,
  of: { workflowId: WorkflowId; treeId: string; userId: string },
): Promise<CommitId | undefined> {
  const [row] = await queryRows<{ id: CommitId }>(
    db,
    `select id from commits
      where workflow_id = :workflowId and tree_id = :treeId and author_id = :userId and draft
        and created_at > now() - make_interval(hours => :hours)
      order by created_at desc limit 1`,
    { ...of, hours: REUSED_HOURS },
  );
  return row?.id;
}

const IS_UNUSED = `c.draft and c.created_at < now() - make_interval(hours => :hours)
  and not exists (select from executions e where e.workflow_id = c.workflow_id and e.commit_id = c.id)
  and not exists (select from drafts d where d.workflow_id = c.workflow_id and d.base = c.id)`;

/** Workflows with commits of drafts that no execution is of, kept long enough ago; at most `limit`. */
export async function listUnusedDrafts(db: Db, limit: number): Promise<WorkflowId[]> {
  const rows = await queryRows<{ workflowId: WorkflowId }>(
    db,
    `select distinct c.workflow_id as "workflowId" from commits c where ${IS_UNUSED} limit :limit`,
    { hours: KEPT_HOURS, limit },
  );
  return rows.map(({ workflowId }) => workflowId);
}

/**
 * Deletes such commits of a workflow, at most `limit`; answers them with their trees. Their objects are the caller's to remove, in the
 * same transaction. One that an execution is recorded of at this moment is left alone.
 */
export async function deleteUnusedDrafts(
  tx: Db,
  { workflowId, limit }: { workflowId: WorkflowId; limit: number },
): Promise<{ id: CommitId; treeId: string }[]> {
  return queryRows<{ id: CommitId; treeId: string }>(
    tx,
    `delete from commits where workflow_id = :workflowId and id = any(array(
       select c.id from commits c where c.workflow_id = :workflowId and ${IS_UNUSED} limit :limit for update of c skip locked
     )) returning id, tree_id as "treeId"`,
    { workflowId, limit, hours: KEPT_HOURS },
  );
}
