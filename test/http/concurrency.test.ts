import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { admitExecutions } from "../../db/executions/admissions.ts";
import { findExecution, findStartable, listOpenExecutions } from "../../db/executions/executions.ts";
import { release, reserve } from "../../db/ledger/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { aCommit, aManifest, anInput, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import type { Answer } from "../support/https.ts";
import { aFileService, execute, findLeftovers, forgetExecutions, sendForm, succeed } from "./service.ts";

const service = await aFileService({ run: async () => undefined });

afterEach(async () => {
  await queryRows(
    service.db,
    "update executions set state = 'cancelled', finished_at = now() where finished_at is null",
  );
  await forgetExecutions(service);
});

const queueing = (executionsMax: number): Partial<Manifest> => ({
  concurrency: { executionsMax, whenFull: "queue" },
});
const rejecting = (executionsMax: number): Partial<Manifest> => ({
  concurrency: { executionsMax, whenFull: "reject" },
});

/** Starts one without waiting for it; answers its id. */
async function send(workflow: TestWorkflow): Promise<ExecutionId> {
  const answer = await execute(service, workflow, {}, { prefer: "respond-async" });
  expect(answer.status).toBe(202);
  return answer.json()["executionId"] as ExecutionId;
}

const end = (executionId: ExecutionId): Promise<void> => succeed(service.db, { executionId });

async function positionOf(executionId: ExecutionId): Promise<number | null | undefined> {
  return (await findExecution(service.db, executionId))?.queuePosition;
}

function look(workflow: TestWorkflow, executionId: string, suffix = "", method = "GET"): Promise<Answer> {
  return service.call(`/api/run-logs/${executionId}${suffix}`, { method, headers: { "x-api-key": workflow.apiKey } });
}

test("execute, when as many are under way as may be, is queued, says where, and is not started", async () => {
  const workflow = await aWorkflow(service.db, { manifest: queueing(2) });
  const running = [await send(workflow), await send(workflow)];
  const answers = [
    await execute(service, workflow, {}, { prefer: "respond-async" }),
    await execute(service, workflow, {}, { prefer: "wait=1" }),
  ];
  expect(answers.map((answer) => [answer.status, answer.json()])).toEqual(
    [1, 2].map((queuePosition, index) => [
      202,
      {
        status: "queued",
        executionId: answers[index]?.headers["x-execution-id"],
        duration: 0,
        outputs: {},
        cost: { compute: 0, total: 0 },
        queuePosition,
      },
    ]),
  );
  expect(service.started.map((start) => start.executionId)).toEqual(running);
  const [waiting] = answers as [Answer];
  expect((await look(workflow, waiting.json()["executionId"] as string)).json()).toEqual(waiting.json());
  expect((await look(workflow, running[0] as string)).json()).not.toHaveProperty("queuePosition");
});

test("the end of an execution, however it ends, lets in the next, in the order they came", async () => {
  const workflow = await aWorkflow(service.db, { manifest: queueing(1) });
  const ids: ExecutionId[] = [];
  for (let count = 0; count < 4; count += 1) ids.push(await send(workflow));
  const [one, two, three, four] = ids as [ExecutionId, ExecutionId, ExecutionId, ExecutionId];
  expect(await Promise.all(ids.map(positionOf))).toEqual([null, 1, 2, 3]);
  await end(one);
  expect(await Promise.all(ids.map(positionOf))).toEqual([null, null, 1, 2]);
  await release(service.db, { executionId: two, status: "failed", failure: "internal", message: "" });
  expect(await Promise.all(ids.map(positionOf))).toEqual([null, null, null, 1]);
  await release(service.db, { executionId: three, status: "cancelled", failure: null, message: "" });
  expect(await positionOf(four)).toBeNull();
  expect((await findStartable(service.db, four))?.id).toBe(four);
});

test("an execution whose turn has come, when nobody heard of it, is found by the sweeper, and a waiting one is not", async () => {
  const workflow = await aWorkflow(service.db, { manifest: queueing(1) });
  const [one, two, three] = [await send(workflow), await send(workflow), await send(workflow)];
  const listIds = async () =>
    (await listOpenExecutions(service.db, { olderThanSeconds: 0, limit: 10 })).map((e) => e.id);
  expect(await listIds()).toEqual([one]);
  expect(await findStartable(service.db, two)).toBeUndefined();
  await end(one);
  expect(await listIds()).toEqual([two]);
  expect(await listIds()).not.toContain(three);
});

test("a call that waits in the queue, when its turn comes and it ends, answers its result", async () => {
  const workflow = await aWorkflow(service.db, { manifest: queueing(1) });
  const first = await send(workflow);
  const call = execute(service, workflow);
  let second: { id: ExecutionId } | undefined;
  while (second === undefined) {
    await sleep(10);
    [second] = await queryRows<{ id: ExecutionId }>(service.db, "select id from executions where admitted_at is null");
  }
  await end(first);
  await end(second.id);
  expect([(await call).status, (await call).json()]).toEqual([
    200,
    expect.objectContaining({ status: "success", executionId: second.id }),
  ]);
});

test("executions sent 40 at once, with 3 that may be under way, let in 3 at a time and all in the end", async () => {
  const workflow = await aWorkflow(service.db, { manifest: queueing(3) });
  await Promise.all(Array.from({ length: 40 }, () => send(workflow)));
  const order: ExecutionId[] = [];
  for (;;) {
    const open = await listOpenExecutions(service.db, { olderThanSeconds: 0, limit: 100 });
    if (open.length === 0) break;
    expect(open.length).toBeLessThanOrEqual(3);
    order.push(...open.map((execution) => execution.id));
    // All at once: ends that race for the same places.
    await Promise.all(open.map((execution) => end(execution.id)));
  }
  expect(new Set(order).size).toBe(40);
  const accepted = await queryRows<{ id: ExecutionId }>(
    service.db,
    "select id from executions order by created_at, id",
  );
  // Within a round they have ended together.
  const rounds = (ids: ExecutionId[]) =>
    Array.from({ length: 14 }, (_, round) => ids.slice(round * 3, round * 3 + 3).sort());
  expect(rounds(order).slice(1)).toEqual(rounds(accepted.map((row) => row.id)).slice(1));
});

test("execute, when as many are under way as may be and none may wait, answers 429 and leaves nothing", async () => {
  const workflow = await aWorkflow(service.db, {
    manifest: rejecting(1),
    inputs: [anInput("file", "orders", { required: false })],
  });
  const first = await send(workflow);
  const before = await findLeftovers(service);
  const answer = await sendForm(service, workflow, [{ name: "orders", fileName: "a.csv", content: "1" }], {
    "idempotency-key": "k",
  });
  expect([answer.status, answer.headers["retry-after"], answer.json()]).toEqual([
    429,
    "5",
    { error: "Too many executions", message: expect.stringContaining("as it allows: 1.") },
  ]);
  expect(await findLeftovers(service)).toEqual(before);
  expect(service.started).toHaveLength(1);
  await end(first);
  const again = await sendForm(service, workflow, [], { "idempotency-key": "k", prefer: "respond-async" });
  expect([again.status, again.headers["idempotent-replayed"]]).toEqual([202, undefined]);
});

test("execute, sent 30 at once with 4 that may be under way and none that may wait, accepts exactly 4", async () => {
  const workflow = await aWorkflow(service.db, { manifest: rejecting(4) });
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => execute(service, workflow, {}, { prefer: "respond-async" })),
  );
  expect(answers.filter((answer) => answer.status === 202)).toHaveLength(4);
  expect(answers.filter((answer) => answer.status === 429)).toHaveLength(26);
  expect(service.started).toHaveLength(4);
});

test("executions of another workflow of the account, and of one without a bound, are not counted", async () => {
  const workflow = await aWorkflow(service.db, { manifest: rejecting(1) });
  const other = await aWorkflow(service.db, { accountId: workflow.accountId });
  await send(other);
  await send(other);
  await send(workflow);
  expect(service.started).toHaveLength(3);
});

test("executions accepted before a commit set a bound are counted", async () => {
  const workflow = await aWorkflow(service.db);
  await send(workflow);
  await aCommit(service.db, {
    workflowId: workflow.workflowId,
    parentId: workflow.commitId,
    manifest: aManifest(rejecting(1)),
  });
  expect((await execute(service, workflow)).status).toBe(429);
});

test.each([
  ["allows more", queueing(3), [null, null, null, 1]],
  ["sets no bound any more", {}, [null, null, null, null]],
  ["allows less", queueing(1), [null, 1, 2, 3]],
])(
  "waiting executions, when a new commit %s, are let in by what it says",
  async (_circumstance, manifest, positions) => {
    const workflow = await aWorkflow(service.db, { manifest: queueing(1) });
    const ids = [await send(workflow), await send(workflow), await send(workflow), await send(workflow)];
    await aCommit(service.db, {
      workflowId: workflow.workflowId,
      parentId: workflow.commitId,
      manifest: aManifest(manifest),
    });
    await admitExecutions(service.db, workflow.workflowId);
    expect(await Promise.all(ids.map(positionOf))).toEqual(positions);
  },
);

test("cancel, of one that waits for its turn, ends it at once, charges nothing and lets nobody in", async () => {
  const workflow = await aWorkflow(service.db, { manifest: queueing(1) });
  const [first, second, third] = [await send(workflow), await send(workflow), await send(workflow)];
  const answer = await look(workflow, second, "/cancel", "POST");
  expect([answer.status, answer.json()]).toMatchObject([202, { status: "cancelled", cost: { compute: 0, total: 0 } }]);
  expect(await reserve(service.db, second)).toEqual({ kind: "closed" });
  expect([await positionOf(first), await positionOf(third)]).toEqual([null, 1]);
});

test("a call sent again while its execution waits for its turn, is answered with its place", async () => {
  const workflow = await aWorkflow(service.db, { manifest: queueing(1) });
  await send(workflow);
  const headers = { prefer: "respond-async", "idempotency-key": "k" };
  const answers = [await execute(service, workflow, {}, headers), await execute(service, workflow, {}, headers)];
  expect(answers[1]?.json()).toEqual(answers[0]?.json());
  expect(answers[1]?.json()).toMatchObject({ status: "queued", queuePosition: 1 });
  expect(service.started).toHaveLength(1);
});

test("calls for one workflow, while they wait for each other in the record, leave its connections to others", async () => {
  const workflow = await aWorkflow(service.db, { manifest: queueing(1) });
  const other = await aWorkflow(service.db);
  // More than the pool has connections.
  const calls = await service.db.transaction(async (tx) => {
    await tx.raw("select lock_admission(?)", [workflow.workflowId]);
    const waiting = Array.from({ length: 30 }, () => execute(service, workflow, {}, { prefer: "respond-async" }));
    await sleep(1_000);
    // The others do not end before this one has.
    expect((await execute(service, other, {}, { prefer: "respond-async" })).status).toBe(202);
    return { waiting };
  });
  expect((await Promise.all(calls.waiting)).map((answer) => answer.status)).toEqual(
    Array.from({ length: 30 }, () => 202),
  );
});
