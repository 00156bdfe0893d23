import { beforeEach, expect, test } from "@jest/globals";
import { insertObjects } from "../../db/commits/commits.ts";
import { changeDraft, deleteDraft } from "../../db/commits/drafts.ts";
import { deleteObjects } from "../../db/commits/git-objects.ts";
import { queryRows } from "../../db/connect.ts";
import { countExecutionDays } from "../../db/executions/days.ts";
import {
  addUpKeptChanges,
  findKeptFaults,
  getKeptBytes,
  putKeptBytesMax,
  sumKeptBytes,
} from "../../db/executions/kept-bytes.ts";
import { insertOutputs } from "../../db/executions/outputs.ts";
import { expireFiles, expireLogs, removeExecutions } from "../../db/executions/retention.ts";
import { reserve, settle } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { StoredFile } from "../../domain/execution.ts";
import type { AccountId, CommitId, ExecutionId } from "../../domain/ids.ts";
import { createExecutionId } from "../../src/ids.ts";
import { aMember, anAccount, anExecution, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { endEarlier } from "../support/ends.ts";
import { aFileDatabase } from "../support/file-database.ts";

/** Of the commit that every workflow of the builders has: its object is its own id. */
const COMMIT_BYTES = 40;
const { db } = await aFileDatabase();
let accountId: AccountId;
let workflow: TestWorkflow;

beforeEach(async () => {
  accountId = await anAccount(db);
  workflow = await aWorkflow(db, { accountId });
});

function aFile(name: string, bytes: number): StoredFile {
  const sha256 = "0".repeat(64);
  return { name, fileName: `${name}.bin`, storageKey: `executions/${name}`, contentType: "text/plain", bytes, sha256 };
}

/** An execution that was given 100 bytes, made 20 and 3, and printed 7; it ended so many days ago. */
async function anExecutionOf130(days: number): Promise<ExecutionId> {
  const id = createExecutionId();
  await anExecution(db, { id, workflow, files: [aFile("given", 100)] });
  const outputs = { executionId: id, files: [aFile("one", 20), aFile("two", 3)], logKey: `log of ${id}`, logBytes: 7 };
  // An upload that is repeated counts once.
  for (let round = 0; round < 2; round += 1) await insertOutputs(db, outputs);
  await reserve(db, id);
  const [compute, total] = [microCredits(1n), microCredits(1n)];
  await settle(db, { executionId: id, status: "success", secondsUsed: 1, compute, total });
  await endEarlier(db, id, days);
  return id;
}

/** What the executions, and the drafts, of the account keep; its workflow's only commit is `COMMIT_BYTES` besides. */
async function expectKept(kept: number): Promise<void> {
  const bytes = COMMIT_BYTES + kept;
  for (let round = 0; round < 2; round += 1) {
    expect(await getKeptBytes(db, accountId)).toEqual({ bytes, agreedMax: null });
    expect(await findKeptFaults(db)).toEqual([]);
    // Nothing of it changes when it is added up.
    expect(await addUpKeptChanges(db)).toBe(false);
  }
  expect(await queryRows(db, "select 1 from kept_changes")).toEqual([]);
}

test("what an account keeps, from the first file to the last record, is what its executions have in storage", async () => {
  await expectKept(0);
  await anExecutionOf130(10);
  await expectKept(130);
  await anExecutionOf130(40);
  await expectKept(260);
  const days = { files: 30, logs: 60 };
  expect(await expireFiles(db, { days, limit: 10 })).toEqual({ files: 1, logs: 0 });
  await expectKept(137);
  expect(await expireLogs(db, { days: { files: 30, logs: 30 }, limit: 10 })).toEqual({ files: 0, logs: 1 });
  await expectKept(130);
  while (await countExecutionDays(db));
  expect(await removeExecutions(db, { days: 5, limit: 10 })).toBe(2);
  await expectKept(0);
});

test("what an account keeps, changed by many at once while it is added up, is exact", async () => {
  const before = await sumKeptBytes(db);
  let over = false;
  const adding = (async () => {
    while (!over) await addUpKeptChanges(db);
  })();
  await Promise.all(Array.from({ length: 20 }, async (_, index) => anExecutionOf130(index < 10 ? 40 : 1)));
  await Promise.all([
    expireFiles(db, { days: { files: 30, logs: 30 }, limit: 4 }),
    expireFiles(db, { days: { files: 30, logs: 30 }, limit: 100 }),
  ]);
  over = true;
  await adding;
  await expireFiles(db, { days: { files: 30, logs: 30 }, limit: 100 });
  await expectKept(1_300);
  expect(await sumKeptBytes(db)).toBe(before + 1_300);
});

test("what an account keeps, counts contents of commits once, and those of drafts until they are discarded", async () => {
  const { workflowId } = workflow;
  const commit = { id: "1".repeat(40), kind: "commit", content: Buffer.alloc(4) } as const;
  const blob = { id: "2".repeat(40), kind: "blob", content: Buffer.alloc(1_000) } as const;
  const stored = { ...workflow, id: commit.id as CommitId, parentId: workflow.commitId, treeId: blob.id, message: "" };
  const objects = [commit, blob];
  for (let round = 0; round < 2; round += 1)
    await db.transaction((tx) => insertObjects(tx, { ...stored, environment: null, objects }));
  await expectKept(1_004);
  await deleteObjects(db, workflowId, [commit.id, blob.id]);
  await expectKept(0);

  const { userId } = await aMember(db, accountId);
  const entry = (path: string, content: Buffer | null) => ({ path, blobId: blob.id, executable: false, content });
  const put = [entry("a", Buffer.alloc(100)), entry("b", Buffer.alloc(10)), entry("c", null)];
  await changeDraft(db, { userId, workflowId, version: 0, base: null, put, removed: [] });
  await expectKept(110);
  // Another tab's change of a version that is over changes nothing.
  await changeDraft(db, { userId, workflowId, version: 0, put: [entry("d", Buffer.alloc(7))], removed: ["b"] });
  await expectKept(110);
  await changeDraft(db, { userId, workflowId, version: 1, put: [entry("a", Buffer.alloc(30))], removed: ["b"] });
  await expectKept(30);
  await changeDraft(db, {
    userId,
    workflowId,
    version: 2,
    put: [entry("a", null), entry("e", Buffer.alloc(5))],
    removed: [],
  });
  await expectKept(5);
  expect(await deleteDraft(db, { userId, workflowId })).toBe(true);
  await expectKept(0);
});

test("what an account keeps, does not count files that come after they were given up", async () => {
  const id = await anExecutionOf130(40);
  expect(await expireFiles(db, { days: { files: 30, logs: 30 }, limit: 10 })).toEqual({ files: 1, logs: 1 });
  await expectKept(0);
  await insertOutputs(db, { executionId: id, files: [aFile("late", 50)], logKey: `log of ${id}`, logBytes: 9 });
  await expectKept(0);
});

test("what an account keeps, when it is said to be something else, is found", async () => {
  await anExecutionOf130(1);
  await queryRows(db, "update accounts set kept_bytes = kept_bytes + 1 where id = :accountId", { accountId });
  expect(await findKeptFaults(db)).toEqual([{ accountId, due: 170n, actual: 171n }]);
  await queryRows(db, "update accounts set kept_bytes = kept_bytes - 1 where id = :accountId", { accountId });
  await expect(
    queryRows(db, "update accounts set kept_bytes = -1 where id = :accountId", { accountId }),
  ).rejects.toMatchObject({ code: "23514" });
});

test("what an account may keep, is what was agreed, or what everybody may", async () => {
  await putKeptBytesMax(db, accountId, 5);
  expect(await getKeptBytes(db, accountId)).toEqual({ bytes: COMMIT_BYTES, agreedMax: 5 });
  await putKeptBytesMax(db, accountId, null);
  expect(await getKeptBytes(db, accountId)).toEqual({ bytes: COMMIT_BYTES, agreedMax: null });
});
