import { expect, test } from "@jest/globals";
import { createListener, type Db, queryRows } from "../../db/connect.ts";
import { CANCEL_REQUESTED, requestCancel } from "../../db/executions/executions.ts";
import { EXECUTION_ENDED, release } from "../../db/ledger/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { startListener } from "../../src/executions/listener.ts";
import { createExecutionId } from "../../src/ids.ts";
import { anExecution, aWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

/** Less than the five seconds after which the record is looked at in any case. */
const SOON_MS = 4_500;
const LATER_MS = 20_000;

const database = await aFileDatabase();
const { db } = database;
let listeners = 0;

/** A listener whose session can be found by its name in the database. */
async function openListener() {
  const name = `listener ${(listeners += 1)}`;
  const notifications: string[] = [];
  const faults: unknown[] = [];
  /** Whom the record was asked about. */
  const asked: unknown[] = [];
  const raw = (sql: string, bindings: Record<string, string>) => {
    asked.push(bindings["ids"]);
    return db.raw(sql, bindings);
  };
  const listener = startListener({
    db: { raw, userParams: {} } as unknown as Db,
    openSession: () => createListener(database.address, name),
    subscriptions: [{ channel: CANCEL_REQUESTED, onNotify: (payload) => notifications.push(payload) }],
    onError: (error) => faults.push(error),
  });
  await until(async () => (await findSession(name))?.listens === true);
  return { listener, name, notifications, faults, asked };
}

/** The session of a listener; `listens` once it has asked for its last channel. */
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
  const { listener } = await openListener();
  const [one, other] = [createExecutionId(), createExecutionId()];
  const calls = [listener.wait(one, LATER_MS), listener.wait(one, LATER_MS), listener.wait(other, 200)];
  expect(listener.count()).toBe(3);
  listener.resolve(one);
  expect(await Promise.all(calls)).toEqual([true, true, false]);
  expect(listener.count()).toBe(0);
  await listener.close();
});

test("wait, when another connection ends the execution, is woken by the notification", async () => {
  const { listener } = await openListener();
  const executionId = await anOpenExecution();
  const woken = listener.wait(executionId, SOON_MS);
  await end(executionId);
  expect(await woken).toBe(true);
  await listener.close();
});

test("wait, when a notification comes that the record knows nothing of, believes it", async () => {
  const { listener } = await openListener();
  const executionId = createExecutionId();
  const woken = listener.wait(executionId, SOON_MS);
  await queryRows(db, "select pg_notify(:channel, :executionId)", { channel: EXECUTION_ENDED, executionId });
  expect(await woken).toBe(true);
  await listener.close();
});

test("wait, when the notification came too early, is woken by the record, which is asked about nobody else", async () => {
  const { listener, notifications, asked } = await openListener();
  const executionId = await anOpenExecution();
  await end(executionId);
  // Notifications come in order: once this one is here, the other has been.
  await requestCancel(db, await anOpenExecution(), "api");
  await until(() => notifications.length > 0);
  expect(await listener.wait(createExecutionId(), 50)).toBe(false);
  const before = performance.now();
  expect(await listener.wait(executionId, LATER_MS)).toBe(true);
  expect(performance.now() - before).toBeLessThan(8_000);
  expect(asked).toEqual([[executionId]]);
  await listener.close();
});

test("wait, when the session is cut, finds in the record what ended meanwhile and hears again", async () => {
  const { listener, name, faults } = await openListener();
  const [missed, heard] = [await anOpenExecution(), await anOpenExecution()];
  const before = await findSession(name);
  const woken = listener.wait(missed, SOON_MS);
  await queryRows(db, "select pg_terminate_backend(:pid)", { pid: before?.pid });
  await until(async () => (await findSession(name)) === undefined);
  await end(missed);
  expect(await woken).toBe(true);
  await until(async () => (await findSession(name))?.listens === true);
  expect((await findSession(name))?.pid).not.toBe(before?.pid);
  const wokenAgain = listener.wait(heard, SOON_MS);
  await end(heard);
  expect(await wokenAgain).toBe(true);
  expect(faults).not.toEqual([]);
  await listener.close();
});

test("wait, when the time is over first, answers false and leaves nothing behind", async () => {
  const { listener } = await openListener();
  const executionId = createExecutionId();
  const late = listener.wait(executionId, LATER_MS);
  expect(await listener.wait(executionId, 50)).toBe(false);
  expect(listener.count()).toBe(1);
  listener.resolve(executionId);
  expect([await late, listener.count()]).toEqual([true, 0]);
  expect(await listener.wait(executionId, 50)).toBe(false);
  expect(listener.count()).toBe(0);
  await listener.close();
});

test("wait, when the caller leaves first or has left already, answers false and leaves nothing behind", async () => {
  const { listener } = await openListener();
  const executionId = createExecutionId();
  const [leaving, staying] = [new AbortController(), new AbortController()];
  const calls = [leaving, staying].map((caller) => listener.wait(executionId, LATER_MS, caller.signal));
  leaving.abort();
  expect(await calls[0]).toBe(false);
  expect(listener.count()).toBe(1);
  expect(await listener.wait(executionId, LATER_MS, leaving.signal)).toBe(false);
  listener.resolve(executionId);
  expect([await calls[1], listener.count()]).toEqual([true, 0]);
  await listener.close();
});

test("the listening session, when a cancellation is asked for, hands it on and wakes nobody", async () => {
  const { listener, notifications } = await openListener();
  const executionId = await anOpenExecution();
  const waiting = listener.wait(executionId, 500);
  await requestCancel(db, executionId, "api");
  await until(() => notifications.length > 0);
  expect(notifications).toEqual([executionId]);
  expect(await waiting).toBe(false);
  await listener.close();
});

test("close, also of a listener that is only just connecting, ends the session for good", async () => {
  const { listener, name } = await openListener();
  await listener.close();
  const hasty = startListener({
    db,
    openSession: () => createListener(database.address, "hasty listener"),
    subscriptions: [{ channel: CANCEL_REQUESTED, onNotify: () => undefined }],
    onError: () => undefined,
  });
  await hasty.close();
  // Longer than it takes to connect, or to connect again.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect([await findSession(name), await findSession("hasty listener")]).toEqual([undefined, undefined]);
});

test("release, while calls wait, lets go of them at once, and of all that come later", async () => {
  const { listener } = await openListener();
  const executionId = createExecutionId();
  const calls = [listener.wait(executionId, LATER_MS), listener.wait(createExecutionId(), LATER_MS)];
  listener.release();
  expect(await Promise.all([...calls, listener.wait(executionId, LATER_MS)])).toEqual([false, false, false]);
  expect(listener.count()).toBe(0);
  await listener.close();
});
