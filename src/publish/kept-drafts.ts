import { findObjects } from "../../db/commits/commits.ts";
import {
  listBlobsOfDrafts,
  listWorkflowsWithLeftBlobs,
  noteDraftBlobs,
  takeLeftBlobs,
} from "../../db/commits/draft-blobs.ts";
import { deleteUnusedDrafts, listUnusedDrafts } from "../../db/commits/draft-commits.ts";
import { claimObjects, deleteObjects, listNamedObjects, listTrees } from "../../db/commits/git-objects.ts";
import type { Db } from "../../db/connect.ts";
import type { WorkflowId } from "../../domain/ids.ts";
import { parseTree } from "./git-objects.ts";

/** Trees read in one statement: bounds the memory of a removal. */
const TREES_PER_FETCH = 200;

/**
 * Removes commits of drafts that were executed and that no execution has any more, at most `limit`. Their files go with
 * them, unless another commit or draft has them. Returns how many commits. What only a draft still names is noted, for
 * `removeDraftBlobs`. A workflow that is committed to or written at this moment is left for the next time.
 */
export async function removeDraftCommits(db: Db, limit: number): Promise<number> {
  let removed = 0;
  for (const workflowId of await listUnusedDrafts(db, limit)) {
    if (removed === limit) break;
    removed += await db.transaction(async (tx) => removeFrom(tx, { workflowId, limit: limit - removed }));
  }
  return removed;
}

async function removeFrom(tx: Db, { workflowId, limit }: { workflowId: WorkflowId; limit: number }): Promise<number> {
  if (!(await claimObjects(tx, workflowId))) return 0;
  const commits = await deleteUnusedDrafts(tx, { workflowId, limit });
  if (commits.length === 0) return 0;
  const trees = await readTrees(
    tx,
    workflowId,
    commits.map(({ treeId }) => treeId),
  );
  const unneeded = new Set([...commits.map(({ id }) => id), ...trees.keys(), ...[...trees.values()].flat()]);
  await keepNeeded(tx, workflowId, { unneeded, trees });
  const drafted = await listBlobsOfDrafts(tx, workflowId, [...unneeded]);
  await noteDraftBlobs(tx, workflowId, drafted);
  for (const id of drafted) unneeded.delete(id);
  await deleteObjects(tx, workflowId, [...unneeded]);
  return commits.length;
}

/**
 * Removes contents of files that only drafts still named when their commit went. They go once those drafts are gone or
 * have other files, at most `limit`. Returns how many. One that a commit has again stays. A workflow that is committed
 * to or written at this moment is left for the next time.
 */
export async function removeDraftBlobs(db: Db, limit: number): Promise<number> {
  let removed = 0;
  for (const workflowId of await listWorkflowsWithLeftBlobs(db, limit)) {
    if (removed === limit) break;
    removed += await db.transaction(async (tx) => removeBlobsOf(tx, { workflowId, limit: limit - removed }));
  }
  return removed;
}

async function removeBlobsOf(
  tx: Db,
  { workflowId, limit }: { workflowId: WorkflowId; limit: number },
): Promise<number> {
  if (!(await claimObjects(tx, workflowId))) return 0;
  const unneeded = new Set(await takeLeftBlobs(tx, { workflowId, limit }));
  if (unneeded.size === 0) return 0;
  await keepNeeded(tx, workflowId, { unneeded, trees: new Map() });
  await deleteObjects(tx, workflowId, [...unneeded]);
  return unneeded.size;
}

/** These trees and those below them, each with the objects it names. */
async function readTrees(
  tx: Db,
  workflowId: WorkflowId,
  roots: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const trees = new Map<string, readonly string[]>();
  let level = [...new Set(roots)];
  while (level.length > 0) {
    const below = new Set<string>();
    for (let at = 0; at < level.length; at += TREES_PER_FETCH) {
      for (const { id, content } of await findObjects(tx, workflowId, level.slice(at, at + TREES_PER_FETCH))) {
        const entries = parseTree(content);
        trees.set(
          id,
          entries.map((entry) => entry.id),
        );
        for (const entry of entries) if (entry.kind === "folder") below.add(entry.id);
      }
    }
    level = [...below].filter((id) => !trees.has(id));
  }
  return trees;
}

/** Takes out of `unneeded` what commits and trees that stay name, and what is below that. */
async function keepNeeded(
  tx: Db,
  workflowId: WorkflowId,
  { unneeded, trees }: { unneeded: Set<string>; trees: ReadonlyMap<string, readonly string[]> },
): Promise<void> {
  const keep = (id: string): void => {
    if (unneeded.delete(id)) for (const entry of trees.get(id) ?? []) keep(entry);
  };
  for (const id of await listNamedObjects(tx, workflowId, [...unneeded])) keep(id);
  let after = "";
  for (;;) {
    const page = await listTrees(tx, { workflowId, after, limit: TREES_PER_FETCH });
    for (const { id, content } of page) if (!trees.has(id)) for (const entry of parseTree(content)) keep(entry.id);
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}
