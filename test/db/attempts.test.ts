import { expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import {
  beginFirstAttempt,
  claimAttempt,
  endAttempt,
  handOverAttempts,
  renewLease,
} from "../../db/executions/attempts.ts";
import { findExecution, requestCancel } from "../../db/executions/executions.ts";
import { loseOutputs } from "../../db/executions/stranded.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { anAccount, anExecution, aWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const { db } = await aFileDatabase();

async function anOpenExecution(attemptsMax = 1, microCredits = 10_000_000n): Promise<ExecutionId> {
  const accountId = await anAccount(db, { microCredits });
  return anExecution(db, { workflow: await aWorkflow(db, { accountId }), attemptsMax });
}

const claim = (executionId: ExecutionId, processId = "proc_a", hostId = "host1") =>
  claimAttempt(db, { executionId, hostId, processId, leaseSeconds: 20, lostMax: 3 });
const outcome = (status: "success" | "failed", secondsUsed = 1) => ({
  status,
  message: `it was a ${status}`,
  secondsUsed,
});

test("claimAttempt, when 20 processes claim one execution, gives it to one", async () => {
  const executionId = await anOpenExecution();
  const claims = await Promise.all(
    Array.from({ length: 20 }, (_, index) => claim(executionId, `proc_${index}`, `host${index}`)),
  );
  expect(claims.filter((each) => each.kind === "claimed")).toHaveLength(1);
  expect(claims.filter((each) => each.kind === "busy")).toHaveLength(19);
  expect((await findExecution(db, executionId))?.state).toBe("running");
});

const begin = (executionId: ExecutionId, processId = "proc_a", hostId = "host1") =>
  beginFirstAttempt(db, { executionId, hostId, processId, leaseSeconds: 20 });
const readHeld = async (executionId: ExecutionId) =>
  queryRows(
    db,
    `select e.state, (select count(*)::int from reservations r where r.execution_id = e.id) as reservations,
            (select count(*)::int from attempts a where a.execution_id = e.id) as attempts from executions e where e.id = :executionId`,
    { executionId },
  );

test("beginFirstAttempt, when 20 processes ask, reserves once, gives it to one, and that one knows what a claim would", async () => {
  const [executionId, other] = [await anOpenExecution(), await anOpenExecution()];
  const works = await Promise.all(
    Array.from({ length: 20 }, (_, index) => begin(executionId, `proc_${index}`, `host${index}`)),
  );
  const [work, ...more] = works.filter((each) => each !== undefined);
  expect(more).toEqual([]);
  const claimed = await claim(other);
  const known = (claimed.kind === "claimed" && claimed.work) || undefined;
  const { accountId, workflowId, commitId } = work ?? {};
  expect(work).toEqual({ ...known, executionId, accountId, workflowId, commitId });
  expect(await readHeld(executionId)).toEqual([{ state: "running", reservations: 1, attempts: 1 }]);
});

test("beginFirstAttempt, of one that was begun, was cancelled or cannot be paid, does nothing", async () => {
  const begun = await anOpenExecution();
  await claim(begun);
  const cancelled = await anOpenExecution();
  await requestCancel(db, cancelled, "api");
  const poor = await anOpenExecution(1, 1n);
  for (const executionId of [begun, cancelled, poor]) expect(await begin(executionId)).toBeUndefined();
  expect(await readHeld(begun)).toEqual([{ state: "running", reservations: 0, attempts: 1 }]);
  for (const executionId of [cancelled, poor])
    expect(await readHeld(executionId)).toEqual([{ state: "queued", reservations: 0, attempts: 0 }]);
});

test("claimAttempt, after the attempt ended, answers its outcome to everybody", async () => {
  const executionId = await anOpenExecution();
  await claim(executionId);
  expect(await endAttempt(db, { executionId, attempt: 1, processId: "proc_a", outcome: outcome("success", 2.5) })).toBe(
    true,
  );
  expect(await claim(executionId, "proc_b", "host2")).toEqual({
    kind: "ended",
    outcome: { status: "success", message: "it was a success", secondsUsed: 2.5 },
    hostId: "host1",
    attempt: 1,
  });
});

test("claimAttempt, by a new process of the host that died, takes over at once", async () => {
  const executionId = await anOpenExecution();
  await claim(executionId, "proc_dead");
  const second = await claim(executionId, "proc_new");
  expect(second.kind === "claimed" && second.work.attempt).toBe(2);
  expect(await endAttempt(db, { executionId, attempt: 1, processId: "proc_dead", outcome: outcome("success") })).toBe(
    false,
  );
});

test("claimAttempt, by another host, waits until the lease has run out", async () => {
  const executionId = await anOpenExecution();
  await claim(executionId);
  expect((await claim(executionId, "proc_b", "host2")).kind).toBe("busy");
  await queryRows(
    db,
    "update attempts set lease_until = now() - interval '1 second' where execution_id = :executionId",
    { executionId },
  );
  expect((await claim(executionId, "proc_b", "host2")).kind).toBe("claimed");
  expect(await renewLease(db, { executionId, attempt: 1, processId: "proc_a", leaseSeconds: 20 })).toBe("lost");
});

test("claimAttempt, after three lost workers, is exhausted", async () => {
  const executionId = await anOpenExecution();
  for (const name of ["a", "b", "c"]) expect((await claim(executionId, name)).kind).toBe("claimed");
  expect((await claim(executionId, "d")).kind).toBe("exhausted");
});

test("claimAttempt, of failing code that may be tried twice, gives a second try and adds up the seconds", async () => {
  const executionId = await anOpenExecution(2);
  await claim(executionId);
  await endAttempt(db, { executionId, attempt: 1, processId: "proc_a", outcome: outcome("failed", 1) });
  const second = await claim(executionId);
  expect(second.kind === "claimed" && second.work.attempt).toBe(2);
  await endAttempt(db, { executionId, attempt: 2, processId: "proc_a", outcome: outcome("failed", 2) });
  expect(await claim(executionId)).toMatchObject({ kind: "ended", outcome: { status: "failed", secondsUsed: 3 } });
});

test("claimAttempt, of code whose outputs were lost with their host, gives it the tries that are left, and counts no lost worker", async () => {
  const executionId = await anOpenExecution(4);
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    expect(await claim(executionId)).toMatchObject({ kind: "claimed", work: { attempt } });
    await endAttempt(db, { executionId, attempt, processId: "proc_a", outcome: outcome("success") });
    expect(await loseOutputs(db, { id: executionId, attempt })).toBe(true);
  }
  expect(await claim(executionId)).toMatchObject({ kind: "claimed", work: { previous: { outputsLost: 3 } } });
  await endAttempt(db, { executionId, attempt: 4, processId: "proc_a", outcome: outcome("failed", 2) });
  expect(await claim(executionId)).toMatchObject({ kind: "ended", outcome: { status: "failed", secondsUsed: 2 } });
});

test("claimAttempt, of an execution cancelled before it ran, is closed and leaves no attempt", async () => {
  const executionId = await anOpenExecution();
  expect(await requestCancel(db, executionId, "api")).toEqual({ open: true });
  expect(await claim(executionId)).toEqual({ kind: "closed", state: "queued", cancelled: true });
  expect(await queryRows(db, "select 1 from attempts where execution_id = :executionId", { executionId })).toHaveLength(
    0,
  );
});

test("renewLease, after a request to cancel, says so, and the first to ask is remembered", async () => {
  const executionId = await anOpenExecution();
  await claim(executionId);
  const renewal = { executionId, attempt: 1, processId: "proc_a", leaseSeconds: 20 };
  expect(await renewLease(db, renewal)).toBe("held");
  await requestCancel(db, executionId, "api");
  await requestCancel(db, executionId, "somebody else");
  expect(await renewLease(db, renewal)).toBe("cancelled");
  expect((await findExecution(db, executionId))?.cancelRequestedBy).toBe("api");
});

test("claimAttempt, of one that stopping processes handed over, also by being killed, counts no lost worker", async () => {
  const executionId = await anOpenExecution();
  for (let attempt = 1; attempt <= 8; attempt += 1) {
    const processId = `proc_${attempt}`;
    expect(await claim(executionId, processId)).toMatchObject({ kind: "claimed", work: { attempt } });
    if (attempt % 2 === 0) await handOverAttempts(db, { processId });
    else await endAttempt(db, { executionId, attempt, processId, outcome: null, handedOver: true });
  }
  const last = await claim(executionId, "proc_last");
  expect(last).toMatchObject({
    kind: "claimed",
    work: { previous: { hostId: "host1", logKey: null, isLogWhole: false } },
  });
  const messages = await queryRows<{ message: string }>(
    db,
    "select distinct message from attempts where execution_id = :executionId and ended_at is not null",
    { executionId },
  );
  expect(messages).toEqual([{ message: "The service was stopped while it ran." }]);
});

test("claimAttempt, of one that no process could begin, gives it up after 20 attempts", async () => {
  const executionId = await anOpenExecution();
  for (let attempt = 1; attempt <= 20; attempt += 1) {
    expect((await claim(executionId)).kind).toBe("claimed");
    await endAttempt(db, { executionId, attempt, processId: "proc_a", outcome: null, begun: false });
  }
  expect((await claim(executionId)).kind).toBe("exhausted");
});

test("claimAttempt, of one whose hosts lack something, is told after 5 attempts what it is", async () => {
  const executionId = await anOpenExecution();
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    expect((await claim(executionId)).kind).toBe("claimed");
    const unable = `This host has no Python 3.${attempt}.`;
    await endAttempt(db, { executionId, attempt, processId: "proc_a", outcome: null, begun: false, unable });
  }
  expect(await claim(executionId)).toEqual({ kind: "unable", reason: "This host has no Python 3.5." });
});
