import { request as httpsRequest } from "node:https";
import { afterEach, expect, test } from "@jest/globals";
import { findExecution } from "../../db/executions/executions.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { parsePrefer } from "../../src/http/execute/prefer.ts";
import { aWorkflow } from "../support/builders.ts";
import { aFileService, execute, forgetExecutions, succeed, type TestServiceOptions } from "./service.ts";

/** Long enough to be told from none, also on a busy machine. */
const LATER_MS = 400;
/** Long enough for what ends after that, also where everything takes long. */
const WAIT_MAX_SECONDS = 5;

let run: NonNullable<TestServiceOptions["run"]> = succeed;

const service = await aFileService({ waitMaxSeconds: WAIT_MAX_SECONDS, run: (db, start) => run(db, start) });

afterEach(async () => {
  run = succeed;
  await forgetExecutions(service);
});

const runLater: NonNullable<TestServiceOptions["run"]> = async (db, start) => {
  setTimeout(() => void succeed(db, start), LATER_MS);
};
const runForever: NonNullable<TestServiceOptions["run"]> = async () => undefined;

test.each([
  [undefined, {}],
  ["", {}],
  ["respond-async", { respondAsync: true }],
  ["Respond-Async", { respondAsync: true }],
  ['respond-async=""', { respondAsync: true }],
  ["respond-async=yes", {}],
  ["wait=10", { waitSeconds: 10 }],
  ["WAIT = 10", { waitSeconds: 10 }],
  ['wait="10"', { waitSeconds: 10 }],
  ['wait="\\10"', { waitSeconds: 10 }],
  ["wait=0", { waitSeconds: 0 }],
  ["wait=-1", {}],
  ["wait=1.5", {}],
  ["wait=0x10", {}],
  ["wait=soon", {}],
  ["wait", {}],
  ["wait=", {}],
  ["wait=5, wait=9", { waitSeconds: 5 }],
  ["wait=later, wait=9", {}],
  ["respond-async, wait=10", { respondAsync: true, waitSeconds: 10 }],
  ["wait=10;x=1;respond-async , respond-async;y", { respondAsync: true, waitSeconds: 10 }],
  ['return=minimal, x="a, respond-async, \\", wait=3", wait=7', { waitSeconds: 7 }],
  ['handling="lenient;wait=3"; foo, early-hints', { earlyHints: true }],
  ['x="never closed, wait=3', {}],
  [',,;=;=,""', {}],
  ["wait=99999999999999999999999", { waitSeconds: 1e23 }],
])("Prefer: %s, read, is what RFC 7240 says", (value, expected) => {
  expect(parsePrefer(value)).toEqual({
    respondAsync: false,
    waitSeconds: undefined,
    earlyHints: false,
    ...expected,
  });
});

test("parsePrefer, of the longest value that gets here, takes no time", () => {
  const before = process.cpuUsage();
  for (const piece of [",", ";", '"', '\\"', "a=", 'wait="\\', " "]) parsePrefer(piece.repeat(16_000 / piece.length));
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500);
});

test("execute, with respond-async, answers 202 at once with the envelope and where to look", async () => {
  const workflow = await aWorkflow(service.db);
  run = runForever;
  const answer = await execute(service, workflow, {}, { prefer: "respond-async" });
  const executionId = answer.headers["x-execution-id"] as ExecutionId;
  expect([answer.status, answer.json()]).toEqual([
    202,
    { status: "running", executionId, duration: 0, outputs: {}, cost: { compute: 0, total: 0 } },
  ]);
  expect(answer.headers).toMatchObject({
    location: `${service.apiUrl}/run-logs/${executionId}`,
    "retry-after": "5",
    "preference-applied": "respond-async",
    "server-timing": expect.stringMatching(/wait;dur=[0-9]{1,4}\./), // Not the seconds of a wait.
  });
  expect(service.started.at(-1)?.executionId).toBe(executionId);
});

test.each([
  ["wait=1", "wait=1"],
  ["respond-async, wait=1", "respond-async, wait=1"],
])("execute, with %s, of one that takes longer, answers 202 after that second", async (prefer, applied) => {
  const workflow = await aWorkflow(service.db);
  run = runForever;
  const before = performance.now();
  const answer = await execute(service, workflow, {}, { prefer });
  expect([answer.status, answer.json()["status"], answer.headers["preference-applied"]]).toEqual([
    202,
    "running",
    applied,
  ]);
  expect(performance.now() - before).toBeGreaterThanOrEqual(990);
});

test.each([
  ["wait=5", "wait=5"],
  ["respond-async, wait=5", "wait=5"],
  ["wait=999", "wait=5"],
  ["unheard-of, wait=soon", undefined],
])("execute, with %s, of one that ends in time, answers 200 with its result", async (prefer, applied) => {
  const workflow = await aWorkflow(service.db);
  run = runLater;
  const answer = await execute(service, workflow, {}, { prefer });
  expect([answer.status, answer.json()["status"], answer.headers["preference-applied"]]).toEqual([
    200,
    "success",
    applied,
  ]);
});

test("execute, with wait=999, waits no longer than the service's maximum and says so", async () => {
  const workflow = await aWorkflow(service.db);
  run = runForever;
  const answer = await execute(service, workflow, {}, { prefer: "wait=999" });
  expect([answer.status, answer.headers["preference-applied"]]).toEqual([202, "wait=5"]);
});

test("execute, with Prefer in two fields, honours both", async () => {
  const workflow = await aWorkflow(service.db);
  run = runForever;
  const answer = await service.call(`/api/workflows/${workflow.workflowId}/execute`, {
    method: "POST",
    headers: {
      "x-api-key": workflow.apiKey,
      "content-type": "application/json",
      prefer: ["respond-async", "wait=1"],
    },
    body: "{}",
  });
  expect([answer.status, answer.headers["preference-applied"]]).toEqual([202, "respond-async, wait=1"]);
});

test("execute, with respond-async, sent again after the end under its key, answers the result", async () => {
  const workflow = await aWorkflow(service.db);
  const headers = { prefer: "respond-async", "idempotency-key": "k" };
  run = runForever;
  const first = await execute(service, workflow, {}, headers);
  await succeed(service.db, { executionId: first.json()["executionId"] as ExecutionId });
  const again = await execute(service, workflow, {}, headers);
  expect([again.status, again.json()["status"], again.headers["preference-applied"]]).toEqual([
    200,
    "success",
    undefined,
  ]);
});

/** Calls and answers the informational answers that came before the last one. */
function executeListening(
  workflow: { workflowId: string; apiKey: string },
  prefer: string,
  onEarly: () => void = () => undefined,
): Promise<{ early: { statusCode: number; headers: object }[]; status: number }> {
  return new Promise((resolve, reject) => {
    const early: { statusCode: number; headers: object }[] = [];
    const sent = httpsRequest(
      `${service.url}/api/workflows/${workflow.workflowId}/execute`,
      {
        method: "POST",
        ca: service.cert,
        agent: false,
        headers: { "x-api-key": workflow.apiKey, "content-type": "application/json", prefer },
      },
      (response) => {
        response.resume();
        response.on("end", () => resolve({ early, status: response.statusCode ?? 0 }));
      },
    );
    sent.on("information", ({ statusCode, headers }) => {
      early.push({ statusCode, headers });
      onEarly();
    });
    sent.on("error", reject);
    sent.end("{}");
  });
}

test("execute, of a caller that understands early hints, names the execution before it ends", async () => {
  const workflow = await aWorkflow(service.db);
  // It ends only when the hint has arrived.
  let end = (): void => undefined;
  run = async (db, start) => {
    end = () => void succeed(db, start);
  };
  const { early, status } = await executeListening(workflow, "early-hints", () => end());
  const executionId = service.started.at(-1)?.executionId as ExecutionId;
  const location = `${service.apiUrl}/run-logs/${executionId}`;
  expect(early).toEqual([
    {
      statusCode: 103,
      headers: { link: `<${location}>; rel="status"`, location, "x-execution-id": executionId },
    },
  ]);
  expect(status).toBe(200);
  expect((await findExecution(service.db, executionId))?.state).toBe("success");
});

test("execute, of a caller that did not say so, sends it no informational answer", async () => {
  const workflow = await aWorkflow(service.db);
  expect(await executeListening(workflow, "wait=5")).toMatchObject({ early: [], status: 200 });
});
