import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createListener, type Db, queryRows } from "../../db/connect.ts";
import { EXECUTION_ENDED, release } from "../../db/credits.ts";
import { CANCEL_REQUESTED, requestCancel } from "../../db/executions.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { createExecutionId } from "../../src/ids.ts";
import { createWaiters } from "../../src/waiters.ts";
import { anExecution, aWorkflow } from "../support/builders.ts";
import { aDatabase, type TestDatabase } from "../support/postgres.ts";

/** Less than the five seconds after which the record is looked at in any case. */
const SOON_MS = 4_500;
const LATER_MS = 20_000;

let database: TestDatabase;
let db: Db;
let listeners = 0;

beforeAll(async () => {
  database = await aDatabase();
  db = database.db;
});

afterAll(async () => {
  await database?.drop();
});

/** Waiters whose session can be found by its name in the database. */
async function openWaiters() {
  const name = `listener ${(listeners += 1)}`;
  const notices: string[] = [];
  const faults: unknown[] = [];
  /** Whom the record was asked about. */
  const asked: unknown[] = [];
  const raw = (sql: string, bindings: Record<string, string>) => {
    asked.push(bindings["ids"]);
    return db.raw(sql, bindings);
  };
  const waiters = createWaiters({
    db: { raw } as unknown as Db,
    openSession: () => createListener(database.address, name),
    notices: [{ channel: CANCEL_REQUESTED, receive: (payload) => notices.push(payload) }],
    onFault: (error) => faults.push(error),
  });
  await until(async () => (await findSession(name))?.listens === true);
  return { waiters, name, notices, faults, asked };
}

/** The session of waiters; `listens` once it has asked for its last channel. */
async function findSession(name: string): Promise<{ pid: number; listens: boolean } | undefined> {
  const [row] = await queryRows<{ pid: number; listens: boolean }>(
    db,
    `select pid, query like 'listen%' || :channel || '%' and state = 'idle' as listens
       from pg_stat_activity where application_name = :name`,
    { name, channel: CANCEL_REQUESTED },
  );
  return row;
}

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + LATER_MS;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error("It did not come true in time.");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function anOpenExecution(): Promise<ExecutionId> {
  return anExecution(db, { workflow: await aWorkflow(db) });
}

function end(executionId: ExecutionId): Promise<boolean> {
  return release(db, { executionId, status: "cancelled", failure: null, message: "" });
}

test("wait, resolved in this process, wakes every call for that execution and no other", async () => {
  const { waiters } = await openWaiters();
  const [one, other] = [createExecutionId(), createExecutionId()];
  const calls = [waiters.wait(one, LATER_MS), waiters.wait(one, LATER_MS), waiters.wait(other, 200)];
  expect(waiters.count()).toBe(3);
  waiters.resolve(one);
  expect(await Promise.all(calls)).toEqual([true, true, false]);
  expect(waiters.count()).toBe(0);
  await waiters.close();
});

test("wait, when another connection ends the execution, is woken by the notification", async () => {
  const { waiters } = await openWaiters();
  const executionId = await anOpenExecution();
  const woken = waiters.wait(executionId, SOON_MS);
  await end(executionId);
  expect(await woken).toBe(true);
  await waiters.close();
});

test("wait, when a notification comes that the record knows nothing of, believes it", async () => {
  const { waiters } = await openWaiters();
  const executionId = createExecutionId();
  const woken = waiters.wait(executionId, SOON_MS);
  await queryRows(db, "select pg_notify(:channel, :executionId)", { channel: EXECUTION_ENDED, executionId });
  expect(await woken).toBe(true);
  await waiters.close();
});

test("wait, when the notification came too early, is woken by the record, which is asked about nobody else", async () => {
  const { waiters, notices, asked } = await openWaiters();
  const executionId = await anOpenExecution();
  await end(executionId);
  // Notifications come in order: once this one is here, the other has been.
  await requestCancel(db, await anOpenExecution(), "api");
  await until(() => notices.length > 0);
  expect(await waiters.wait(createExecutionId(), 50)).toBe(false);
  const before = performance.now();
  expect(await waiters.wait(executionId, LATER_MS)).toBe(true);
  expect(performance.now() - before).toBeLessThan(8_000);
  expect(asked).toEqual([[executionId]]);
  await waiters.close();
});

test("wait, when the session is cut, finds in the record what ended meanwhile and hears again", async () => {
  const { waiters, name, faults } = await openWaiters();
  const [missed, heard] = [await anOpenExecution(), await anOpenExecution()];
  const before = await findSession(name);
  const woken = waiters.wait(missed, SOON_MS);
  await queryRows(db, "select pg_terminate_backend(:pid)", { pid: before?.pid });
  await until(async () => (await findSession(name)) === undefined);
  await end(missed);
  expect(await woken).toBe(true);
  await until(async () => (await findSession(name))?.listens === true);
  expect((await findSession(name))?.pid).not.toBe(before?.pid);
  const wokenAgain = waiters.wait(heard, SOON_MS);
  await end(heard);
  expect(await wokenAgain).toBe(true);
  expect(faults).not.toEqual([]);
  await waiters.close();
});

test("wait, when the time is over first, answers false and leaves nothing behind", async () => {
  const { waiters } = await openWaiters();
  const executionId = createExecutionId();
  const late = waiters.wait(executionId, LATER_MS);
  expect(await waiters.wait(executionId, 50)).toBe(false);
  expect(waiters.count()).toBe(1);
  waiters.resolve(executionId);
  expect([await late, waiters.count()]).toEqual([true, 0]);
  expect(await waiters.wait(executionId, 50)).toBe(false);
  expect(waiters.count()).toBe(0);
  await waiters.close();
});

test("wait, when the caller leaves first or has left already, answers false and leaves nothing behind", async () => {
  const { waiters } = await openWaiters();
  const executionId = createExecutionId();
  const [leaving, staying] = [new AbortController(), new AbortController()];
  const calls = [leaving, staying].map((caller) => waiters.wait(executionId, LATER_MS, caller.signal));
  leaving.abort();
  expect(await calls[0]).toBe(false);
  expect(waiters.count()).toBe(1);
  expect(await waiters.wait(executionId, LATER_MS, leaving.signal)).toBe(false);
  waiters.resolve(executionId);
  expect([await calls[1], waiters.count()]).toEqual([true, 0]);
  await waiters.close();
});

test("the listening session, when a cancellation is asked for, hands it on and wakes nobody", async () => {
  const { waiters, notices } = await openWaiters();
  const executionId = await anOpenExecution();
  const waiting = waiters.wait(executionId, 500);
  await requestCancel(db, executionId, "api");
  await until(() => notices.length > 0);
  expect(notices).toEqual([executionId]);
  expect(await waiting).toBe(false);
  await waiters.close();
});

test("close, also of waiters that are only just connecting, ends the session for good", async () => {
  const { waiters, name } = await openWaiters();
  await waiters.close();
  const hasty = createWaiters({
    db,
    openSession: () => createListener(database.address, "hasty listener"),
    notices: [{ channel: CANCEL_REQUESTED, receive: () => undefined }],
    onFault: () => undefined,
  });
  await hasty.close();
  // Longer than it takes to connect, or to connect again.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect([await findSession(name), await findSession("hasty listener")]).toEqual([undefined, undefined]);
});

test("letGo, while calls wait, lets go of them at once, and of all that come later", async () => {
  const { waiters } = await openWaiters();
  const executionId = createExecutionId();
  const calls = [waiters.wait(executionId, LATER_MS), waiters.wait(createExecutionId(), LATER_MS)];
  waiters.letGo();
  expect(await Promise.all([...calls, waiters.wait(executionId, LATER_MS)])).toEqual([false, false, false]);
  expect(waiters.count()).toBe(0);
  await waiters.close();
});
