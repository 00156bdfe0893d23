import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { claimAttempt, endAttempt } from "../../db/executions/attempts.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { forgetKeys } from "../../db/executions/idempotency.ts";
import { findBalance, release, reserve, settle } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { anAccount, anInput, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import type { Answer } from "../support/https.ts";
import {
  aFileService,
  execute,
  findLeftovers,
  forgetExecutions,
  SUCCESS_COST,
  succeed,
  type TestServiceOptions,
} from "./service.ts";

let run: NonNullable<TestServiceOptions["run"]> = succeed;

const service = await aFileService({
  run: (db, start) => run(db, start),
  rateLimits: { perMinute: 1, burst: 20, accountPerMinute: 1 },
});

const countFiles = async (): Promise<number> => (await findLeftovers(service)).files.length;

afterEach(async () => {
  run = succeed;
  await forgetExecutions(service);
});

const KEY = "a key of 2026";

function repeat(workflow: TestWorkflow, body: unknown = {}, headers: Record<string, string> = {}): Promise<Answer> {
  return execute(service, workflow, body, { "idempotency-key": KEY, ...headers });
}

const INPUTS = [
  anInput("string", "region"),
  anInput("json", "options", { required: false }),
  anInput("integer", "count", { required: false, default: 3 }),
];

test("execute, sent again under its key after it ended, answers the same and runs and charges nothing", async () => {
  const workflow = await aWorkflow(service.db, { inputs: INPUTS });
  const first = await repeat(workflow, { region: "EU" });
  const again = await repeat(workflow, { region: "EU" });
  expect([first.status, again.status]).toEqual([200, 200]);
  expect(again.text()).toBe(first.text());
  expect(first.headers["idempotent-replayed"]).toBeUndefined();
  expect(again.headers).toMatchObject({
    "idempotent-replayed": "true",
    "x-execution-id": first.json()["executionId"],
    location: first.headers.location,
  });
  expect(service.started).toHaveLength(1);
  expect(await findLeftovers(service)).toMatchObject({ executions: 1, reservations: 1 });
  expect(await findBalance(service.db, workflow.accountId)).toMatchObject({ balance: 999_949_000n, reserved: 0n });
});

test("execute, sent again while it runs, waits for the same execution", async () => {
  const workflow = await aWorkflow(service.db);
  let go = (): void => undefined;
  run = (db, start) => {
    go = () => void succeed(db, start);
    return Promise.resolve();
  };
  const first = repeat(workflow);
  while (service.started.length === 0) await sleep(5);
  const second = repeat(workflow);
  await sleep(100);
  go();
  const [one, other] = await Promise.all([first, second]);
  expect([one.status, other.status, other.text()]).toEqual([200, 200, one.text()]);
  expect(other.headers["idempotent-replayed"]).toBe("true");
  expect(service.started).toHaveLength(1);
});

test("execute, 200 times at once under one key and a rate limit of 20, runs once, charges once, answers all alike", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("file", "orders")] });
  const filesBefore = await countFiles();
  run = async (db, start) => {
    await sleep(50);
    await succeed(db, start);
  };
  const call = () =>
    service.call(`/api/workflows/${workflow.workflowId}/execute`, {
      method: "POST",
      headers: {
        "x-api-key": workflow.apiKey,
        "idempotency-key": KEY,
        "content-type": "multipart/form-data; boundary=b",
      },
      body: '--b\r\nContent-Disposition: form-data; name="orders"; filename="a.csv"\r\n\r\n1;2\r\n--b--\r\n',
    });
  const answers = await Promise.all(Array.from({ length: 200 }, call));
  expect(new Set(answers.map((answer) => `${answer.status} ${answer.text()}`)).size).toBe(1);
  expect(answers[0]?.json()).toMatchObject({ status: "success", cost: SUCCESS_COST });
  expect(answers.filter((answer) => answer.headers["idempotent-replayed"] === undefined)).toHaveLength(1);
  expect(service.started).toHaveLength(1);
  expect(await findBalance(service.db, workflow.accountId)).toMatchObject({ balance: 999_949_000n, reserved: 0n });
  expect(await findLeftovers(service)).toMatchObject({ executions: 1, reservations: 1 });
  expect((await countFiles()) - filesBefore).toBe(1);
  const buckets = await queryRows<{ tokens: number }>(
    service.db,
    `select round(extract(epoch from busy_until - now()) / 60) as tokens from rate_buckets`,
  );
  expect(buckets.map((bucket) => Number(bucket.tokens))).toEqual([1, 1]);
});

test("execute, with one key for two workflows of an account, runs both", async () => {
  const workflow = await aWorkflow(service.db);
  const other = await aWorkflow(service.db, { accountId: workflow.accountId });
  const answers = [await repeat(workflow), await repeat(other)];
  expect(answers.map((answer) => [answer.status, answer.headers["idempotent-replayed"]])).toEqual([
    [200, undefined],
    [200, undefined],
  ]);
  expect(service.started).toHaveLength(2);
});

test("execute, whose program failed, answers the same failure again", async () => {
  const workflow = await aWorkflow(service.db);
  run = async (db, { executionId }) => {
    await reserve(db, executionId);
    await claimAttempt(db, { executionId, hostId: "h", processId: "p", leaseSeconds: 20, lostMax: 3 });
    const outcome = { status: "failed", message: "ValueError", secondsUsed: 2 } as const;
    await endAttempt(db, { executionId, attempt: 1, processId: "p", outcome });
    await settle(db, { executionId, ...outcome, compute: microCredits(20_000n), total: microCredits(21_000n) });
  };
  const first = await repeat(workflow);
  const again = await repeat(workflow);
  expect([first.status, again.status, again.text()]).toEqual([500, 500, first.text()]);
  expect(again.headers["idempotent-replayed"]).toBe("true");
  expect(service.started).toHaveLength(1);
});

test("execute, that ended by our fault, answers the same again: its program may have run", async () => {
  const workflow = await aWorkflow(service.db);
  run = async (db, { executionId }) =>
    void (await release(db, { executionId, status: "failed", failure: "internal", message: "The worker was lost." }));
  const first = await repeat(workflow);
  expect([first.status, (await repeat(workflow)).text()]).toEqual([500, first.text()]);
});

test("execute, refused for lack of credits before anything runs, leaves the key for a call after the top-up", async () => {
  const workflow = await aWorkflow(service.db, { accountId: await anAccount(service.db, { credits: "1" }) });
  expect((await repeat(workflow)).status).toBe(402);
  expect((await findLeftovers(service)).executions).toBe(0);
  await queryRows(
    service.db,
    "insert into ledger_entries (account_id, kind, amount, reason) values (:id, 'grant', 10000000, 'test')",
    { id: workflow.accountId },
  );
  const answer = await repeat(workflow, {});
  expect([answer.status, answer.headers["idempotent-replayed"]]).toEqual([200, undefined]);
});

test.each([
  ["refused its credits after all", "insufficient_credits", 402],
  ["could not be started", "no_capacity", 503],
] as const)("execute, when it %s, gives its key back", async (_circumstance, failure, status) => {
  const workflow = await aWorkflow(service.db);
  run = async (db, { executionId }) =>
    void (await release(db, { executionId, status: "failed", failure, message: "Refused." }));
  const refused = await repeat(workflow);
  expect(refused.status).toBe(status);
  run = succeed;
  const answer = await repeat(workflow);
  expect([answer.status, answer.headers["idempotent-replayed"]]).toEqual([200, undefined]);
  expect(answer.json()["executionId"]).not.toBe(refused.json()["executionId"]);
});

test("execute, with invalid inputs, leaves the key for a call with valid ones", async () => {
  const workflow = await aWorkflow(service.db, { inputs: INPUTS });
  expect((await repeat(workflow, { region: 3 })).status).toBe(400);
  expect((await repeat(workflow, { region: "EU" })).status).toBe(200);
});

test("execute, sent again when the account has nothing left, is told of its own execution", async () => {
  const workflow = await aWorkflow(service.db, { accountId: await anAccount(service.db, { credits: "3.1" }) });
  run = async (db, { executionId }) => void (await reserve(db, executionId));
  const first = await repeat(workflow, {}, { prefer: "respond-async" });
  const again = await repeat(workflow, {}, { prefer: "respond-async" });
  expect([first.status, again.status, again.text()]).toEqual([202, 202, first.text()]);
  await succeed(service.db, { executionId: first.json()["executionId"] as ExecutionId });
});

test.each([
  ["empty", "", "is empty"],
  ["of 256 characters", "k".repeat(256), "longer than 255"],
  ["with a control character", "a\tb", "control characters"],
  ["sent twice", ["one", "one"], "more than once"],
])("execute, with a key that is %s, answers 400, and 401 without an API key", async (_circumstance, key, message) => {
  const workflow = await aWorkflow(service.db);
  const call = (headers: Record<string, string>) =>
    service.call(`/api/workflows/${workflow.workflowId}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key, ...headers },
      body: "{}",
    });
  const answer = await call({ "x-api-key": workflow.apiKey });
  expect([answer.status, answer.json()]).toEqual([
    400,
    { error: "Invalid request", message: expect.stringContaining(message) },
  ]);
  expect((await call({})).status).toBe(401);
  expect(service.started).toEqual([]);
});

test.each([
  ["of 255 characters", "k".repeat(255)],
  ["in quotes, as a structured field", '"8e03978e-40d5-43dd-bc93-6894a57f9324"'],
  ["of other letters", Buffer.from("größe").toString("latin1")],
])("execute, with a key %s, takes it as it is", async (_circumstance, key) => {
  const workflow = await aWorkflow(service.db);
  const answers = [
    await repeat(workflow, {}, { "idempotency-key": key }),
    await repeat(workflow, {}, { "idempotency-key": key }),
  ];
  expect(answers.map((answer) => [answer.status, answer.headers["idempotent-replayed"]])).toEqual([
    [200, undefined],
    [200, "true"],
  ]);
});

test("execute, recorded by a service that was killed before the start, is started by the call that is sent again", async () => {
  const workflow = await aWorkflow(service.db);
  run = () => new Promise(() => undefined);
  const caller = new AbortController();
  const lost = service.call(`/api/workflows/${workflow.workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": workflow.apiKey, "content-type": "application/json", "idempotency-key": KEY },
    body: "{}",
    signal: caller.signal,
  });
  lost.catch(() => undefined);
  while (service.started.length === 0) await sleep(5);
  caller.abort();
  run = succeed;
  service.started.length = 0;
  await queryRows(service.db, "update executions set admitted_at = now() - interval '3 seconds'");
  const answer = await repeat(workflow);
  expect([answer.status, answer.json()["status"], answer.headers["idempotent-replayed"]]).toEqual([
    200,
    "success",
    "true",
  ]);
  expect(service.started).toMatchObject([{ executionId: answer.json()["executionId"], timeoutSeconds: 300 }]);
});

test("keys, when their days are over, are forgotten, and the execution is not", async () => {
  const workflow = await aWorkflow(service.db);
  const first = await repeat(workflow);
  const id = first.json()["executionId"] as ExecutionId;
  await queryRows(service.db, "update executions set created_at = now() - interval '29 days 23 hours'");
  expect(await forgetKeys(service.db, { days: 30, limit: 10 })).toBe(0);
  expect((await repeat(workflow)).json()["executionId"]).toBe(id);
  await queryRows(service.db, "update executions set created_at = now() - interval '30 days 1 minute'");
  expect(await forgetKeys(service.db, { days: 30, limit: 10 })).toBe(1);
  expect((await repeat(workflow)).json()["executionId"]).not.toBe(id);
  expect((await findExecution(service.db, id))?.state).toBe("success");
});
