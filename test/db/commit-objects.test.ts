import { createHash } from "node:crypto";
import { expect, test } from "@jest/globals";
import { findObjects, publishCommit } from "../../db/commits/commits.ts";
import type { GitObject } from "../../db/commits/git-objects.ts";
import type { CommitId } from "../../domain/ids.ts";
import { aManifest, aWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const database = await aFileDatabase();

function anObject(kind: GitObject["kind"], content: Buffer): GitObject {
  return { id: createHash("sha1").update(kind).update(content).digest("hex"), kind, content };
}

test("publishCommit, of many objects, large, empty and repeated ones, stores each byte for byte, and again without harm", async () => {
  const { db } = database;
  const { workflowId, commitId: parentId } = await aWorkflow(db);
  const blobs = Array.from({ length: 1_203 }, (_, index) => anObject("blob", Buffer.from(`\0${index}"\\{},é\n`)));
  const large = [1_500_000, 999_999, 2].map((bytes) => anObject("blob", Buffer.alloc(bytes, bytes % 251)));
  const [tree, commit] = [anObject("tree", Buffer.alloc(0)), anObject("commit", Buffer.from("c"))];
  const objects = [...blobs, ...large, ...blobs.slice(0, 7), tree, commit];
  const given = { workflowId, parentId, treeId: tree.id, message: "many", manifest: aManifest(), environment: null };
  const publish = (of: Partial<typeof given>) =>
    db.transaction((tx) => publishCommit(tx, { ...given, ...of, id: commit.id as CommitId, objects }));
  expect(await publish({})).toEqual({ kind: "published" });
  expect(await publish({ parentId: commit.id as CommitId })).toEqual({ kind: "published" });
  const ids = [...new Set(objects.map(({ id }) => id))];
  const stored = new Map((await findObjects(db, workflowId, ids)).map((object) => [object.id, object]));
  expect(stored.size).toBe(1_203 + 3 + 2);
  const differing = objects.filter(({ id, kind, content }) => {
    const found = stored.get(id);
    return found === undefined || found.kind !== kind || !content.equals(found.content);
  });
  expect(differing).toEqual([]);
});
