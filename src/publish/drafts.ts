import { findCommit, listKnownObjects } from "../../db/commits/commits.ts";
import { addDraftConflicts } from "../../db/commits/draft-conflicts.ts";
import { changeDraft, type DraftKey, findDraftWithFiles } from "../../db/commits/drafts.ts";
import { holdObjects } from "../../db/commits/git-objects.ts";
import type { Db } from "../../db/connect.ts";
import type { FileProblem } from "../../domain/errors.ts";
import type { CommitId, WorkflowId } from "../../domain/ids.ts";
import { createCommitReader, walkTree } from "./commit-files.ts";
import { applyChanges, type DraftFile, isSame, mergeFiles, type ReadChange, toDraftFile } from "./draft-changes.ts";
import { findFolderProblems } from "./folder.ts";

/** What a user has of a workflow: a draft, or (version 0) the files of the head. */
export interface WorkingCopy {
  /** Of the draft; null without one. */
  readonly draftId: bigint | null;
  readonly base: CommitId | null;
  readonly version: number;
  readonly updatedAt: Date | null;
  readonly files: readonly DraftFile[];
}

export interface Saved {
  readonly kind: "saved";
  readonly version: number;
  readonly updatedAt: Date;
  readonly base: CommitId | null;
  readonly files: readonly DraftFile[];
}

export type SaveOutcome =
  | Saved
  /** The draft has another version than the one that was named: 0 when there is none any more. */
  | { readonly kind: "version_moved"; readonly version: number }
  | { readonly kind: "invalid"; readonly problems: readonly FileProblem[] };

type Target = DraftKey & { readonly head: CommitId | null };

/** A user's draft, or the files of the head where there is none. */
export async function readWorkingCopy(db: Db, { userId, workflowId, head }: Target): Promise<WorkingCopy> {
  const found = await findDraftWithFiles(db, { userId, workflowId });
  if (found === undefined) {
    return { draftId: null, base: head, version: 0, updatedAt: null, files: await readCommit(db, workflowId, head) };
  }
  const { id, base, version, updatedAt } = found.draft;
  return { draftId: id, base, version, updatedAt, files: found.files };
}

/** The files of a commit as drafts have them; none without a commit. */
export async function readCommit(db: Db, workflowId: WorkflowId, commitId: CommitId | null): Promise<DraftFile[]> {
  const files: DraftFile[] = [];
  if (commitId === null) return files;
  for await (const file of createCommitReader(db)(workflowId, commitId)) files.push(toDraftFile(file));
  return files;
}

/** Whether the files differ from those of a commit. Reads no content. */
export async function isChanged(
  db: Db,
  workflowId: WorkflowId,
  { base, files }: Pick<WorkingCopy, "base" | "files">,
): Promise<boolean> {
  const commit = base === null ? undefined : await findCommit(db, workflowId, base);
  const left = new Map(files.map((file) => [file.path, file]));
  if (commit === undefined) return left.size > 0;
  for await (const { path, id, executable } of walkTree(db, workflowId, commit.treeId)) {
    if (!isSame(left.get(path), { blobId: id, executable })) return true;
    left.delete(path);
  }
  return left.size > 0;
}

/** Changes a draft whose version the caller has seen; version 0 makes it from the files of the head. All changes or none. */
export async function saveDraft(
  db: Db,
  target: Target & { readonly version: number; readonly changes: readonly ReadChange[] },
): Promise<SaveOutcome> {
  const copy = await readWorkingCopy(db, target);
  if (copy.version !== target.version) return { kind: "version_moved", version: copy.version };
  const changed = applyChanges(copy.files, target.changes);
  if (!changed.ok) return { kind: "invalid", problems: changed.problems };
  return store(db, target, copy, { files: changed.files, base: copy.base });
}

/**
 * Lets a draft go on from the head: files that it has not changed become those of the head. Answers which files both have changed;
 * the draft keeps its own of those, and a note that they are to be decided. Where there is no draft, there is nothing to do.
 */
export async function rebaseDraft(
  db: Db,
  target: Target & { readonly version: number },
): Promise<(SaveOutcome & { readonly conflicts?: readonly string[] }) | { readonly kind: "unchanged" }> {
  const { workflowId, head } = target;
  const copy = await readWorkingCopy(db, target);
  if (copy.version !== target.version) return { kind: "version_moved", version: copy.version };
  if (copy.version === 0 || copy.base === head) return { kind: "unchanged" };
  const [base, current] = [await readCommit(db, workflowId, copy.base), await readCommit(db, workflowId, head)];
  const { files, conflicts } = mergeFiles({ draft: copy.files, base, head: current });
  const problems = findFolderProblems(files);
  if (problems.length > 0) return { kind: "invalid", problems };
  return { ...(await store(db, target, copy, { files, base: head, conflicts })), conflicts };
}

/** Makes the draft of a new workflow, which has nothing yet. */
export async function createDraft(db: Db, key: DraftKey, files: readonly DraftFile[]): Promise<void> {
  const put = files.map(({ path, blobId, executable, content }) => ({ path, blobId, executable, content }));
  await changeDraft(db, { ...key, version: 0, base: null, put, removed: [] });
}

async function store(
  db: Db,
  { userId, workflowId }: DraftKey,
  copy: WorkingCopy,
  { files, base, conflicts = [] }: Pick<WorkingCopy, "files" | "base"> & { readonly conflicts?: readonly string[] },
): Promise<SaveOutcome> {
  const before = new Map(copy.version === 0 ? [] : copy.files.map((file) => [file.path, file]));
  const after = new Map(files.map((file) => [file.path, file]));
  const changed = files.filter((file) => !isSame(before.get(file.path), file));
  const saved = await db.transaction(async (tx) => {
    await holdObjects(tx, workflowId);
    const known = await listKnownObjects(tx, workflowId, [...new Set(changed.map((file) => file.blobId))]);
    const kept = await changeDraft(tx, {
      userId,
      workflowId,
      version: copy.version,
      ...(base === copy.base && copy.version > 0 ? {} : { base }),
      put: changed.map(({ path, blobId, executable, content }) => {
        return { path, blobId, executable, content: known.has(blobId) ? null : content };
      }),
      removed: [...before.keys()].filter((path) => !after.has(path)),
    });
    if (kept !== undefined && base !== null)
      await addDraftConflicts(tx, { userId, workflowId, commitId: base, paths: conflicts });
    return kept;
  });
  if (saved !== undefined) return { kind: "saved", ...saved, base, files };
  const stored = await findDraftWithFiles(db, { userId, workflowId });
  return { kind: "version_moved", version: stored?.draft.version ?? 0 };
}
