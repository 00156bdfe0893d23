import { expect, test } from "@jest/globals";
import { putKeptBytesMax } from "../../db/executions/kept-bytes.ts";
import { expireFiles, expireLogs } from "../../db/executions/retention.ts";
import type { AccountId } from "../../domain/ids.ts";
import { aMember, anAccount, aWorkflow } from "../support/builders.ts";
import { endEarlier } from "../support/ends.ts";
import { anEditor, commit, FILES, MANIFEST, PROGRAM, save } from "./editor/callers.ts";
import { aFileService, anEndedExecution, execute, findLeftovers } from "./service.ts";

const ALLOWED = 1_000;
/** Of the commit of a workflow of the builders. */
const COMMIT_BYTES = 40;
const OUTPUT = "x".repeat(ALLOWED - COMMIT_BYTES);
const service = await aFileService({ keptBytesMax: ALLOWED, contact: "the operator of this test" });

async function readStorage(accountId: AccountId): Promise<{ bytes: number; bytesMax: number | null }> {
  const { cookie } = await aMember(service.db, accountId);
  const answer = await service.call("/api/account", { headers: { cookie } });
  return (answer.json() as { storage: { bytes: number; bytesMax: number | null } }).storage;
}

test("an account that keeps as much as it may, is refused 507 by key and in person, and runs again when old files are removed", async () => {
  const { db } = service;
  const accountId = await anAccount(db);
  const workflow = await aWorkflow(db, { accountId });
  expect((await execute(service, workflow)).status).toBe(200);
  const old = await anEndedExecution(service, workflow, { outputs: { "out.bin": { content: OUTPUT } } });
  expect(await readStorage(accountId)).toEqual({ bytes: ALLOWED, bytesMax: ALLOWED, agreedMax: null });

  const before = await findLeftovers(service);
  const startedBefore = service.started.length;
  const { cookie } = await aMember(db, accountId);
  const inPerson = { cookie, "sec-fetch-site": "same-origin", "content-type": "application/json" };
  const path = `/api/workflows/${workflow.workflowId}/execute`;
  const answers = [
    await execute(service, workflow),
    await service.call(path, { method: "POST", headers: inPerson, body: "{}" }),
  ];
  for (const answer of answers)
    expect([answer.status, answer.json()]).toEqual([
      507,
      {
        error: "Storage full",
        message:
          "The account keeps 1 kB of files, logs, commits and drafts, and may keep 1 kB. Nothing was started or committed. Wait until old files are removed, or ask the operator of this test for more.",
        kept: ALLOWED,
        allowed: ALLOWED,
      },
    ]);
  expect([await findLeftovers(service), service.started.length]).toEqual([before, startedBefore]);
  // Others are none the worse for it.
  expect((await execute(service, await aWorkflow(db))).status).toBe(200);

  await endEarlier(db, old, 31);
  const days = { files: 30, logs: 30 };
  await expireFiles(db, { days, limit: 10 });
  await expireLogs(db, { days, limit: 10 });
  expect(await readStorage(accountId)).toEqual({ bytes: COMMIT_BYTES, bytesMax: ALLOWED, agreedMax: null });
  expect((await execute(service, workflow)).status).toBe(200);
});

test("an account that keeps as much as it may, saves drafts and mends its workflow, runs nothing, and commits a tenth beyond at most", async () => {
  const editor = await anEditor(service);
  const { accountId } = editor;
  const { path } = await editor.create();
  const { commitId: head } = await commit(editor, path, FILES, null);
  const version = await save(editor, path, [{ path: "main.py", text: PROGRAM.repeat(20) }]);
  const full = (await readStorage(accountId)).bytes;
  expect(full).toBeGreaterThan(PROGRAM.length * 21 + MANIFEST.length);
  const commitDraft = () => editor.post(`${path}/commits`, { message: "", version, expectedHead: head });
  // Of which a tenth more is what is kept.
  const tenth = Math.floor(full / 1.1);
  await putKeptBytesMax(service.db, accountId, tenth);
  for (const answer of await Promise.all([
    commitDraft(),
    editor.post(`${path}/commits/${head}/restore`, { expectedHead: head }),
    editor.post("workflows", { name: "Another" }),
  ]))
    expect([answer.status, answer.json()]).toMatchObject([507, { kept: full, allowed: Math.floor(tenth * 1.1) }]);
  await putKeptBytesMax(service.db, accountId, full);
  const executed = await editor.post(`${path}/draft/execute`, {});
  expect([executed.status, executed.json()]).toMatchObject([507, { kept: full, allowed: full }]);
  expect((await readStorage(accountId)).bytes).toBe(full);
  // What somebody has written is not lost: a draft has a bound of its own.
  expect(await save(editor, path, [{ path: "notes.md", text: "12345" }])).toBe(version + 1);
  expect(await readStorage(accountId)).toEqual({ bytes: full + 5, bytesMax: full, agreedMax: full });
  expect((await editor.delete(`${path}/draft`)).status).toBe(200);
  expect((await readStorage(accountId)).bytes).toBe(full - PROGRAM.length * 20);
  expect((await editor.post("workflows", { name: "Another" })).status).toBe(201);
  await putKeptBytesMax(service.db, accountId, full - PROGRAM.length * 20);
  expect(await commit(editor, path, [{ path: "main.py", text: `${PROGRAM}#` }], head)).toMatchObject({ status: 201 });
});

test("an account with which more was agreed, or no bound, runs beyond that of everybody", async () => {
  const { db } = service;
  const accountId = await anAccount(db);
  const workflow = await aWorkflow(db, { accountId });
  await anEndedExecution(service, workflow, { outputs: { "out.bin": { content: OUTPUT } } });
  expect((await execute(service, workflow)).status).toBe(507);
  await putKeptBytesMax(db, accountId, ALLOWED + 1);
  expect((await execute(service, workflow)).status).toBe(200);
  expect(await readStorage(accountId)).toEqual({ bytes: ALLOWED, bytesMax: ALLOWED + 1, agreedMax: ALLOWED + 1 });
  await putKeptBytesMax(db, accountId, 0);
  expect((await execute(service, workflow)).status).toBe(200);
  expect(await readStorage(accountId)).toEqual({ bytes: ALLOWED, bytesMax: null, agreedMax: 0 });
});

test("a call that is repeated under its key, is answered although the storage is full by then", async () => {
  const { db } = service;
  const accountId = await anAccount(db);
  const workflow = await aWorkflow(db, { accountId });
  const headers = { "idempotency-key": "once" };
  const first = await execute(service, workflow, {}, headers);
  await anEndedExecution(service, workflow, { outputs: { "out.bin": { content: OUTPUT } } });
  const again = await execute(service, workflow, {}, headers);
  expect([first.status, again.status, again.json()]).toEqual([200, 200, first.json()]);
});
