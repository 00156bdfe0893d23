import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { createWaitingCalls } from "../../src/executions/waiting-calls.ts";
import { anInput, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aFileService, execute, findLeftovers, forgetExecutions, sendForm, succeed } from "./service.ts";

const ONE = "acct_one" as AccountId;

/** Aborted signals of waits: the callers that left. */
let left = 0;
/** Calls that wait, or did. */
const waiting: Promise<unknown>[] = [];

const service = await aFileService({
  waitingCallsMax: 3,
  run: async () => undefined,
});

afterEach(async () => {
  for (const { executionId } of service.started.splice(0)) await succeed(service.db, { executionId });
  await Promise.allSettled(waiting.splice(0));
  await forgetExecutions(service);
  left = 0;
});

/** Answers the calls that wait, within an object: they are not to be awaited. */
async function fill(workflow: TestWorkflow, signal?: AbortSignal): Promise<{ calls: Promise<unknown>[] }> {
  const before = service.started.length;
  const calls = Array.from({ length: 3 }, () =>
    service.call(`/api/workflows/${workflow.workflowId}/execute`, {
      method: "POST",
      headers: { "x-api-key": workflow.apiKey, "content-type": "application/json" },
      body: "{}",
      signal,
    }),
  );
  for (const call of calls) call.catch(() => (left += 1));
  waiting.push(...calls);
  while (service.started.length < before + 3) await sleep(5);
  return { calls };
}

test("execute, when as many calls wait as may, answers 503 before anything is read, stored or reserved", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("file", "orders", { required: false })] });
  await fill(workflow);
  const before = await findLeftovers(service);
  const answer = await sendForm(service, workflow, [{ name: "orders", fileName: "a.csv", content: "1" }]);
  expect([answer.status, answer.headers["retry-after"], answer.json()]).toEqual([
    503,
    "7",
    { error: "Service busy", message: expect.stringContaining("No more calls can wait here") },
  ]);
  expect(service.started).toHaveLength(3);
  expect(await findLeftovers(service)).toEqual(before);
});

test("execute, when as many calls wait as may, still takes one that does not wait", async () => {
  const workflow = await aWorkflow(service.db);
  await fill(workflow);
  expect((await execute(service, workflow, {}, { prefer: "respond-async" })).status).toBe(202);
});

test("execute, when a waiting call is answered, takes the next", async () => {
  const workflow = await aWorkflow(service.db);
  const { calls } = await fill(workflow);
  const [first] = service.started.splice(0, 1);
  await succeed(service.db, { executionId: first?.executionId as ExecutionId });
  await Promise.race(calls);
  const next = execute(service, workflow, {}, { prefer: "wait=1" });
  expect((await next).status).toBe(202);
});

test("execute, when callers leave, gives their places to others", async () => {
  const workflow = await aWorkflow(service.db);
  const callers = new AbortController();
  await fill(workflow, callers.signal);
  callers.abort();
  while (left < 3) await sleep(5);
  // The server hears of it in a moment.
  let statuses: number[] = [];
  for (let tries = 0; (tries < 20 && !statuses.every((status) => status === 202)) || tries === 0; tries++) {
    const answers = await Promise.all([1, 2, 3].map(() => execute(service, workflow, {}, { prefer: "wait=1" })));
    statuses = answers.map((answer) => answer.status);
  }
  expect(statuses).toEqual([202, 202, 202]);
});

test.each([
  ["with invalid inputs", { nonsense: 1 }, 400],
  ["that is not JSON", "{", 400],
])("execute, refused %s, gives its place back", async (_circumstance, body, status) => {
  const workflow = await aWorkflow(service.db);
  for (let calls = 0; calls < 5; calls += 1) expect((await execute(service, workflow, body)).status).toBe(status);
  expect((await execute(service, workflow, {}, { prefer: "wait=1" })).status).toBe(202);
});

test("createWaitingCalls, when a place is given back twice, counts it once", () => {
  const places = createWaitingCalls(2);
  const [leave] = [places.enter(ONE), places.enter(ONE)];
  expect(places.enter(ONE)).toBeUndefined();
  leave?.();
  leave?.();
  expect([places.enter(ONE), places.enter(ONE)]).toEqual([expect.any(Function), undefined]);
});

test("createWaitingCalls, when one account takes what it can, keeps places for others, however many such accounts", () => {
  const max = 1_000;
  const places = createWaitingCalls(max);
  const takeAll = (accountId: AccountId): number => {
    let taken = 0;
    while (taken <= max && places.enter(accountId)) taken += 1;
    return taken;
  };
  expect(takeAll(ONE)).toBe(800);
  expect(takeAll("acct_two" as AccountId)).toBe(160);
  expect(takeAll("acct_three" as AccountId)).toBe(32);
  expect(places.enter("acct_four" as AccountId)).toBeDefined();
});
