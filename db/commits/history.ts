import type { AccountId, CommitId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";
import type { Commit } from "./commits.ts";

/** More executions than this are not counted: that would take longer than the number is worth. */
export const EXECUTIONS_COUNTED_MAX = 10_000;

/** A commit as people look back at it. */
export interface PastCommit extends Commit {
  /** At most `EXECUTIONS_COUNTED_MAX`: then there are so many, or more. */
  readonly executions: number;
  readonly isHead: boolean;
}

const PAST_COMMIT = `
  c.workflow_id as "workflowId", c.id, c.parent_id as "parentId", c.tree_id as "treeId", c.message,
  c.environment_key as "environmentKey", c.python, c.author_email as "authorEmail", c.created_at as "createdAt",
  coalesce(w.head = c.id, false) as "isHead",
  (select count(*)::int from (select from executions e where e.workflow_id = c.workflow_id and e.commit_id = c.id
                               limit ${EXECUTIONS_COUNTED_MAX}) counted) as executions`;

/** The commits of a workflow, the newest first, those before `after`; without their manifests. */
export async function listHistory(
  db: Db,
  page: { workflowId: WorkflowId; after: CommitId | null; limit: number },
): Promise<Omit<PastCommit, "manifest">[]> {
  return queryRows<Omit<PastCommit, "manifest">>(
    db,
    `select ${PAST_COMMIT}
       from commits c join workflows w on w.id = c.workflow_id
      where c.workflow_id = :workflowId and not c.draft
        and (cast(:after as text) is null
             or (c.created_at, c.id) < (select a.created_at, a.id from commits a
                                         where a.workflow_id = :workflowId and a.id = cast(:after as text)))
      order by c.created_at desc, c.id desc limit :limit`,
    page,
  );
}

/**
 * Commits of an account's workflow whose ids begin so, drafts' too, at most two: more than one means that the beginning
 * is ambiguous. A range of ids, which the primary key answers: `g` is behind every hex digit.
 */
export async function findCommitsBeginning(
  db: Db,
  of: { accountId: AccountId; workflowId: WorkflowId; begin: string },
): Promise<CommitId[]> {
  const rows = await queryRows<{ id: CommitId }>(
    db,
    `select c.id from commits c join workflows w on w.id = c.workflow_id
      where w.account_id = :accountId and c.workflow_id = :workflowId and c.id >= :begin and c.id < :begin || 'g'
      order by c.id limit 2`,
    of,
  );
  return rows.map(({ id }) => id);
}

/** One commit of a workflow. */
export async function findCommitHistory(db: Db, workflowId: WorkflowId, id: CommitId): Promise<PastCommit | undefined> {
  const [row] = await queryRows<PastCommit>(
    db,
    `select ${PAST_COMMIT}, c.manifest
       from commits c join workflows w on w.id = c.workflow_id
      where c.workflow_id = :workflowId and c.id = :id`,
    { workflowId, id },
  );
  return row;
}
