import { Readable } from "node:stream";
import { beforeAll, expect, test } from "@jest/globals";
import { findExecution } from "../../db/executions/executions.ts";
import { release } from "../../db/ledger/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { createExecutionId } from "../../src/ids.ts";
import { createApiKey } from "../../src/keys/api-key.ts";
import { anExecution, aSession, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import type { Answer } from "../support/https.ts";
import { aFileService, anEndedExecution } from "./service.ts";

let workflow: TestWorkflow;
const live = new Map<string, Buffer[]>();

const service = await aFileService({
  liveLog: async (id, start = 0) =>
    live.has(id) ? Readable.from([Buffer.concat(live.get(id) as Buffer[]).subarray(start)]) : undefined,
});

beforeAll(async () => {
  workflow = await aWorkflow(service.db);
});

function get(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  return service.call(`/api/run-logs/${path}`, { method, headers: { "x-api-key": workflow.apiKey, ...headers } });
}

function anEnded(given: Parameters<typeof anEndedExecution>[2] = {}): Promise<ExecutionId> {
  return anEndedExecution(service, workflow, given);
}

const NOT_FOUND = { error: "Not found", message: expect.any(String) };
const UNAUTHORIZED = { error: "Unauthorized", message: expect.stringContaining("API key is invalid or missing") };

test("run-logs, of an execution that has not ended, answers 200 with its state", async () => {
  const executionId = await anExecution(service.db, { workflow });
  const answer = await get(executionId);
  expect([answer.status, answer.json()]).toEqual([
    200,
    { status: "queued", executionId, duration: 0, outputs: {}, cost: { compute: 0, total: 0 } },
  ]);
  expect(answer.headers["retry-after"]).toBe("2");
});

test("run-logs, of one that failed by our fault, answers 200 with the error", async () => {
  const executionId = await anExecution(service.db, { workflow });
  await release(service.db, { executionId, status: "failed", failure: "internal", message: "The worker was lost." });
  const answer = await get(executionId);
  expect([answer.status, answer.json()]).toEqual([
    200,
    {
      error: "Internal server error",
      message: "The worker was lost.",
      status: "failed",
      executionId,
      duration: 0,
      outputs: {},
      cost: { compute: 0, total: 0 },
    },
  ]);
  expect(answer.headers["retry-after"]).toBeUndefined();
});

test.each(["", "/logs", "/files/a.txt", "/cancel"])(
  "run-logs/…%s, without key, with a foreign one or of an unknown execution, refuses",
  async (suffix) => {
    const executionId = await anEnded({ outputs: { "a.txt": { content: "a" } }, log: [] });
    const method = suffix === "/cancel" ? "POST" : "GET";
    const path = `/api/run-logs/${executionId}${suffix}`;
    const without = await service.call(path, { method });
    expect([without.status, without.json()]).toEqual([401, UNAUTHORIZED]);
    const other = await aWorkflow(service.db);
    for (const key of [other.apiKey, createApiKey(), ""]) {
      const foreign = await service.call(path, { method, headers: { "x-api-key": key } });
      expect([foreign.status, foreign.json()]).toEqual([401, UNAUTHORIZED]);
    }
    for (const unknown of [createExecutionId(), "nonsense", "a%00b"]) {
      const answer = await get(`${unknown}${suffix}`, {}, method);
      expect([answer.status, answer.json()]).toEqual([404, NOT_FOUND]);
      expect((await service.call(`/api/run-logs/${unknown}${suffix}`, { method })).status).toBe(401);
    }
  },
);

test.each(["", "/logs", "/files/a.txt", "/cancel"])(
  "run-logs/…%s, with the owner's session, answers; with a stranger's, 404",
  async (suffix) => {
    const executionId = await anEnded({ outputs: { "a.txt": { content: "a" } }, log: [] });
    const method = suffix === "/cancel" ? "POST" : "GET";
    const path = `/api/run-logs/${executionId}${suffix}`;
    const own = { "sec-fetch-site": "same-origin" };
    expect(
      (
        await service.call(path, {
          method,
          headers: { ...own, cookie: await aSession(service.db, workflow.accountId) },
        })
      ).status,
    ).toBe(200);
    const stranger = await aWorkflow(service.db);
    const answer = await service.call(path, {
      method,
      headers: { ...own, cookie: await aSession(service.db, stranger.accountId) },
    });
    expect([answer.status, answer.json()]).toEqual([404, NOT_FOUND]);
    const ended = await service.call(path, { method, headers: { ...own, cookie: `__Host-session=${"a".repeat(43)}` } });
    expect([ended.status, ended.json()]).toEqual([401, UNAUTHORIZED]);
  },
);

test("cancel, of one under way, answers 202 with the envelope and passes on who asked", async () => {
  const executionId = await anExecution(service.db, { workflow });
  const answer = await get(`${executionId}/cancel`, {}, "POST");
  expect([answer.status, answer.json()]).toEqual([
    202,
    { status: "queued", executionId, duration: 0, outputs: {}, cost: { compute: 0, total: 0 } },
  ]);
  expect(answer.headers.location).toBe(`${service.apiUrl}/run-logs/${executionId}`);
  expect(service.cancelled).toEqual([{ executionId, by: "API key" }]);
  expect((await findExecution(service.db, executionId))?.cancelRequestedBy).toBe("API key");
});

test("cancel, of one that has ended, answers 200 and changes nothing", async () => {
  service.cancelled.length = 0;
  const executionId = await anEnded();
  const answer = await get(`${executionId}/cancel`, {}, "POST");
  expect([answer.status, answer.json()["status"]]).toEqual([200, "success"]);
  expect(service.cancelled).toEqual([]);
  expect((await findExecution(service.db, executionId))?.cancelRequestedBy).toBeNull();
});

const LINES = [
  '{"id":1,"time":"2026-05-01T10:00:00.000Z","stream":"stdout","text":"größe 😀"}\n',
  '{"id":2,"time":"2026-05-01T10:00:01.000Z","stream":"stderr","text":"<script>alert(1)</script>"}\n',
];
const TEXT = "2026-05-01T10:00:00.000Z stdout größe 😀\n2026-05-01T10:00:01.000Z stderr <script>alert(1)</script>\n";

test("logs, of an ended execution, are plain text", async () => {
  const answer = await get(`${await anEnded({ log: LINES })}/logs`);
  expect([answer.status, answer.text()]).toEqual([200, TEXT]);
  expect(answer.headers).toMatchObject({
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
  });
});

test("logs, of an execution that wrote nothing, are empty", async () => {
  const answer = await get(`${await anEnded()}/logs`);
  expect([answer.status, answer.text()]).toEqual([200, ""]);
});

test("logs, while it runs, are what there is, without the line being written", async () => {
  const executionId = await anExecution(service.db, { workflow });
  // Cut everywhere, also within characters.
  const bytes = Buffer.from(`${LINES.join("")}{"id":3,"time":"2026-`);
  live.set(
    executionId,
    Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)),
  );
  expect((await get(`${executionId}/logs`)).text()).toBe(TEXT);
});

test("run-logs, with other methods, answer 405 with Allow", async () => {
  const executionId = await anEnded({ outputs: { "a.txt": { content: "a" } } });
  for (const [suffix, allow] of [
    ["", "GET, HEAD"],
    ["/logs", "GET, HEAD"],
    ["/files/a.txt", "GET, HEAD"],
    ["/cancel", "POST"],
  ] as const) {
    const answer = await get(`${executionId}${suffix}`, {}, "PUT");
    expect([answer.status, answer.json(), answer.headers.allow]).toEqual([
      405,
      { error: "Method not allowed", message: expect.any(String) },
      allow,
    ]);
  }
});
