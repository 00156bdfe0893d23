import { expect, test } from "@jest/globals";
import { addDraftConflicts, listDraftConflicts } from "../../db/commits/draft-conflicts.ts";
import {
  changeDraft,
  concludeDraft,
  type DraftKey,
  deleteDraft,
  findDraftWithFiles,
  type NewDraftEntry,
} from "../../db/commits/drafts.ts";
import { queryRows } from "../../db/connect.ts";
import type { CommitId } from "../../domain/ids.ts";
import { readChange } from "../../src/publish/draft-changes.ts";
import { saveDraft } from "../../src/publish/drafts.ts";
import { createTree } from "../../src/publish/git-objects.ts";
import { aCommit, aManifest, aMember, aWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const { db } = await aFileDatabase();
/** A user and a workflow with one commit. */
async function aKey(): Promise<DraftKey & { commitId: CommitId }> {
  const { workflowId, accountId, commitId } = await aWorkflow(db);
  const { userId } = await aMember(db, accountId);
  return { userId, workflowId, commitId };
}

function anEntry(path: string, text = path): NewDraftEntry {
  const content = Buffer.from(text);
  const { objects } = createTree([{ path: "file", content, executable: false }]);
  const blobId = objects.find(({ kind }) => kind === "blob")?.id as string;
  return { path, blobId, content, executable: false };
}

async function versionOf(key: DraftKey): Promise<number | undefined> {
  return (await findDraftWithFiles(db, key))?.draft.version;
}

test("changeDraft, of many at once on one version, lets one of them change it, files and all", async () => {
  const key = await aKey();
  for (const version of [0, 1]) {
    const saved = await Promise.all(
      Array.from({ length: 10 }, (_none, tab) =>
        changeDraft(db, { ...key, version, base: null, put: [anEntry(`${version}-${tab}`)], removed: [] }),
      ),
    );
    expect(saved.filter((each) => each !== undefined)).toMatchObject([{ version: version + 1 }]);
    expect((await findDraftWithFiles(db, key))?.files).toHaveLength(version + 1);
  }
});

test("changeDraft, on a version that is not the stored one, changes nothing", async () => {
  const key = await aKey();
  await changeDraft(db, { ...key, version: 0, base: key.commitId, put: [anEntry("a")], removed: [] });
  for (const version of [0, 2])
    expect(
      await changeDraft(db, { ...key, version, base: null, put: [anEntry("a", "other")], removed: ["a"] }),
    ).toBeUndefined();
  const found = await findDraftWithFiles(db, key);
  expect(found?.draft).toMatchObject({ version: 1, base: key.commitId });
  expect(found?.files.map(({ content }) => content.toString())).toEqual(["a"]);
});

test("changeDraft, without a base, keeps the one there is; with one, takes it", async () => {
  const key = await aKey();
  await changeDraft(db, { ...key, version: 0, base: null, put: [], removed: [] });
  await changeDraft(db, { ...key, version: 1, base: key.commitId, put: [], removed: [] });
  await changeDraft(db, { ...key, version: 2, put: [anEntry("x")], removed: [] });
  expect((await findDraftWithFiles(db, key))?.draft).toMatchObject({ version: 3, base: key.commitId });
});

test("concludeDraft, of the version that was committed, forgets the draft; of one that went on, lets it begin with the commit", async () => {
  const [still, moved] = [await aKey(), await aKey()];
  for (const key of [still, moved])
    await changeDraft(db, { ...key, version: 0, base: null, put: [anEntry("a")], removed: [] });
  await changeDraft(db, { ...moved, version: 1, put: [anEntry("b")], removed: [] });
  for (const key of [still, moved]) {
    const draft = (await findDraftWithFiles(db, key))?.draft;
    await concludeDraft(db, { id: draft?.id as bigint, version: 1, commitId: key.commitId });
  }
  expect(await findDraftWithFiles(db, still)).toBeUndefined();
  const found = await findDraftWithFiles(db, moved);
  expect(found?.draft).toMatchObject({ version: 2, base: moved.commitId });
  expect(found?.files.map(({ path }) => path)).toEqual(["a", "b"]);
  const [row] = await queryRows<{ files: number }>(
    db,
    "select count(*)::int as files from draft_files where workflow_id = :workflowId",
    { workflowId: still.workflowId },
  );
  expect(row?.files).toBe(0);
});

test("concludeDraft, of a draft that went on, leaves nothing of it to be decided", async () => {
  const key = await aKey();
  const { commitId } = key;
  for (const version of [0, 1])
    await changeDraft(db, {
      ...key,
      version,
      base: commitId,
      put: [anEntry("a", String(version))],
      removed: [],
    });
  await addDraftConflicts(db, { ...key, paths: ["a", "b"] });
  const id = (await findDraftWithFiles(db, key))?.draft.id as bigint;
  await concludeDraft(db, { id: id + 1n, version: 1, commitId });
  expect(await listDraftConflicts(db, key)).toEqual(["a", "b"].map((path) => ({ path, commitId })));
  await concludeDraft(db, { id, version: 1, commitId });
  expect(await listDraftConflicts(db, key)).toEqual([]);
  expect(await versionOf(key)).toBe(2);
});

test("concludeDraft, of a draft that was discarded and begun again meanwhile, leaves the new one alone", async () => {
  const key = await aKey();
  await changeDraft(db, { ...key, version: 0, base: null, put: [], removed: [] });
  const id = (await findDraftWithFiles(db, key))?.draft.id as bigint;
  expect(await deleteDraft(db, key)).toBe(true);
  for (const version of [0, 1])
    await changeDraft(db, { ...key, version, base: null, put: [anEntry("new")], removed: [] });
  await concludeDraft(db, { id, version: 1, commitId: key.commitId });
  await concludeDraft(db, { id, version: 2, commitId: key.commitId });
  expect((await findDraftWithFiles(db, key))?.draft).toMatchObject({ version: 2, base: null });
});

test("saveDraft, of a workflow with a large file, stores what is new and no copy of what a commit has", async () => {
  const key = await aKey();
  const large = { path: "large.bin", content: Buffer.alloc(100_000, 7), executable: false };
  const { treeId, objects } = createTree([large]);
  for (const object of objects)
    await queryRows(
      db,
      "insert into git_objects (workflow_id, id, kind, content) values (:workflowId, :id, :kind, :content)",
      { workflowId: key.workflowId, ...object },
    );
  const head = await aCommit(db, {
    workflowId: key.workflowId,
    parentId: key.commitId,
    manifest: aManifest(),
  });
  await queryRows(db, "update commits set tree_id = :treeId where id = :head", { treeId, head });
  const saved = await saveDraft(db, {
    ...key,
    head,
    version: 0,
    changes: [readChange({ path: "new.txt", text: "new" }), { path: "large.bin", renameTo: "renamed.bin" }],
  });
  expect(saved).toMatchObject({ kind: "saved", version: 1 });
  const rows = await queryRows<{ path: string; stored: number | null }>(
    db,
    "select path, octet_length(content) as stored from draft_files where user_id = :userId order by path",
    { userId: key.userId },
  );
  expect(rows).toEqual([
    { path: "new.txt", stored: 3 },
    { path: "renamed.bin", stored: null },
  ]);
  const found = await findDraftWithFiles(db, key);
  expect(found?.files.map(({ content }) => content.length)).toEqual([3, 100_000]);
  expect(await versionOf(key)).toBe(1);
});
