import { expect, test } from "@jest/globals";
import { MockActivityEnvironment } from "@temporalio/testing";
import { createPython, type PythonDeps } from "../../activities/python.ts";
import { queryRows } from "../../db/connect.ts";
import type { ExecutionWork } from "../../db/executions/attempts.ts";
import { findExecution, requestCancel } from "../../db/executions/executions.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { createSlots, type Slots } from "../../system/slots.ts";
import { aFileDatabase } from "../support/file-database.ts";
import {
  aProgram,
  createProcess,
  hasStarted,
  anOpenExecution as openExecution,
  PRICES,
  success,
  tick,
} from "./python-process.ts";

const ACCOUNT = "acct_of_this_test" as AccountId;

const { db } = await aFileDatabase();

const anOpenExecution = (attemptsMax?: number): Promise<ExecutionId> => openExecution(db, attemptsMax);
const aProcess = (runProgram: PythonDeps["runProgram"], processId?: string, slots?: Slots) =>
  createProcess(db, runProgram, { ...(processId && { processId }), ...(slots && { slots }) });

async function listAttempts(executionIds: readonly ExecutionId[]): Promise<number> {
  const [row] = await queryRows<{ count: number }>(
    db,
    "select count(*)::int as count from attempts where execution_id = any(cast(:ids as text[]))",
    { ids: [...executionIds] },
  );
  return row?.count ?? 0;
}

async function stateOf(executionId: ExecutionId): Promise<string | undefined> {
  return (await findExecution(db, executionId))?.state;
}

/** Slots of which one is taken until the function is called. */
async function aFullHouse(): Promise<{ slots: Slots; free: () => void }> {
  const slots = createSlots({ count: 1 });
  const free = await slots.take({ accountId: ACCOUNT, id: "another" });
  return { slots, free: free ?? (() => undefined) };
}

async function hasQueued(slots: Slots): Promise<void> {
  while (slots.waiting() === 0) await tick(5);
}

test("executePython, while it waits for a slot, leaves its execution queued and without an attempt, then runs it", async () => {
  const executionId = await anOpenExecution();
  const { slots, free } = await aFullHouse();
  const process = aProcess(async () => success, "proc_a", slots);
  const ended = process.execute(executionId, undefined, ACCOUNT);
  await hasQueued(slots);
  expect([await stateOf(executionId), await listAttempts([executionId])]).toEqual(["queued", 0]);
  expect(slots.placeOf(executionId)).toBe(1);
  free();
  expect(await ended).toMatchObject({ kind: "ended", status: "success" });
  expect(process.started).toEqual([1]);
});

test("executePython, stopped while it waits for a slot, refuses with the type `cancelled` and leaves no attempt", async () => {
  const executionId = await anOpenExecution();
  const { slots } = await aFullHouse();
  const process = aProcess(async () => success, "proc_a", slots);
  const ended = process.execute(executionId, undefined, ACCOUNT);
  ended.catch(() => undefined);
  await hasQueued(slots);
  process.python.stop(executionId, "cancelled");
  await expect(ended).rejects.toMatchObject({ type: "cancelled", nonRetryable: true });
  expect([slots.waiting(), process.started, await listAttempts([executionId])]).toEqual([0, [], 0]);
});

test("executePython, of one that a dead process ended, answers its outcome although no slot is free", async () => {
  const executionId = await anOpenExecution();
  await aProcess(async () => success, "proc_dead").execute(executionId);
  const { slots } = await aFullHouse();
  const next = aProcess(async () => success, "proc_b", slots);
  const ended = await next.execute(executionId, undefined, ACCOUNT);
  expect([ended, next.started, slots.waiting()]).toMatchObject([{ kind: "ended", status: "success" }, [], 0]);
});

test("executePython, that another process runs, waits for it without holding a slot", async () => {
  const executionId = await anOpenExecution();
  const program = aProgram();
  const first = aProcess(program.runProgram, "proc_a");
  const one = first.execute(executionId);
  await hasStarted(first);
  const slots = createSlots({ count: 1 });
  const second = createPython({
    db,
    hostId: "host2",
    processId: "proc_b",
    slots,
    prices: PRICES,
    runProgram: program.runProgram,
    onError: () => undefined,
  });
  const other = new MockActivityEnvironment().run(second.executePython, { executionId, accountId: ACCOUNT });
  await tick(200);
  const free = await slots.take({ accountId: ACCOUNT, id: "another" });
  program.end(success);
  expect(await Promise.all([one, other])).toMatchObject([{ status: "success" }, { status: "success" }]);
  free?.();
});

test("executePython, briefly, says running at once where many of the account wait, and waits where few do", async () => {
  const { slots } = await aFullHouse();
  const process = aProcess(async () => success, "proc_a", slots);
  const ids: ExecutionId[] = [];
  for (let count = 0; count < 51; count += 1) ids.push(await anOpenExecution());
  let answered = 0;
  for (const executionId of ids.slice(0, 50))
    process.execute(executionId, 1_000, ACCOUNT).then(
      () => (answered += 1),
      () => undefined,
    );
  await tick();
  expect(answered).toBe(0);
  expect(await process.execute(ids[50] as ExecutionId, 1_000, ACCOUNT)).toEqual({ kind: "running" });
  for (const executionId of ids) process.python.stop(executionId, "cancelled");
  await process.python.drain(0);
});

test("drain, with one that waits for a slot, hands it over at once and begins nothing", async () => {
  const executionId = await anOpenExecution();
  const { slots, free } = await aFullHouse();
  const process = aProcess(async () => success, "proc_a", slots);
  const ended = process.execute(executionId, undefined, ACCOUNT);
  ended.catch(() => undefined);
  await hasQueued(slots);
  const drained = process.python.drain(2_000);
  await expect(ended).rejects.toThrow("stopping");
  free();
  await drained;
  expect([process.started, await stateOf(executionId)]).toEqual([[], "queued"]);
});

test("30 executions over 4 slots, whose process dies five times, lose an attempt only where a program ran, and all succeed", async () => {
  const ids: ExecutionId[] = [];
  for (let count = 0; count < 30; count += 1) ids.push(await anOpenExecution());
  const deaths = 5;
  for (let death = 0; death < deaths; death += 1) {
    const dead = aProcess(() => new Promise(() => undefined), `proc_dead_${death}`);
    // Who comes first after a start is chance: here, those that had no slot yet.
    const order = [...ids.slice(death * 4), ...ids.slice(0, death * 4)];
    for (const executionId of order) await dead.execute(executionId, 0, ACCOUNT);
    while (dead.started.length < 4) await tick(5);
  }
  expect(await listAttempts(ids)).toBe(deaths * 4);
  const last = aProcess(async () => success, "proc_last");
  const ends = await Promise.all(ids.map((executionId) => last.execute(executionId)));
  expect(ends).toEqual(ids.map(() => expect.objectContaining({ kind: "ended", status: "success" })));
});

test("a lead, whose execution runs here already when it is used, gives its slot back", async () => {
  const slots = createSlots({ count: 2 });
  const executionId = await anOpenExecution();
  const program = aProgram();
  const process = aProcess(program.runProgram, "proc_a", slots);
  const lead = process.python.lead({ executionId, accountId: ACCOUNT });
  const ended = process.execute(executionId, undefined, ACCOUNT);
  await hasStarted(process);
  expect(slots.takeNow({ accountId: ACCOUNT, id: "another" })).toBeUndefined();
  const led = lead?.run({} as ExecutionWork);
  const release = slots.takeNow({ accountId: ACCOUNT, id: "another" });
  program.end(success);
  expect([release, (await ended).kind, (await led)?.kind]).toEqual([expect.any(Function), "ended", "ended"]);
});

test("begin, of a recorded execution, runs it with its credits held where a slot is free; else it does nothing, and keeps no slot", async () => {
  const slots = createSlots({ count: 1 });
  const program = aProgram();
  const process = aProcess(program.runProgram, "proc_a", slots);
  const [first, second] = [await anOpenExecution(), await anOpenExecution()];
  const cancelled = await anOpenExecution();
  await requestCancel(db, cancelled, "api");
  expect(await process.python.begin({ executionId: cancelled, accountId: ACCOUNT })).toBeUndefined();
  const begun = await process.python.begin({ executionId: first, accountId: ACCOUNT });
  expect(await process.python.begin({ executionId: second, accountId: ACCOUNT })).toBeUndefined();
  const ended = begun?.lead.run(begun.work);
  await hasStarted(process);
  program.end(success);
  expect(await ended).toMatchObject({ kind: "ended", status: "success" });
  expect(await process.python.begin({ executionId: first, accountId: ACCOUNT })).toBeUndefined();
  expect(await process.python.begin({ executionId: second, accountId: ACCOUNT })).toMatchObject({
    work: { attempt: 1 },
  });
  await process.python.drain(0);
  expect(await process.python.begin({ executionId: await anOpenExecution(), accountId: ACCOUNT })).toBeUndefined();
});
