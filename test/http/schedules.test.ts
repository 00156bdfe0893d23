import { expect, test } from "@jest/globals";
import { insertTicks } from "../../db/schedules/ticks.ts";
import type { WorkflowId } from "../../domain/ids.ts";
import { createExecutionId } from "../../src/ids.ts";

import { aMember, anAccount, anExecution, aSession, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aScheduledWorkflow } from "../support/schedules.ts";
import { aFileService } from "./service.ts";

const SINCE = new Date("2026-05-04T06:30:00Z");

const service = await aFileService();

function ask(workflow: Pick<TestWorkflow, "workflowId">, path: string, headers: Record<string, string>) {
  return service.call(`/api/workflows/${workflow.workflowId}/${path}`, { headers });
}

/** Ticks at so many hours of 4 May 2026. */
async function addTicks(workflowId: WorkflowId, hours: readonly number[]): Promise<void> {
  await insertTicks(
    service.db,
    hours.map((hour) => {
      const nominalAt = new Date(Date.UTC(2026, 4, 4, hour));
      const decidedAt = new Date(nominalAt.getTime() + 250);
      const executionId = createExecutionId();
      return { workflowId, nominalAt, outcome: "started", reason: "", source: "clock", executionId, decidedAt };
    }),
  );
}

test("GET …/schedule, of a workflow with one, shows it as declared, in plain words, with its next runs and last ticks", async () => {
  const schedule = { cron: "0 9 * * 1-5", timezone: "Europe/Berlin", overlap: "queue", jitterSeconds: 30 } as const;
  const payload = { day: "${{ tick.date }}", name: "${{ tick.zone }}", region: "EU" };
  const workflow = await aScheduledWorkflow(service.db, { since: SINCE, schedule: { ...schedule, payload } });
  await addTicks(workflow.workflowId, [7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]);
  const answer = await ask(workflow, "schedule", { "x-api-key": workflow.apiKey });
  const body = answer.json() as {
    nextRuns: { utc: string; local: string; note: string }[];
    lastTicks: { nominalAt: string }[];
  };
  expect([answer.status, body]).toEqual([
    200,
    {
      schedule: {
        ...schedule,
        description: "every weekday at 09:00, Europe/Berlin",
        catchup: "latest",
        maxLatenessSeconds: 3_600,
        since: SINCE.toISOString(),
      },
      paused: false,
      reason: null,
      nextRuns: expect.any(Array),
      lastTicks: expect.any(Array),
    },
  ]);
  expect(body.nextRuns).toHaveLength(10);
  for (const { utc, local, note } of body.nextRuns) {
    expect(local).toMatch(/T09:00:00\+0[12]:00$/);
    expect(Date.parse(utc)).toBe(Date.parse(local));
    expect(note).toBe(`day = ${local.slice(0, 10)}; name = Europe/Berlin`);
  }
  expect(body.lastTicks.map(({ nominalAt }) => nominalAt.slice(11, 13)).join(" ")).toBe(
    "17 16 15 14 13 12 11 10 09 08",
  );
  expect(body.lastTicks[0]).toMatchObject({
    local: "2026-05-04T19:00:00+02:00",
    outcome: "started",
    lateSeconds: 0.25,
  });
});

test("GET …/schedule, of a paused one, says why and has no next runs; of none, is null", async () => {
  const paused = await aScheduledWorkflow(service.db, { since: SINCE, schedule: { enabled: false } });
  expect((await ask(paused, "schedule", { "x-api-key": paused.apiKey })).json()).toMatchObject({
    schedule: { cron: "0 * * * *" },
    paused: true,
    reason: "enabled is false in config.yaml",
    nextRuns: [],
  });
  const plain = await aWorkflow(service.db);
  expect((await ask(plain, "schedule", { "x-api-key": plain.apiKey })).json()).toEqual({
    schedule: null,
    paused: false,
    reason: null,
    nextRuns: [],
    lastTicks: [],
  });
});

test("GET …/ticks, of ticks that started, has the state of each run that is on record", async () => {
  const workflow = await aScheduledWorkflow(service.db, { since: SINCE });
  await addTicks(workflow.workflowId, [7]);
  const executionId = await anExecution(service.db, { workflow });
  const nominalAt = new Date(Date.UTC(2026, 4, 4, 8));
  const tick = {
    nominalAt,
    outcome: "started",
    reason: "",
    source: "clock",
    executionId,
    decidedAt: nominalAt,
  } as const;
  await insertTicks(service.db, [{ ...tick, workflowId: workflow.workflowId }]);
  const answer = await ask(workflow, "ticks", { "x-api-key": workflow.apiKey });
  const { ticks } = answer.json() as { ticks: { status: string | null }[] };
  expect(ticks.map(({ status }) => status)).toEqual(["queued", null]);
});

test("GET …/ticks, page by page, shows every tick once and says when there are no more", async () => {
  const workflow = await aScheduledWorkflow(service.db, { since: SINCE });
  await addTicks(workflow.workflowId, [7, 8, 9, 10]);
  const page = async (query: string) => {
    const answer = await ask(workflow, `ticks?${query}`, { "x-api-key": workflow.apiKey });
    const { ticks, nextBefore } = answer.json() as { ticks: { nominalAt: string }[]; nextBefore: string | null };
    return [ticks.map(({ nominalAt }) => nominalAt.slice(11, 13)).join(" "), nextBefore];
  };
  expect(await page("limit=2")).toEqual(["10 09", "2026-05-04T09:00:00Z"]);
  expect(await page("limit=2&before=2026-05-04T09:00:00Z")).toEqual(["08 07", null]);
  expect(await page("")).toEqual(["10 09 08 07", null]);
});

test.each([
  "limit=0",
  "limit=201",
  "limit=many",
  "before=yesterday",
  "before=0000-01-01T00:00:00Z",
  "before=a&before=b",
])("GET …/ticks, with %s, is refused", async (query) => {
  const workflow = await aScheduledWorkflow(service.db, { since: SINCE });
  const answer = await ask(workflow, `ticks?${query}`, { "x-api-key": workflow.apiKey });
  expect([answer.status, answer.json()]).toEqual([
    400,
    { error: "Invalid request", message: expect.any(String), details: [expect.any(Object)] },
  ]);
});

test.each(["schedule", "ticks"])(
  "GET …/%s, by key, session or token, is for those of the account alone",
  async (path) => {
    const workflow = await aScheduledWorkflow(service.db, { since: SINCE });
    const other = await aWorkflow(service.db);
    const { token } = await aMember(service.db, workflow.accountId);
    const statuses = [
      { "x-api-key": workflow.apiKey },
      { cookie: await aSession(service.db, workflow.accountId) },
      { authorization: `Bearer ${token}` },
      { "x-api-key": other.apiKey },
      { cookie: await aSession(service.db, await anAccount(service.db)) },
      {},
    ].map(async (headers) => (await ask(workflow, path, headers as Record<string, string>)).status);
    expect(await Promise.all(statuses)).toEqual([200, 200, 200, 401, 404, 401]);
  },
);
