import { expect, test } from "@jest/globals";
import type { Schedule } from "../../domain/manifest/manifest.ts";
import { anInput, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { type Answer, aForm, type Part } from "../support/https.ts";
import { watchLoop } from "../support/loop-watch.ts";
import { aFileService, aService, expectRefused, findLeftovers, NOTHING } from "./service.ts";

const service = await aFileService();

const REGION = anInput("select", "region", { options: ["EU", "US"] });
const ORDERS = anInput("file", "orders", { accept: [".csv"], bytesMax: 1_000 });
const EVERY_NOON: Schedule = {
  enabled: true,
  cron: "0 12 * * *",
  timezone: "Asia/Kathmandu",
  payload: { region: "EU" },
  overlap: "skip",
  catchup: "latest",
  maxLatenessSeconds: 3_600,
  jitterSeconds: 0,
};

function validate(workflow: TestWorkflow, body: unknown, key = workflow.apiKey): Promise<Answer> {
  return service.call(`/api/workflows/${workflow.workflowId}/validate`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

function validateForm(workflow: TestWorkflow, parts: readonly Part[]): Promise<Answer> {
  const { headers, body } = aForm(parts);
  return service.call(`/api/workflows/${workflow.workflowId}/validate`, {
    method: "POST",
    headers: { "x-api-key": workflow.apiKey, ...headers },
    body,
  });
}

test("validate, inputs that execute would take, says so with the next times and starts nothing", async () => {
  const triggers = { api: { enabled: true }, schedule: EVERY_NOON };
  const workflow = await aWorkflow(service.db, { inputs: [REGION], manifest: { triggers } });
  const answer = await validate(workflow, { region: "EU" });
  expect(answer.status).toBe(200);
  const { valid, nextRuns } = answer.json() as { valid: boolean; nextRuns: { utc: string; local: string }[] };
  expect([valid, nextRuns.length]).toEqual([true, 10]);
  expect(answer.json()["schedule"]).toEqual({ description: "every day at 12:00, Asia/Kathmandu", paused: false });
  for (const { utc, local } of nextRuns) {
    expect(local).toMatch(/T12:00:00\+05:45$/);
    expect(new Date(utc).getTime()).toBe(new Date(local).getTime());
  }
  expect(service.started).toEqual([]);
  expect(await findLeftovers(service)).toEqual(NOTHING);
});

test("validate, of a schedule over changes of the clock, notes what they do", async () => {
  const sundays = { ...EVERY_NOON, timezone: "Europe/Berlin", payload: {} };
  // Ten runs of one of these hold the last Sunday of March, of the other the last of October, whatever year it is.
  const [forward, back] = await Promise.all(
    ["30 2 24-31 3 *", "30 2 24-31 10 *"].map(async (cron) => {
      const triggers = { api: { enabled: true }, schedule: { ...sundays, cron } };
      const answer = await validate(await aWorkflow(service.db, { manifest: { triggers } }), {});
      return (answer.json() as { nextRuns: { note?: string }[] }).nextRuns.flatMap(({ note }) => note ?? []);
    }),
  );
  expect(forward).toContain("02:30 does not exist: the clock is put forward from 02:00 to 03:00");
  expect(back).toContain("02:30 comes twice that day: it runs once, the first time");
});

test("validate, without a schedule, has no next times", async () => {
  const answer = await validate(await aWorkflow(service.db, { inputs: [REGION] }), { inputs: { region: "US" } });
  expect([answer.status, answer.json()]).toEqual([200, { valid: true, nextRuns: [] }]);
});

test("validate, wrong inputs, names every problem as execute does", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [REGION] });
  const body = { region: "Mars", reg: 1 };
  const answers = [await validate(workflow, body)];
  answers.push(
    await service.call(`/api/workflows/${workflow.workflowId}/execute`, {
      method: "POST",
      headers: { "x-api-key": workflow.apiKey, "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
  expect(answers.map(({ status }) => status)).toEqual([400, 400]);
  expect(answers[0]?.json()).toEqual(answers[1]?.json());
});

test("validate, a form with a file, judges it and keeps nothing of it", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [ORDERS] });
  const file = { name: "orders", fileName: "orders.csv", content: "a,b\n1,2\n", contentType: "text/csv" };
  expect((await validateForm(workflow, [file])).status).toBe(200);
  expect(await findLeftovers(service)).toEqual(NOTHING);
  const large = await validateForm(workflow, [{ ...file, content: "x".repeat(1_001) }]);
  await expectRefused(service, large, 413, {
    error: "Payload too large",
    message: expect.stringContaining("orders"),
    details: [{ input: "orders", message: expect.any(String) }],
  });
});

test("validate, with a key that is not the workflow's, is refused", async () => {
  const [workflow, other] = [await aWorkflow(service.db), await aWorkflow(service.db)];
  expect((await validate(workflow, {}, other.apiKey)).status).toBe(401);
});

test("validate, of many long values against patterns that cost much, is refused by name and leaves the event loop free", async () => {
  const pattern = "a*".repeat(98);
  const inputs = Array.from({ length: 95 }, (_, at) =>
    anInput("string", `code${at}`, { pattern, charactersMax: 10_000 }),
  );
  const workflow = await aWorkflow(service.db, { inputs });
  const watch = watchLoop();
  const answer = await validate(workflow, Object.fromEntries(inputs.map(({ name }) => [name, "a".repeat(9_700)])));
  expect(watch.stop()).toBeLessThan(300);
  expect(answer.status).toBe(400);
  expect(answer.json()["message"]).toMatch(/code\d+ takes too long to compare with its pattern/);
});

test("validate, sent more often than executions may start, is refused, and execute still has its own limit", async () => {
  const limited = await aService({ rateLimits: { perMinute: 6, burst: 2, accountPerMinute: 600 } });
  try {
    const workflow = await aWorkflow(limited.db, { inputs: [REGION] });
    const call = (route: string) =>
      limited.call(`/api/workflows/${workflow.workflowId}/${route}`, {
        method: "POST",
        headers: { "x-api-key": workflow.apiKey, "content-type": "application/json" },
        body: JSON.stringify({ region: "EU" }),
      });
    const answers = [await call("validate"), await call("validate"), await call("validate")];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[2]?.json()).toEqual({
      error: "Rate limit exceeded",
      message: expect.stringMatching(
        /^There were more calls than validate takes of this workflow: 6 a minute, 2 at once/,
      ),
    });
    expect(Number(answers[2]?.headers["retry-after"])).toBeGreaterThan(0);
    expect((await call("execute")).status).toBe(200);
  } finally {
    await limited.close();
  }
});
