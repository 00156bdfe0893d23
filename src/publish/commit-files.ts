import { findCommit, findObjects } from "../../db/commits/commits.ts";
import type { Db } from "../../db/connect.ts";
import type { CommitId, WorkflowId } from "../../domain/ids.ts";
import { type CommitFile, parseTree } from "./git-objects.ts";

/** Blobs fetched in one statement: bounds the memory of reading a commit. */
const BLOBS_PER_FETCH = 50;

export type ReadCommitFiles = (workflowId: WorkflowId, commitId: CommitId) => AsyncIterable<CommitFile>;

/** Reads the files of stored commits, folder by folder. Throws when the commit, or an object it names, is not there. */
export function createCommitReader(db: Db): ReadCommitFiles {
  return async function* readCommitFiles(workflowId, commitId) {
    const commit = await findCommit(db, workflowId, commitId);
    if (commit === undefined) throw new Error(`${workflowId} has no commit ${commitId}.`);
    let blobs: { path: string; executable: boolean; id: string }[] = [];
    for await (const entry of walkTree(db, workflowId, commit.treeId)) {
      blobs.push(entry);
      if (blobs.length === BLOBS_PER_FETCH) {
        yield* await readBlobs(db, workflowId, blobs);
        blobs = [];
      }
    }
    yield* await readBlobs(db, workflowId, blobs);
  };
}

/** Every file of a tree with the id of its blob, without the content: one statement for each level of folders. */
export async function* walkTree(
  db: Db,
  workflowId: WorkflowId,
  treeId: string,
): AsyncIterable<{ path: string; executable: boolean; id: string }> {
  let level = [{ prefix: "", id: treeId }];
  while (level.length > 0) {
    const trees = await getContents(
      db,
      workflowId,
      level.map((folder) => folder.id),
    );
    const below: typeof level = [];
    for (const { prefix, id } of level) {
      for (const entry of parseTree(trees.get(id) as Buffer)) {
        const path = prefix + entry.name;
        if (entry.kind === "folder") below.push({ prefix: `${path}/`, id: entry.id });
        else yield { path, executable: entry.executable, id: entry.id };
      }
    }
    level = below;
  }
}

async function readBlobs(
  db: Db,
  workflowId: WorkflowId,
  entries: readonly { path: string; executable: boolean; id: string }[],
): Promise<CommitFile[]> {
  const contents = await getContents(
    db,
    workflowId,
    entries.map((entry) => entry.id),
  );
  return entries.map(({ path, executable, id }) => ({ path, executable, content: contents.get(id) as Buffer }));
}

async function getContents(db: Db, workflowId: WorkflowId, ids: readonly string[]): Promise<Map<string, Buffer>> {
  const contents = new Map<string, Buffer>();
  if (ids.length === 0) return contents;
  for (const object of await findObjects(db, workflowId, ids)) contents.set(object.id, object.content);
  const missing = ids.find((id) => !contents.has(id));
  if (missing !== undefined) throw new Error(`${workflowId} lacks the git object ${missing}: its commit is damaged.`);
  return contents;
}
