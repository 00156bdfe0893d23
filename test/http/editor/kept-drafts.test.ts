import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { takeLeftBlobs } from "../../../db/commits/draft-blobs.ts";
import { claimObjects, deleteObjects, holdObjects } from "../../../db/commits/git-objects.ts";
import { queryRows } from "../../../db/connect.ts";
import type { WorkflowId } from "../../../domain/ids.ts";
import { removeOld } from "../../../src/housekeeping/retention.ts";
import { removeDraftBlobs, removeDraftCommits } from "../../../src/publish/kept-drafts.ts";
import { aMember, aWorkflow, type TestMember } from "../../support/builders.ts";
import { waitForLockWait } from "../../support/lock-waits.ts";
import { aFileService } from "../service.ts";
import { aHouse, ask, type House } from "./people.ts";

const CONFIG = "inputs:\n  region: { type: string }\ntriggers:\n  api: { enabled: true }\n";
const LIMIT = 100;

const service = await aFileService();

interface Place {
  readonly house: House;
  readonly workflowId: WorkflowId;
}

async function aPlace(): Promise<Place> {
  const house = await aHouse(service);
  const { workflowId } = await aWorkflow(service.db, { accountId: house.accountId, commit: false });
  return { house, workflowId };
}

async function send(path: string, json: unknown, who: TestMember, status: number, method = "POST") {
  const answer = await ask(service, path, { method, json }, who);
  expect([answer.status, answer.status === status ? "" : answer.text()]).toEqual([status, ""]);
  return answer.json();
}

function save({ workflowId }: Place, who: TestMember, version: number, files: Record<string, string>) {
  const changes = Object.entries(files).map(([path, text]) => ({ path, text }));
  return send(`/api/workflows/${workflowId}/draft`, { version, changes }, who, 200, "PATCH");
}

/** Answers the commit that it is of. */
async function execute(
  { house, workflowId }: Place,
  inputs: unknown = { region: "EU" },
  status = 200,
): Promise<string> {
  await send(`/api/workflows/${workflowId}/draft/execute`, inputs, house.member, status);
  const [row] = await queryRows<{ id: string }>(
    service.db,
    "select id from commits where workflow_id = :workflowId and draft order by created_at desc limit 1",
    { workflowId },
  );
  return row?.id as string;
}

/** As if its drafts had been kept so many hours earlier. */
async function age({ workflowId }: Place, hours: number): Promise<void> {
  await queryRows(
    service.db,
    "update commits set created_at = created_at - make_interval(hours => :hours) where workflow_id = :workflowId and draft",
    { workflowId, hours },
  );
}

async function forgetExecutions({ workflowId }: Place): Promise<void> {
  await queryRows(service.db, "delete from executions where workflow_id = :workflowId", { workflowId });
}

async function textsOf({ workflowId }: Place): Promise<string[]> {
  const rows = await queryRows<{ text: string }>(
    service.db,
    "select convert_from(content, 'UTF8') as text from git_objects where workflow_id = :workflowId and kind = 'blob' order by text",
    { workflowId },
  );
  return rows.map(({ text }) => text);
}

async function countObjects({ workflowId }: Place): Promise<number> {
  return (await queryRows(service.db, "select from git_objects where workflow_id = :workflowId", { workflowId }))
    .length;
}

test("a draft's commit, as long as an execution is of it or it is young, stays; after that it goes with its files", async () => {
  const place = await aPlace();
  await save(place, place.house.member, 0, { "config.yaml": CONFIG, "main.py": "print(1)\n", "lib/a.py": "a\n" });
  await execute(place);
  expect(await removeDraftCommits(service.db, LIMIT)).toBe(0);
  await age(place, 25);
  expect(await removeDraftCommits(service.db, LIMIT)).toBe(0);
  await forgetExecutions(place);
  expect(await countObjects(place)).toBe(6);
  expect(await removeDraftCommits(service.db, LIMIT)).toBe(1);
  expect(await removeDraftCommits(service.db, LIMIT)).toBe(0);
  expect(await countObjects(place)).toBe(0);
  // The draft itself has its files as before.
  const draft = await ask(service, `/api/workflows/${place.workflowId}/draft`, {}, place.house.member);
  expect(draft.json()).toMatchObject({ files: [{ text: CONFIG }, { text: "a\n" }, { text: "print(1)\n" }] });
});

test("a draft's commit, removed, leaves what the latest commit and other drafts have of its files", async () => {
  const place = await aPlace();
  const { member, owner } = place.house;
  const files = {
    "config.yaml": CONFIG,
    "main.py": "print(1)\n",
    "lib/a.py": "a\n",
    "alone.txt": "alone\n",
    "theirs.txt": "theirs\n",
  };
  await save(place, member, 0, files);
  await execute(place);
  // The content of this one is only with the draft's commit.
  await save(place, owner, 0, { "config.yaml": CONFIG, "main.py": "print(3)\n", "copy.txt": "theirs\n" });
  const path = `/api/workflows/${place.workflowId}`;
  await send(
    `${path}/draft`,
    {
      version: 1,
      changes: [
        { path: "main.py", text: "print(2)\n" },
        { path: "alone.txt", delete: true },
        { path: "theirs.txt", delete: true },
      ],
    },
    member,
    200,
    "PATCH",
  );
  await send(`${path}/commits`, { message: "", version: 2, expectedHead: null }, member, 201);
  await age(place, 25);
  await forgetExecutions(place);
  expect(await textsOf(place)).toEqual(["a\n", "alone\n", CONFIG, "print(1)\n", "print(2)\n", "theirs\n"]);
  expect(await removeDraftCommits(service.db, LIMIT)).toBe(1);
  expect(await textsOf(place)).toEqual(["a\n", CONFIG, "print(2)\n", "theirs\n"]);
  // The commit, its tree with the folder in it, and its files but for the one that only the draft has.
  expect(await countObjects(place)).toBe(7);
  const draft = (await ask(service, `${path}/draft`, {}, owner)).json() as { files: { path: string; text: string }[] };
  expect(draft.files.map((file) => [file.path, file.text])).toEqual([
    ["config.yaml", CONFIG],
    ["copy.txt", "theirs\n"],
    ["main.py", "print(3)\n"],
  ]);
  const head = (await ask(service, path, {}, owner)).json()["commitId"];
  expect((await ask(service, `${path}/commits/${String(head)}`, {}, owner)).json()).toMatchObject({
    files: [{ text: CONFIG }, { text: "print(2)\n" }, { text: "a\n" }],
  });
});

test("a draft's commit, that no execution ever was of, goes after a day, by the retention of everything", async () => {
  const place = await aPlace();
  await save(place, place.house.member, 0, { "config.yaml": CONFIG, "main.py": "print(1)\n" });
  await execute(place, { region: 5 }, 400);
  expect(await removeDraftCommits(service.db, LIMIT)).toBe(0);
  await age(place, 25);
  const retention = { keyDays: null, fileDays: null, logDays: null, executionDays: null };
  const removed = await removeOld({ db: service.db, storage: service.storage, retention });
  expect(removed).toMatchObject({ draftCommits: 1, executions: 0 });
});

test("a draft, executed again half a day later as it is, is kept anew: the one before may go meanwhile", async () => {
  const place = await aPlace();
  await save(place, place.house.member, 0, { "config.yaml": CONFIG, "main.py": "print(1)\n" });
  const first = await execute(place);
  expect(await execute(place)).toBe(first);
  await age(place, 13);
  // A commit's id has its time to the second.
  await sleep(1_100);
  expect(await execute(place)).not.toBe(first);
});

test("commits of drafts, while somebody writes to the workflow, are left for the next time", async () => {
  const place = await aPlace();
  await save(place, place.house.member, 0, { "config.yaml": CONFIG, "main.py": "print(1)\n" });
  await execute(place);
  await age(place, 25);
  await forgetExecutions(place);
  const writing = await service.db.transaction();
  await holdObjects(writing, place.workflowId);
  expect(await removeDraftCommits(service.db, LIMIT)).toBe(0);
  await writing.commit();
  expect(await removeDraftCommits(service.db, LIMIT)).toBe(1);
});

test("commits of drafts, more than a batch, are removed batch by batch, of all workflows", async () => {
  for (let count = 0; count < 3; count += 1) {
    const place = await aPlace();
    await save(place, place.house.member, 0, { "config.yaml": CONFIG, "main.py": "print(1)\n" });
    await execute(place);
    await save(place, place.house.member, 1, { "main.py": "print(2)\n" });
    await execute(place);
    await age(place, 25);
    await forgetExecutions(place);
  }
  expect(await removeDraftCommits(service.db, 4)).toBe(4);
  expect(await removeDraftCommits(service.db, 4)).toBe(2);
});

/** A place where the owner's draft names contents that the commit of the member's draft had, which is gone. */
async function aPlaceOfOneDraft(): Promise<Place & { path: string }> {
  const place = await aPlace();
  const { member, owner } = place.house;
  const path = `/api/workflows/${place.workflowId}/draft`;
  await save(place, member, 0, {
    "config.yaml": CONFIG,
    "main.py": "print(1)\n",
    "one.txt": "one\n",
    "two.txt": "two\n",
  });
  await execute(place);
  await save(place, owner, 0, { "config.yaml": CONFIG, "1.txt": "one\n", "2.txt": "two\n", "main.py": "print(2)\n" });
  await ask(service, path, { method: "DELETE" }, member);
  await age(place, 25);
  await forgetExecutions(place);
  expect(await removeDraftCommits(service.db, LIMIT)).toBe(1);
  expect(await textsOf(place)).toEqual([CONFIG, "one\n", "two\n"]);
  return { ...place, path };
}

async function readTexts({ house }: Place, path: string): Promise<string[]> {
  const { files } = (await ask(service, path, {}, house.owner)).json() as { files: { text: string }[] };
  return files.map(({ text }) => text);
}

test("content that only a draft names, goes when the draft has something else there, and stays when it is committed", async () => {
  const place = await aPlaceOfOneDraft();
  const { path, house } = place;
  expect(await removeDraftBlobs(service.db, LIMIT)).toBe(0);
  await save(place, house.owner, 1, { "1.txt": "another\n" });
  expect(await removeDraftBlobs(service.db, LIMIT)).toBe(1);
  expect(await textsOf(place)).toEqual([CONFIG, "two\n"]);
  expect(await readTexts(place, path)).toEqual(["another\n", "two\n", CONFIG, "print(2)\n"]);
  const commits = path.replace(/draft$/, "commits");
  const { commitId } = await send(commits, { message: "", version: 2, expectedHead: null }, house.owner, 201);
  expect(await removeDraftBlobs(service.db, LIMIT)).toBe(0);
  expect((await ask(service, `${commits}/${String(commitId)}`, {}, house.owner)).json()).toMatchObject({
    files: [{ text: "another\n" }, { text: "two\n" }, { text: CONFIG }, { text: "print(2)\n" }],
  });
  // What a commit has again is not looked at once more.
  const notes = "select from draft_blobs where workflow_id = :workflowId";
  expect(await queryRows(service.db, notes, { workflowId: place.workflowId })).toEqual([]);
});

test("content that only a draft names, goes after the draft is discarded, batch by batch, but not while somebody writes", async () => {
  const place = await aPlaceOfOneDraft();
  await ask(service, place.path, { method: "DELETE" }, place.house.owner);
  const writing = await service.db.transaction();
  await holdObjects(writing, place.workflowId);
  expect(await removeDraftBlobs(service.db, LIMIT)).toBe(0);
  await writing.commit();
  expect(await removeDraftBlobs(service.db, 2)).toBe(2);
  const retention = { keyDays: null, fileDays: null, logDays: null, executionDays: null };
  const removed = await removeOld({ db: service.db, storage: service.storage, retention });
  expect(removed).toMatchObject({ draftBlobs: 1, draftCommits: 0 });
  expect(await countObjects(place)).toBe(0);
});

test("content that only a draft names, of whoever left the account, goes, too", async () => {
  const place = await aPlaceOfOneDraft();
  // An account with members keeps an owner.
  await aMember(service.db, place.house.accountId);
  await queryRows(service.db, "delete from users where id = :userId", { ...place.house.owner });
  expect(await removeDraftBlobs(service.db, LIMIT)).toBe(3);
  expect(await countObjects(place)).toBe(0);
});

test("a draft, saved with a content while that is being removed, has it itself", async () => {
  const place = await aPlaceOfOneDraft();
  const { member, owner } = place.house;
  await ask(service, place.path, { method: "DELETE" }, owner);
  const removing = await service.db.transaction();
  expect(await claimObjects(removing, place.workflowId)).toBe(true);
  const left = await takeLeftBlobs(removing, { workflowId: place.workflowId, limit: LIMIT });
  expect(left).toHaveLength(3);
  const saved = save(place, member, 0, { "again.txt": "one\n" });
  await waitForLockWait(service.db);
  await deleteObjects(removing, place.workflowId, left);
  await removing.commit();
  await saved;
  const { files } = (await ask(service, place.path, {}, member)).json() as { files: { path: string; text: string }[] };
  expect(files.map((file) => [file.path, file.text])).toEqual([["again.txt", "one\n"]]);
});
