import type { FileProblem } from "../../domain/errors.ts";
import type { AccountId, CommitId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** Ended builds are kept for so long, and removed a few at a time when the next one begins. */
const KEPT_DAYS = 7;
/** Each new build removes some old ones. A bound keeps the first build after a long pause from waiting for all. */
const REMOVED_AT_ONCE = 20;
/** A build whose process has not said for so long that it lives is lost. */
export const BUILD_SILENCE_SECONDS = 60;

/** Why no commit was made, as callers see it. */
export interface BuildFailure {
  readonly error: string;
  readonly message: string;
  readonly details: readonly FileProblem[];
}

export interface Build {
  readonly id: string;
  readonly accountId: AccountId;
  readonly workflowId: WorkflowId;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
  readonly commitId: CommitId | null;
  readonly changed: boolean | null;
  readonly failure: BuildFailure | null;
  /** It has not ended, and nobody is at it any more. */
  readonly lost: boolean;
}

export async function insertBuild(db: Db, build: { id: string; workflowId: WorkflowId }): Promise<void> {
  await queryRows(
    db,
    `with old as (
       select id from builds where created_at < now() - make_interval(days => :keptDays)
        order by created_at limit :removedAtOnce for update skip locked
     ), removed as (
       delete from builds where id in (select id from old)
     )
     insert into builds (id, workflow_id) values (:id, :workflowId)`,
    { ...build, keptDays: KEPT_DAYS, removedAtOnce: REMOVED_AT_ONCE },
  );
}

/** Records that a process works on it, and its output since (empty: nothing). */
export async function noteBuild(db: Db, build: { id: string; position: number; text: string }): Promise<void> {
  await queryRows(
    db,
    `with seen as (
       update builds set seen_at = now() where id = :id
     )
     insert into build_logs (build_id, position, text) select :id, :position, :text where cast(:text as text) <> ''`,
    build,
  );
}

/** Ends a build, once. */
export async function endBuild(
  db: Db,
  id: string,
  outcome: { commitId: CommitId; changed: boolean } | BuildFailure,
): Promise<void> {
  const failure = "error" in outcome ? JSON.stringify(outcome) : null;
  const { commitId, changed } = "error" in outcome ? { commitId: null, changed: null } : outcome;
  await queryRows(
    db,
    `update builds set ended_at = now(), commit_id = :commitId, changed = :changed, failure = cast(:failure as jsonb)
      where id = :id and ended_at is null`,
    { id, commitId, changed, failure },
  );
}

export async function findBuild(db: Db, id: string): Promise<Build | undefined> {
  const [row] = await queryRows<Build>(
    db,
    `select b.id, w.account_id as "accountId", b.workflow_id as "workflowId", b.created_at as "createdAt",
            b.ended_at as "endedAt", b.commit_id as "commitId", b.changed, b.failure,
            b.ended_at is null and b.seen_at < now() - make_interval(secs => :silenceSeconds) as lost
       from builds b join workflows w on w.id = b.workflow_id
      where b.id = :id`,
    { id, silenceSeconds: BUILD_SILENCE_SECONDS },
  );
  return row;
}

/** What a build has said after a position (0: all of it), in order. */
export async function listBuildLog(
  db: Db,
  id: string,
  after: number,
): Promise<{ readonly position: number; readonly text: string }[]> {
  return queryRows(
    db,
    `select position, text from build_logs where build_id = :id and position > :after order by position`,
    { id, after },
  );
}
