import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "@jest/globals";
import { ActivityCancellationDetails } from "@temporalio/common";
import { MockActivityEnvironment } from "@temporalio/testing";
import { createCredits } from "../../activities/credits.ts";
import type { PythonDeps } from "../../activities/python.ts";
import { createSpool, type SpooledResult } from "../../activities/spool.ts";
import { UnableError, UnbegunError } from "../../activities/unbegun.ts";
import { queryRows } from "../../db/connect.ts";
import { findExecution, requestCancel } from "../../db/executions/executions.ts";
import { findMoneyFaults } from "../../db/ledger/audit.ts";
import { findBalance, findBilling, reserve } from "../../db/ledger/credits.ts";
import type { PythonOutcome } from "../../domain/execution.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
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

const { db } = await aFileDatabase();

const anOpenExecution = (attemptsMax?: number): Promise<ExecutionId> => openExecution(db, attemptsMax);
const NEVER = new Promise<never>(() => undefined);

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

async function aSpool() {
  const folder = await mkdtemp(join(tmpdir(), "treadle-python-"));
  folders.push(folder);
  const spool = createSpool(folder);
  return {
    ...spool,
    async writeEnd(executionId: ExecutionId, end: Pick<SpooledResult, "attempt" | "outcome">): Promise<void> {
      await spool.open(executionId);
      await spool.writeResult(executionId, { outputs: [], logPath: undefined, logBytes: 0, ...end });
    },
  };
}

const aProcess = (runProgram: PythonDeps["runProgram"], processId?: string) =>
  createProcess(db, runProgram, { ...(processId && { processId }) });

test("executePython, whose program ends while the database cannot be told, tells it later and runs the program once", async () => {
  const executionId = await anOpenExecution();
  const program = aProgram();
  const process = aProcess(program.runProgram);
  const ended = process.execute(executionId);
  await hasStarted(process);
  await queryRows(db, "alter table attempts rename to attempts_away");
  program.end(success);
  await tick(700);
  await queryRows(db, "alter table attempts_away rename to attempts");
  expect(await ended).toMatchObject({ kind: "ended", status: "success", secondsUsed: 0.5 });
  expect(process.started).toEqual([1]);
});

test("executePython, called twice at once, runs the program once and answers both", async () => {
  const executionId = await anOpenExecution();
  const program = aProgram();
  const process = aProcess(program.runProgram);
  const both = Promise.all([process.execute(executionId), process.execute(executionId)]);
  await tick();
  program.end(success);
  const [one, two] = await both;
  expect(one).toEqual({ kind: "ended", status: "success", secondsUsed: 0.5, hostQueue: "host-host1" });
  expect(two).toEqual(one);
  expect(process.started).toEqual([1]);
});

test("executePython, called again after the end, finds the recorded outcome", async () => {
  const executionId = await anOpenExecution();
  const first = aProcess(async () => success);
  await first.execute(executionId);
  const second = aProcess(async () => success, "proc_b");
  expect(await second.execute(executionId)).toMatchObject({ kind: "ended", status: "success" });
  expect(second.started).toEqual([]);
});

test("executePython, of a program longer than the wait, says running and is joined by the next call", async () => {
  const executionId = await anOpenExecution();
  const program = aProgram();
  const process = aProcess(program.runProgram);
  expect(await process.execute(executionId, 0.05)).toEqual({ kind: "running" });
  const joined = process.execute(executionId);
  program.end(success);
  expect(await joined).toMatchObject({ kind: "ended" });
  expect(process.started).toEqual([1]);
});

test("executePython, after its process died, is run again by the next process of the host", async () => {
  const executionId = await anOpenExecution();
  const dead = aProcess(() => new Promise(() => undefined));
  expect(await dead.execute(executionId, 0.05)).toEqual({ kind: "running" });
  await hasStarted(dead);
  const next = aProcess(async () => success, "proc_b");
  expect(await next.execute(executionId)).toMatchObject({ kind: "ended", status: "success" });
  expect(next.started).toEqual([2]);
});

const failure: PythonOutcome = { status: "failed", message: "ValueError: no", secondsUsed: 0.25 };

test.each<[string, PythonOutcome, { attemptsMax?: number; hostId?: string; attempt?: number }, unknown]>([
  ["and succeeded, is not run again", success, {}, [[], "success", 0.5]],
  ["and failed, is not run again", failure, {}, [[], "failed", 0.25]],
  ["and failed where it may be tried twice, is tried once more", failure, { attemptsMax: 2 }, [[2], "success", 0.75]],
  ["is run again by a host that does not have the end", success, { hostId: "host2" }, [[2], "success", 0.5]],
  ["is run again where the end is of an attempt before", success, { attempt: 0 }, [[2], "success", 0.5]],
])("a program, whose process died after it had ended, %s", async (_what, outcome, given, expected) => {
  const { attemptsMax, hostId = "host1", attempt = 1 } = given;
  const executionId = await anOpenExecution(attemptsMax);
  const spool = await aSpool();
  const dead = createProcess(db, () => spool.writeEnd(executionId, { attempt, outcome }).then(() => NEVER), { spool });
  expect(await dead.execute(executionId, 0.1)).toEqual({ kind: "running" });
  if (hostId !== "host1") await queryRows(db, "update attempts set lease_until = now() where ended_at is null");
  const own = hostId === "host1" ? { spool } : {};
  const next = createProcess(db, async () => success, { processId: "proc_b", hostId, ...own });
  const ended = await next.execute(executionId);
  expect([next.started, ...(ended.kind === "ended" ? [ended.status, ended.secondsUsed] : [])]).toEqual(expected);
});

test("a program, whose end could not be recorded by a process that stops, is not given up: the next one has its end", async () => {
  const executionId = await anOpenExecution();
  const spool = await aSpool();
  const program = aProgram();
  const stopping = createProcess(
    db,
    async (...run) => {
      const outcome = await program.runProgram(...run);
      await spool.writeEnd(executionId, { attempt: 1, outcome });
      return outcome;
    },
    { spool },
  );
  const ended = stopping.execute(executionId).catch((error: Error) => error.message);
  await hasStarted(stopping);
  const refuse = "begin raise exception 'no room' using errcode = 'insufficient_resources'; end";
  await queryRows(db, `create function refuse() returns trigger language plpgsql as $$ ${refuse} $$`);
  const when = "before update on attempts for each row when (new.status is not null) execute function refuse()";
  await queryRows(db, `create trigger refuse_ends ${when}`);
  program.end(success);
  await tick();
  await stopping.python.drain(0);
  expect(await ended).toContain("no room");
  await queryRows(db, "drop function refuse cascade");
  const next = createProcess(db, async () => success, { processId: "proc_b", spool });
  expect(await next.execute(executionId)).toMatchObject({ kind: "ended", status: "success", secondsUsed: 0.5 });
  expect(next.started).toEqual([]);
});

test("executePython, of failing code that may be tried twice, tries it twice and adds up the seconds", async () => {
  const executionId = await anOpenExecution(2);
  const process = aProcess(async () => ({ status: "failed", message: "ValueError: no", secondsUsed: 1 }));
  expect(await process.execute(executionId)).toMatchObject({ kind: "ended", status: "failed", secondsUsed: 2 });
  expect(process.started).toEqual([1, 2]);
});

test("executePython, of an end that config.yaml does not name, does not try again", async () => {
  const executionId = await anOpenExecution(2);
  const process = aProcess(async () => ({ status: "timed_out", message: "too long", secondsUsed: 1 }));
  expect(await process.execute(executionId)).toMatchObject({ kind: "ended", status: "timed_out", secondsUsed: 1 });
  expect(process.started).toEqual([1]);
});

test("executePython, with a delay between attempts, says when the next one is due and begins none before", async () => {
  const retry = { attemptsMax: 3, delaySeconds: 100, backoff: 2, on: ["timed_out"] as const };
  const executionId = await openExecution(db, 3, { retry });
  const process = aProcess(async () => ({ status: "timed_out", message: "too long", secondsUsed: 1 }));
  const secondsUntil = async (): Promise<number> => {
    const progress = await process.execute(executionId);
    if (progress.kind !== "waiting") throw new Error(`It is ${progress.kind}.`);
    return progress.seconds;
  };
  expect(await secondsUntil()).toBeGreaterThan(90);
  expect(await secondsUntil()).toBeLessThanOrEqual(100);
  expect(process.started).toEqual([1]);
  await queryRows(db, "update attempts set retry_at = now() where execution_id = :executionId", { executionId });
  expect(await secondsUntil()).toBeGreaterThan(190);
  expect(process.started).toEqual([1, 2]);
  await queryRows(db, "update attempts set retry_at = now() where execution_id = :executionId", { executionId });
  expect(await process.execute(executionId)).toMatchObject({ kind: "ended", status: "timed_out", secondsUsed: 3 });
  expect(process.started).toEqual([1, 2, 3]);
});

test("executePython, before each further attempt, holds what was used and one attempt more, and ends when that cannot be paid", async () => {
  const executionId = await openExecution(db, 5, { credits: 3_301_000n });
  await reserve(db, executionId);
  const held: unknown[] = [];
  const process = aProcess(async () => {
    const [{ accountId } = {}] = await queryRows<{ accountId: AccountId }>(
      db,
      `select account_id as "accountId" from executions where id = :executionId`,
      { executionId },
    );
    held.push((await findBalance(db, accountId as AccountId))?.reserved);
    return { status: "failed", message: "ValueError: no", secondsUsed: 20 };
  });
  const ended = await process.execute(executionId);
  expect(ended).toMatchObject({ kind: "ended", status: "failed", secondsUsed: 40 });
  // 300 s of a core and the fee; then 20 s that were used, and as much again. For 40 s more there is too little.
  expect(held).toEqual([3_001_000n, 3_201_000n]);
  const credits = createCredits({ db, prices: PRICES, onEnded: () => undefined });
  await credits.settleCredits({ executionId, status: "failed", secondsUsed: 40 });
  expect(await findExecution(db, executionId)).toMatchObject({
    state: "failed",
    failure: null,
    chargeTotal: 401_000n,
    message:
      "ValueError: no It was not tried again: with another attempt it may cost 3.401 credits, and the account had only 0.1 available beside what was held.",
  });
  expect(await findMoneyFaults(db)).toEqual([]);
});

test("executePython, cancelled while it waits for its next attempt, ends as cancelled with what it used", async () => {
  const retry = { attemptsMax: 2, delaySeconds: 100 };
  const executionId = await openExecution(db, 2, { retry });
  const process = aProcess(async () => ({ status: "failed", message: "ValueError: no", secondsUsed: 1 }));
  expect(await process.execute(executionId)).toMatchObject({ kind: "waiting" });
  await requestCancel(db, executionId, "api");
  expect(await process.execute(executionId)).toMatchObject({ kind: "ended", status: "cancelled", secondsUsed: 1 });
  expect(await findBilling(db, executionId)).toMatchObject({ outcome: { status: "cancelled", secondsUsed: 1 } });
  expect(process.started).toEqual([1]);
});

test("executePython, when stopped by request, ends as cancelled with what it used", async () => {
  const executionId = await anOpenExecution();
  const process = aProcess(aProgram().runProgram);
  const ended = process.execute(executionId);
  await hasStarted(process);
  await requestCancel(db, executionId, "api");
  expect(process.python.stop(executionId, "cancelled")).toBe(true);
  expect(await ended).toMatchObject({ kind: "ended", status: "cancelled", secondsUsed: 0.1 });
});

test.each([
  ["asked to", { cancelRequested: true }, "cancelled", false],
  ["as Temporal no longer knows of it", { notFound: true }, "success", false],
  ["as it was given up", { timedOut: true }, "success", false],
  ["without a word why", {}, "cancelled", false],
  // So it is when its workflow task took too long.
  ["asked to, in the task of its workflow", { cancelRequested: true }, "success", true],
])("executePython, whose call is cancelled %s, ends as it should", async (_, details, status, isLocal) => {
  const program = aProgram();
  const { python, started } = aProcess(program.runProgram);
  const environment = new MockActivityEnvironment({ isLocal });
  const ended = environment.run(python.executePython, { executionId: await anOpenExecution() });
  await hasStarted({ started });
  environment.cancel("CANCELLED", new ActivityCancellationDetails(details));
  await sleep(100);
  program.end(success);
  expect(await ended).toMatchObject({ kind: "ended", status });
});

test("executePython, of an execution cancelled before it ran, refuses with the type `cancelled` and runs nothing", async () => {
  const executionId = await anOpenExecution();
  await requestCancel(db, executionId, "api");
  const process = aProcess(async () => success);
  await expect(process.execute(executionId)).rejects.toMatchObject({ type: "cancelled", nonRetryable: true });
  expect([process.started, process.faults]).toEqual([[], []]);
});

test("executePython, when a fault of ours stops an attempt, gives it up so that the next call may try at once", async () => {
  const executionId = await anOpenExecution();
  let calls = 0;
  const process = aProcess(async () => {
    calls += 1;
    if (calls === 1) throw new Error("the disk is full");
    return success;
  });
  await expect(process.execute(executionId)).rejects.toThrow("the disk is full");
  expect(process.faults).toHaveLength(1);
  expect(await process.execute(executionId)).toMatchObject({ kind: "ended", status: "success" });
});

test("drain, with a program under way, hands it over and the next process runs it again", async () => {
  const executionId = await anOpenExecution();
  const process = aProcess(aProgram().runProgram);
  const ended = process.execute(executionId);
  ended.catch(() => undefined);
  await hasStarted(process);
  await process.python.drain(50);
  await expect(ended).rejects.toThrow("stopping");
  const [row] = await queryRows<{ status: string | null }>(
    db,
    "select status from attempts where execution_id = :executionId",
    { executionId },
  );
  expect(row?.status).toBeNull();
  expect(await aProcess(async () => success, "proc_b").execute(executionId)).toMatchObject({ status: "success" });
});

test("drain, of one process after the other, hands the program over each time, and it ends in the one that may finish it", async () => {
  const executionId = await anOpenExecution();
  for (let restart = 0; restart < 5; restart += 1) {
    const process = aProcess(aProgram().runProgram, `proc_${restart}`);
    const ended = process.execute(executionId);
    ended.catch(() => undefined);
    await hasStarted(process);
    await process.python.drain(0);
  }
  const last = aProcess(async () => success, "proc_last");
  expect(await last.execute(executionId)).toMatchObject({ kind: "ended", status: "success", secondsUsed: 0.5 });
});

test("drain, of processes that lose a server each time, breaks the program off, and three of them end the execution", async () => {
  const executionId = await anOpenExecution();
  for (let restart = 0; restart < 3; restart += 1) {
    const process = aProcess(aProgram().runProgram, `proc_${restart}`);
    const ended = process.execute(executionId);
    ended.catch(() => undefined);
    await hasStarted(process);
    await process.python.drain(0, "broken_off");
  }
  await expect(aProcess(async () => success, "proc_last").execute(executionId)).rejects.toMatchObject({
    type: "internal",
    nonRetryable: true,
  });
});

test("executePython, whose program cannot begin for a while, is tried as often as it takes and runs once", async () => {
  const executionId = await anOpenExecution();
  const { execute, started } = aProcess(async ({ attempt }) => {
    if (attempt <= 5) throw new UnbegunError(new Error("no network"));
    return success;
  });
  for (let round = 0; round < 5; round++) await expect(execute(executionId)).rejects.toThrow("did not begin");
  expect(await execute(executionId)).toMatchObject({ kind: "ended", status: "success" });
  expect(started).toEqual([1, 2, 3, 4, 5, 6]);
});

test("executePython, on a host that lacks something, says soon what it is, with the type `unable`", async () => {
  const executionId = await anOpenExecution();
  const { execute } = aProcess(() => Promise.reject(new UnbegunError(new UnableError("This host has no network."))));
  for (let round = 0; round < 5; round++) await expect(execute(executionId)).rejects.toThrow("did not begin");
  const refusal = { type: "unable", nonRetryable: true, message: "This host has no network." };
  await expect(execute(executionId)).rejects.toMatchObject(refusal);
});
