import type { CommitId, WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** Whose draft of what: there is one at most. */
export interface DraftKey {
  readonly userId: string;
  readonly workflowId: WorkflowId;
}

export interface Draft extends DraftKey {
  /** Distinguishes it from one that was discarded before. */
  readonly id: bigint;
  /** The commit it began with, or last took over. Null: there was none. */
  readonly base: CommitId | null;
  /** Counts its changes, from 1. */
  readonly version: number;
  readonly updatedAt: Date;
}

/** A file of a draft by the blob that git would make of it. */
export interface DraftEntry {
  readonly path: string;
  readonly blobId: string;
  readonly executable: boolean;
}

/** An entry to be stored. `content` null: a commit of the workflow has that blob. */
export interface NewDraftEntry extends DraftEntry {
  readonly content: Buffer | null;
}

/** A draft with its files and their content, sorted by path: of one moment, because it is one statement. */
export async function findDraftWithFiles(
  db: Db,
  { userId, workflowId }: DraftKey,
): Promise<{ draft: Draft; files: (DraftEntry & { readonly content: Buffer })[] } | undefined> {
  const rows = await queryRows<Draft & { [Key in keyof DraftEntry]: DraftEntry[Key] | null } & { content: Buffer }>(
    db,
    `select d.id, d.user_id as "userId", d.workflow_id as "workflowId", d.base, d.version, d.updated_at as "updatedAt",
            f.path, f.blob_id as "blobId", f.executable, coalesce(f.content, o.content) as content
       from drafts d
       left join draft_files f on f.user_id = d.user_id and f.workflow_id = d.workflow_id
       left join git_objects o on f.content is null and o.workflow_id = f.workflow_id and o.id = f.blob_id
      where d.user_id = :userId and d.workflow_id = :workflowId
      order by f.path collate "C"`,
    { userId, workflowId },
  );
  const [first] = rows;
  if (first === undefined) return undefined;
  const { id, base, version, updatedAt } = first;
  const files = rows.flatMap(({ path, blobId, executable, content }) =>
    path === null ? [] : [{ path, blobId: blobId as string, executable: executable as boolean, content }],
  );
  return { draft: { id, userId, workflowId, base, version, updatedAt }, files };
}

/** What a draft is to become: all of it counts only when the stored version is `version` (0: there is no draft yet). */
export interface DraftChange extends DraftKey {
  readonly version: number;
  /** The commit it begins with, or takes over now. Undefined: as it was. */
  readonly base?: CommitId | null | undefined;
  readonly put: readonly NewDraftEntry[];
  /** Paths; none of those in `put`. */
  readonly removed: readonly string[];
}

/**
 * Changes a draft, or makes it; undefined, and nothing is changed, when its version is not the one named. One statement: of two
 * tabs that save at once, the second finds the version moved on.
 */
export async function changeDraft(
  db: Db,
  change: DraftChange,
): Promise<{ version: number; updatedAt: Date } | undefined> {
  const { userId, workflowId, version, base, put, removed } = change;
  const [row] = await queryRows<{ version: number; updatedAt: Date }>(
    db,
    `with made as (
       insert into drafts (user_id, workflow_id, base)
       select :userId, :workflowId, cast(:base as text) where cast(:version as int) = 0
       on conflict (user_id, workflow_id) do nothing
       returning version, updated_at
     ), moved as (
       update drafts set version = version + 1, updated_at = now(),
              base = case when cast(:rebase as boolean) then cast(:base as text) else base end
        where user_id = :userId and workflow_id = :workflowId and version = cast(:version as int)
       returning version, updated_at
     ), saved as (
       select * from made union all select * from moved
     ), gone as (
       delete from draft_files
        where user_id = :userId and workflow_id = :workflowId and path = any(cast(:removed as text[]))
          and exists (select from saved)
     ), written as (
       insert into draft_files (user_id, workflow_id, path, blob_id, content, executable)
       select :userId, :workflowId, f.path, f.blob_id, substring(cast(:contents as bytea) from f.at for f.bytes), f.executable
         from unnest(cast(:paths as text[]), cast(:blobIds as text[]), cast(:places as int[]), cast(:sizes as int[]),
                     cast(:executables as boolean[])) as f (path, blob_id, at, bytes, executable)
        where exists (select from saved)
       on conflict (user_id, workflow_id, path) do update
         set blob_id = excluded.blob_id, content = excluded.content, executable = excluded.executable
     )
     select version, updated_at as "updatedAt" from saved`,
    {
      userId,
      workflowId,
      version,
      base: base ?? null,
      rebase: base !== undefined,
      removed: [...removed],
      paths: put.map((entry) => entry.path),
      blobIds: put.map((entry) => entry.blobId),
      ...joinContents(put),
      executables: put.map((entry) => entry.executable),
    },
  );
  return row;
}

/**
 * All contents as one, with the place (from 1) and size of each; both null for those that are stored already. An array of 20 MB would
 * be written out as a text of hexadecimal digits, for which the event loop would stand still.
 */
function joinContents(put: readonly NewDraftEntry[]) {
  let end = 1;
  const places = put.map(({ content }) => {
    if (content === null) return null;
    const place = end;
    end += content.length;
    return place;
  });
  const sizes = put.map(({ content }) => content?.length ?? null);
  return { contents: Buffer.concat(put.flatMap(({ content }) => content ?? [])), places, sizes };
}

/** Forgets a draft; true when there was one. */
export async function deleteDraft(db: Db, { userId, workflowId }: DraftKey): Promise<boolean> {
  const rows = await queryRows(
    db,
    `delete from drafts where user_id = :userId and workflow_id = :workflowId returning 1`,
    { userId, workflowId },
  );
  return rows.length > 0;
}

/**
 * What becomes of a draft whose version `version` is a commit now: it is deleted. One that was changed since stays, and
 * its base is that commit, which also settles all open conflicts. A draft that was begun since is another one (`id`),
 * and left alone.
 */
export async function concludeDraft(
  db: Db,
  { id, version, commitId }: { id: bigint; version: number; commitId: CommitId },
): Promise<void> {
  await queryRows(
    db,
    `with gone as (
       delete from drafts where id = :id and version = :version
     ), decided as (
       delete from draft_conflicts c using drafts d
        where d.id = :id and d.version > :version and c.user_id = d.user_id and c.workflow_id = d.workflow_id
     )
     update drafts set base = :commitId where id = :id and version > :version`,
    { id: String(id), version, commitId },
  );
}
