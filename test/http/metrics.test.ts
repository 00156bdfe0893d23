import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Registry } from "prom-client";
import { queryRows } from "../../db/connect.ts";
import { countRepairs } from "../../db/executions/repairs.ts";
import { release, reserve } from "../../db/ledger/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { toFigures } from "../../src/housekeeping/retention.ts";
import { createRequestMetrics } from "../../src/http/server/request-metrics.ts";
import { countEndedExecutions, type EndedExecutions } from "../../src/metrics/ended.ts";
import { createMetrics } from "../../src/metrics/metrics.ts";
import { anAccount, anExecution, aWorkflow } from "../support/builders.ts";
import { aService, execute, succeed, type TestService } from "./service.ts";

const FIGURES = /^(\w+)(?:\{(.*)\})? (\S+)$/;

let service: TestService;
let ended: EndedExecutions;
let metrics: { read: () => Promise<string> };

beforeAll(async () => {
  const registry = new Registry();
  service = await aService({
    countRequest: createRequestMetrics(registry),
    metrics: () => metrics.read(),
    rateLimits: { perMinute: 60, burst: 3, accountPerMinute: 0 },
  });
  ended = countEndedExecutions({ db: service.db, registry });
  metrics = createMetrics({
    registry,
    db: service.db,
    endedExecutions: ended,
    readiness: async () => ({
      ready: false,
      checks: { database: { ok: true, message: "" }, storage: { ok: false, message: "It is full." } },
    }),

    waitingCalls: () => 2,
    waitingCallsMax: 5_000,
    programsRunning: () => 1,
    programsWaiting: () => 0,
    programsMax: 4,
    programsByPath: () => ({ cold: 3, lane: 7 }),
    lanes: () => ({ lanes: 2, bytes: 1_024, evicted: 5 }),
    removed: () =>
      toFigures({
        executions: 1,
        files: 2,
        logs: 3,
        objects: 4,
        keys: 5,
        rateBuckets: 6,
        ticks: 7,
        schedules: 8,
        draftCommits: 9,
        draftBlobs: 10,
        notices: 11,
      }),
    dataDir: tmpdir(),
    build: { version: "1.2.3", node: "20.0.0", role: "all" },
  });
});

afterAll(() => service?.close());

/** Every figure by its name and labels, as `name{label="value"}`, with the labels in the order of the alphabet. */
async function readFigures(): Promise<Map<string, number>> {
  const text = (await service.call("/metrics")).text();
  const figures = text.split("\n").flatMap((line) => {
    const [, name, labels, value] = FIGURES.exec(line) ?? [];
    if (name === undefined) return [];
    const sorted = [...(labels ?? "").matchAll(/\w+="[^"]*"/g)].map(([label]) => label).sort();
    return [[sorted.length === 0 ? name : `${name}{${sorted.join(",")}}`, Number(value)] as const];
  });
  return new Map(figures);
}

/** What has grown, and by how much, of the figures of a name. */
async function measure(name: string, act: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await readFigures();
  await act();
  const grown = [...(await readFigures())]
    .filter(([key]) => key.startsWith(`${name}{`))
    .map(([key, value]) => [key.slice(name.length), value - (before.get(key) ?? 0)] as const);
  return Object.fromEntries(grown.filter(([, value]) => value !== 0));
}

const labels = (method: string, route: string, status: string): string =>
  `{method="${method}",route="${route}",status="${status}"}`;
const METRICS_ITSELF = { [labels("GET", "/metrics", "2xx")]: 1 };

test("requests, of all kinds, are counted by the pattern of their route, their method and the class of their status", async () => {
  const workflow = await aWorkflow(service.db);
  const path = `/api/workflows/${workflow.workflowId}`;
  const grown = await measure("treadle_http_request_seconds_count", async () => {
    expect((await execute(service, workflow)).status).toBe(200);
    expect((await execute(service, { ...workflow, apiKey: "wrong" })).status).toBe(401);
    await service.call(`${path}/execute`, { method: "PUT" });
    await service.call(`${path}/nothing/here?secret=1`);
    await service.call("/api/run-logs/ex_0000000000000000/files/%2e%2e%2fsecret.pdf");
    await service.call("/healthz");
    await service.call("/wf_private", { method: "PROPFIND" });
  });
  expect(grown).toEqual({
    ...METRICS_ITSELF,
    [labels("POST", "/api/workflows/:workflowId/execute", "2xx")]: 1,
    [labels("POST", "/api/workflows/:workflowId/execute", "4xx")]: 1,
    [labels("PUT", "/api/workflows/:workflowId/execute", "4xx")]: 1,
    [labels("GET", "unknown", "4xx")]: 1,
    [labels("GET", "/api/run-logs/:executionId/files/:fileName", "4xx")]: 1,
    [labels("GET", "/healthz", "2xx")]: 1,
    [labels("other", "unknown", "4xx")]: 1,
  });
});

test("figures, whatever callers send, hold no id, no name and nothing secret", async () => {
  const text = (await service.call("/metrics")).text();
  expect(text).toContain("treadle_http_request_seconds_bucket");
  for (const own of [/\b(wf|ex|acct)_[0-9a-z]{6,}/, /secret|private|PROPFIND|trd_/]) expect(text).not.toMatch(own);
});

test("refusals, for want of credits or of rate, are counted each", async () => {
  const poor = await aWorkflow(service.db, { accountId: await anAccount(service.db, { credits: "0" }) });
  const eager = await aWorkflow(service.db);
  const grown = await measure("treadle_http_refused_total", async () => {
    expect((await execute(service, poor)).status).toBe(402);
    const answers = await Promise.all(Array.from({ length: 5 }, () => execute(service, eager)));
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
  });
  expect(grown['{status="402"}']).toBe(1);
  expect(grown['{status="429"}']).toBeGreaterThan(0);
});

test("executions that end, once heard of, are counted by trigger and status with their times and what they were charged", async () => {
  const workflow = await aWorkflow(service.db);
  const ids: ExecutionId[] = [];
  for (const trigger of ["api", "schedule", "schedule"] as const)
    ids.push(await anExecution(service.db, { workflow, trigger }));
  const [good, bad, open] = ids as [ExecutionId, ExecutionId, ExecutionId];
  await queryRows(service.db, "update executions set started_at = created_at + interval '2 s' where id = :good", {
    good,
  });
  const before = await readFigures();
  await succeed(service.db, { executionId: good });
  await reserve(service.db, bad);
  await release(service.db, { executionId: bad, status: "failed", failure: "internal", message: "ours" });
  for (const id of [good, bad, open]) ended.subscription.onNotify(id);
  const after = await readFigures();
  const grown = (key: string): number => (after.get(key) ?? 0) - (before.get(key) ?? 0);
  expect(grown('treadle_executions_ended_total{status="success",trigger="api"}')).toBe(1);
  expect(grown('treadle_executions_ended_total{status="internal",trigger="schedule"}')).toBe(1);
  expect(grown('treadle_execution_seconds_count{trigger="schedule"}')).toBe(1);
  expect(grown('treadle_execution_wait_seconds_sum{trigger="api"}')).toBeCloseTo(2, 3);
  expect(grown("treadle_credits_settled_total")).toBeCloseTo(0.051, 6);
});

test("ends, of thousands of executions, are looked up when somebody asks, each once", async () => {
  const workflow = await aWorkflow(service.db);
  const id = await anExecution(service.db, { workflow });
  await succeed(service.db, { executionId: id });
  const before = await readFigures();
  const many = Array.from({ length: 1_234 }, (_, index) => `ex_${String(index).padStart(20, "0")}` as ExecutionId);
  // Where one look-up of 500 ends and the next begins.
  for (const each of [...many.slice(0, 499), id, ...many.slice(499)]) ended.subscription.onNotify(each);
  await ended.count();
  const key = 'treadle_executions_ended_total{status="success",trigger="api"}';
  expect(((await readFigures()).get(key) ?? 0) - (before.get(key) ?? 0)).toBe(1);
});

test("figures of the installation, from the database, are those of the record", async () => {
  const workflow = await aWorkflow(service.db);
  const ids = [await anExecution(service.db, { workflow }), await anExecution(service.db, { workflow })];
  await queryRows(
    service.db,
    "update executions set state = 'running', admitted_at = now() - interval '1 h' where id = :id",
    {
      id: ids[0] as string,
    },
  );
  await countRepairs(service.db, "expired", 3);
  // The figures are kept for two seconds, and others have asked.
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  const figures = await readFigures();
  expect(figures.get('treadle_open_executions{state="running"}')).toBe(1);
  expect(figures.get('treadle_open_executions{state="waiting"}')).toBe(0);
  expect(figures.get('treadle_oldest_execution_seconds{state="open"}')).toBeGreaterThanOrEqual(3_600);
  expect(figures.get('treadle_repairs_total{repair="expired"}')).toBe(3);
  expect(figures.get('treadle_repairs_total{repair="started"}')).toBe(0);
  for (const what of ["balance", "reserved", "reservation", "settlement", "days"])
    expect(figures.get(`treadle_ledger_drift_accounts{what="${what}"}`)).toBe(0);
  for (const executionId of ids)
    await release(service.db, { executionId, status: "cancelled", failure: null, message: "" });
});

test("figures of the process and its host, when asked for, are those of the moment", async () => {
  const figures = await readFigures();
  for (const [key, value] of Object.entries({
    'treadle_ready{dependency="database"}': 1,
    'treadle_ready{dependency="storage"}': 0,
    treadle_waiting_calls: 2,
    treadle_programs_max: 4,
    'treadle_programs_total{path="lane"}': 7,
    treadle_lanes: 2,
    treadle_lane_evictions_total: 5,
    'treadle_retention_removed_total{what="draft_blobs"}': 10,
    'treadle_retention_removed_total{what="notices"}': 11,
    'treadle_retention_removed_total{what="draft_commits"}': 9,
    'treadle_retention_removed_total{what="objects"}': 4,
    'treadle_retention_removed_total{what="rate_buckets"}': 6,
    'treadle_retention_removed_total{what="schedules"}': 8,
    'treadle_retention_removed_total{what="ticks"}': 7,
    'treadle_build_info{node="20.0.0",role="all",version="1.2.3"}': 1,
    treadle_http_open_requests: 1,
  }))
    expect([key, figures.get(key)]).toEqual([key, value]);
  expect(figures.get("treadle_data_free_bytes")).toBeGreaterThan(0);
  expect(figures.get("treadle_database_pool_max")).toBeGreaterThan(0);
  expect(figures.get("treadle_nodejs_eventloop_lag_p99_seconds")).toBeDefined();
});
