import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test } from "@jest/globals";
import { type Db, queryRows } from "../../db/connect.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { reserve, settle } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { aWorkflow, type TestWorkflow } from "../support/builders.ts";
import type { Answer } from "../support/https.ts";
import { aFileService, execute, type Start, SUCCESS_COST, succeed } from "./service.ts";

const EVENTS = { accept: "text/event-stream" };
const LINE = `${JSON.stringify({ id: 1, time: "2026-05-01T10:00:00.000Z", stream: "stdout", text: "hello" })}\n`;

let workflow: TestWorkflow;
/** What the next execution does. */
let program: (db: Db, start: Start) => Promise<void> = succeed;
let isLive = true;

const service = await aFileService({
  waitingCallsMax: 2,
  run: (db, start) => program(db, start),
  liveLog: async (_, start = 0) => (isLive ? Readable.from([Buffer.from(LINE).subarray(start)]) : undefined),
});

beforeAll(async () => {
  workflow = await aWorkflow(service.db);
});

interface Event {
  readonly name: string;
  readonly data: Record<string, unknown>;
}

function eventsOf(answer: Answer): Event[] {
  return answer
    .text()
    .split("\n\n")
    .filter((event) => event !== "" && !event.startsWith(":"))
    .map((event) => ({
      name: /^(?:event|id): (.*)$/m.exec(event)?.[1] ?? "",
      data: JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? "") as Record<string, unknown>,
    }));
}

/** A call that is told events, and the moment when it is told the first. */
function follow(
  followed: TestWorkflow,
  headers: Record<string, string> = {},
): { answer: Promise<Answer>; isTold: Promise<void> } {
  let onPiece = (): void => undefined;
  const isTold = new Promise<void>((resolve) => (onPiece = resolve));
  const answer = service.call(`/api/workflows/${followed.workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": followed.apiKey, "content-type": "application/json", ...EVENTS, ...headers },
    body: "{}",
    onPiece: () => onPiece(),
  });
  return { answer, isTold };
}

/** Runs until the test ends it by `endProgram`. */
const runOn = async (): Promise<void> => undefined;
const endProgram = (): Promise<void> => succeed(service.db, service.started.at(-1) as Start);

test("execute, asked for events, says which execution it is, tells its log as it comes, and its result", async () => {
  program = runOn;
  const call = follow(workflow);
  await call.isTold;
  await endProgram();
  const answer = await call.answer;
  const executionId = answer.headers["x-execution-id"];
  expect(answer.status).toBe(200);
  expect(answer.headers).toMatchObject({
    "content-type": "text/event-stream; charset=utf-8",
    location: `${service.apiUrl}/run-logs/${String(executionId)}`,
    "server-timing": expect.stringContaining("start"),
  });
  expect(eventsOf(answer)).toEqual([
    { name: "status", data: { executionId, status: "running" } },
    { name: "1", data: { time: "2026-05-01T10:00:00.000Z", stream: "stdout", text: "hello" } },
    { name: "result", data: { status: "success", executionId, duration: 1.234, outputs: {}, cost: SUCCESS_COST } },
  ]);
});

test("execute, asked for events, of a program that fails, tells the failure as the result", async () => {
  program = async (db, { executionId }) => {
    await reserve(db, executionId);
    const nothing = { secondsUsed: 0.1, compute: microCredits(1n), total: microCredits(1n) };
    await settle(db, { executionId, status: "failed", ...nothing });
  };
  const events = eventsOf(await execute(service, workflow, {}, EVENTS));
  expect(events.at(-1)).toMatchObject({ name: "result", data: { status: "failed", message: "The program failed." } });
});

test("execute, asked for events, with inputs that are wrong, is refused as any other call", async () => {
  const answer = await execute(service, workflow, { nobody: 1 }, EVENTS);
  expect([answer.status, answer.headers["content-type"]]).toEqual([400, "application/json; charset=utf-8"]);
});

test.each([
  ["anything", "*/*"],
  ["JSON before events", "application/json, text/event-stream;q=0.5"],
  ["something else", "text/html"],
])("execute, of who takes %s, answers JSON", async (_, accept) => {
  program = succeed;
  const answer = await execute(service, workflow, {}, { accept });
  expect([answer.status, answer.json()]).toEqual([200, expect.objectContaining({ status: "success" })]);
});

test("execute, asked for events and not to wait, tells the events and applies no preference", async () => {
  program = runOn;
  const call = follow(workflow, { prefer: "respond-async, wait=0" });
  await call.isTold;
  await endProgram();
  const answer = await call.answer;
  expect(answer.headers["preference-applied"]).toBeUndefined();
  expect(eventsOf(answer).at(-1)).toMatchObject({ name: "result", data: { status: "success" } });
});

test("execute, asked for events again with its idempotency key, goes on behind the last line", async () => {
  program = runOn;
  const key = { "idempotency-key": "events-1" };
  const first = follow(workflow, key);
  await first.isTold;
  const second = follow(workflow, { ...key, "last-event-id": "1" });
  await second.isTold;
  await endProgram();
  const again = await second.answer;
  expect(again.headers).toMatchObject({
    "idempotent-replayed": "true",
    "x-execution-id": (await first.answer).headers["x-execution-id"],
  });
  expect(eventsOf(again).map(({ name }) => name)).toEqual(["status", "result"]);
});

test("execute, asked for events, takes a place among the waiting calls until it is over or its caller gone", async () => {
  program = async () => undefined;
  const gone = new AbortController();
  const started = service.started.length;
  const waiting = [0, 1].map(() =>
    service
      .call(`/api/workflows/${workflow.workflowId}/execute`, {
        method: "POST",
        headers: { "x-api-key": workflow.apiKey, "content-type": "application/json", ...EVENTS },
        body: "{}",
        signal: gone.signal,
      })
      .catch(() => undefined),
  );
  while (service.started.length < started + 2) await sleep(5);
  expect((await execute(service, workflow, {}, EVENTS)).status).toBe(503);
  gone.abort();
  await Promise.all(waiting);
  program = succeed;
  let answer = await execute(service, workflow, {}, EVENTS);
  for (let tries = 0; answer.status === 503 && tries < 100; tries++) {
    await sleep(20);
    answer = await execute(service, workflow, {}, EVENTS);
  }
  expect(answer.status).toBe(200);
  // Those whose callers left go on.
  for (const { executionId } of service.started.slice(started, started + 2))
    expect((await findExecution(service.db, executionId))?.finishedAt).toBeNull();
});

test("execute, asked for events, while others of its workflow run, tells its place in the queue", async () => {
  const one = await aWorkflow(service.db, { manifest: { concurrency: { executionsMax: 1, whenFull: "queue" } } });
  isLive = false;
  program = runOn;
  const first = await execute(service, one, {}, { prefer: "respond-async" });
  const second = follow(one);
  await second.isTold;
  const { executionId } = first.json() as { executionId: ExecutionId };
  await succeed(service.db, { executionId });
  const [queued] = await queryRows<{ id: ExecutionId }>(
    service.db,
    "select id from executions where workflow_id = :workflowId and finished_at is null",
    { workflowId: one.workflowId },
  );
  await succeed(service.db, { executionId: queued?.id as ExecutionId });
  const events = eventsOf(await second.answer);
  isLive = true;
  expect(events[0]).toEqual({ name: "status", data: { executionId: queued?.id, status: "queued", queuePosition: 1 } });
  expect(events.at(-1)?.name).toBe("result");
});
