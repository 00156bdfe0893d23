import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { findMoneyFaults } from "../../db/ledger/audit.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { type Retention, removeOld, startRetention } from "../../src/housekeeping/retention.ts";
import { createLog } from "../../src/log.ts";
import { aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { endEarlier } from "../support/ends.ts";
import type { Answer, Call } from "../support/https.ts";
import { aFileService, anEndedExecution, execute } from "./service.ts";

const FOR_EVER: Retention = { keyDays: null, fileDays: null, logDays: null, executionDays: null };
const LINE = `${JSON.stringify({ id: 1, time: "2026-01-01T00:00:00.000Z", stream: "stdout", text: "hello" })}\n`;

let workflow: TestWorkflow;

const service = await aFileService();

beforeAll(async () => {
  workflow = await aWorkflow(service.db);
});

function ask(id: ExecutionId, path = "", call: Call = {}): Promise<Answer> {
  const headers = { "x-api-key": workflow.apiKey, ...call.headers };
  return service.call(`/api/run-logs/${id}${path}`, { ...call, headers });
}

const age = (id: ExecutionId, days: number): Promise<void> => endEarlier(service.db, id, days);

function remove(retention: Partial<Retention>) {
  return removeOld({ db: service.db, storage: service.storage, retention: { ...FOR_EVER, ...retention } });
}

async function anOldExecution(): Promise<ExecutionId> {
  const outputs = { "a.txt": { content: "0123456789" }, "empty.txt": { content: "" } };
  const id = await anEndedExecution(service, workflow, { outputs, log: [LINE] });
  await age(id, 31);
  return id;
}

const GONE = { error: "Not found", message: expect.stringContaining("no longer kept") };

test("files and logs, when their days are over, are said to be gone on every way to them", async () => {
  const id = await anOldExecution();
  const before = (await ask(id)).json();
  expect(before).not.toHaveProperty("filesRemovedAt");
  const tag = (await ask(id, "/files/a.txt")).headers.etag ?? "";
  expect((await ask(id, "/files/a.txt")).text()).toBe("0123456789");
  const link = (await ask(id, "/files/a.txt/link", { method: "POST" })).json()["url"] as string;
  await remove({ fileDays: 30, logDays: 30 });

  const answers = await Promise.all([
    ask(id, "/files/a.txt"),
    ask(id, "/files/empty.txt"),
    ask(id, "/files/a.txt", { headers: { range: "bytes=0-1" } }),
    ask(id, "/files/a.txt", { headers: { "if-none-match": tag } }),
    ask(id, "/files/a.txt/link", { method: "POST" }),
    service.call(link),
    ask(id, "/logs"),
    ask(id, "/logs", { headers: { accept: "text/event-stream" } }),
  ]);
  expect(answers.map((answer) => [answer.status, answer.json()])).toEqual(answers.map(() => [404, GONE]));
  for (const path of ["/files/a.txt", "/files/empty.txt", "/logs"])
    expect((await ask(id, path, { method: "HEAD" })).status).toBe(404);
  const removedAt = expect.stringMatching(/^\d{4}-.*Z$/);
  expect((await ask(id)).json()).toEqual({ ...before, filesRemovedAt: removedAt, logRemovedAt: removedAt });
});

test("a log, when only files are removed, is there as before, and the other way round", async () => {
  const [withLog, withFiles] = [await anOldExecution(), await anOldExecution()];
  await age(withFiles, 10);
  await remove({ logDays: 40 });
  expect((await ask(withFiles, "/logs")).status).toBe(404);
  expect((await ask(withFiles, "/files/a.txt")).text()).toBe("0123456789");
  await remove({ fileDays: 30 });
  expect((await ask(withLog, "/files/a.txt")).status).toBe(404);
  expect((await ask(withLog, "/logs")).text()).toContain("hello");
  expect((await ask(withLog, "/logs", { headers: { accept: "text/event-stream" } })).text()).toMatch(
    /hello[^]*event: result\ndata: .*filesRemovedAt/,
  );
});

test("executions, when their days are over, are unknown, and their charges stay", async () => {
  const id = await anOldExecution();
  await remove({ executionDays: 30 });
  const unknown = { error: "Not found", message: "There is no execution with this id." };
  for (const path of ["", "/logs", "/files/a.txt"]) {
    const answer = await ask(id, path);
    expect([answer.status, answer.json()]).toEqual([404, unknown]);
  }
  expect((await ask(id, "/cancel", { method: "POST" })).status).toBe(404);
  expect(await queryRows(service.db, "select amount from ledger_entries where execution_id = :id", { id })).toEqual([
    { amount: -51_000n },
  ]);
  expect(await findMoneyFaults(service.db)).toEqual([]);
});

test("a call, repeated under a key that is kept, has its answer as long as the key is, whatever else is removed", async () => {
  const key = { "idempotency-key": "kept" };
  const first = await execute(service, workflow, {}, key);
  const id = first.json()["executionId"] as ExecutionId;
  await age(id, 400);
  await remove({ keyDays: 500, fileDays: 30, logDays: 30, executionDays: 365 });
  const again = await execute(service, workflow, {}, key);
  expect([again.status, again.headers["idempotent-replayed"], again.text()]).toEqual([200, "true", first.text()]);
  const all = { keyDays: 300, fileDays: 30, logDays: 30, executionDays: 365 };
  await remove(all);
  await remove(all);
  const anew = await execute(service, workflow, {}, key);
  expect([anew.status, anew.headers["idempotent-replayed"]]).toEqual([200, undefined]);
  expect(anew.json()["executionId"]).not.toBe(id);
  expect((await ask(id)).status).toBe(404);
});

test("startRetention, with something old, adds up what it removed, from nothing on", async () => {
  await remove({ fileDays: 30, logDays: 30 });
  await anOldExecution();
  const retention = startRetention({
    db: service.db,
    storage: service.storage,
    retention: { ...FOR_EVER, fileDays: 30, logDays: 30 },
    log: createLog({ level: "silent", terminal: false }),
  });
  try {
    expect([...new Set(Object.values(retention.removed()))]).toEqual([0]);
    const deadline = Date.now() + 30_000;
    while (retention.removed().objects < 3 && Date.now() < deadline) await sleep(10);
    expect(retention.removed()).toMatchObject({ executions: 0, files: 1, logs: 1, objects: 3 });
  } finally {
    await retention.close();
  }
});
