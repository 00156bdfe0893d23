import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { insertOperatorToken } from "../../../db/access.ts";
import { findTarget } from "../../../db/commits.ts";
import { queryRows } from "../../../db/connect.ts";
import type { WorkflowId } from "../../../domain/ids.ts";
import { hashApiKey, isApiKey } from "../../../src/keys/api-key.ts";
import { hashToken } from "../../../src/keys/tokens.ts";
import { anAccount, anExecution, aWorkflow } from "../../support/builders.ts";
import { anOperatorService, type OperatorService } from "./operator-service.ts";

let service: OperatorService;
beforeAll(async () => {
  service = await anOperatorService();
});
afterAll(() => service.close());

const opens = async (workflowId: WorkflowId, apiKey: string): Promise<boolean | undefined> =>
  (await findTarget(service.db, workflowId, hashApiKey(apiKey)))?.keyValid;

test("POST /workflows, with a name, makes one without a commit whose key works", async () => {
  const created = await service.operator("/api/operator/workflows", { method: "POST", json: { name: "Fresh" } });
  expect([created.status, created.json()]).toEqual([
    201,
    { workflowId: expect.stringMatching(/^wf_/), apiKey: expect.any(String) },
  ]);
  const { workflowId, apiKey } = created.json() as { workflowId: WorkflowId; apiKey: string };
  expect([isApiKey(apiKey), await opens(workflowId, apiKey)]).toEqual([true, true]);
  const shown = await service.operator(`/api/operator/workflows/${workflowId}`);
  expect(shown.json()).toMatchObject({ workflowId, name: "Fresh", accountId: service.accountId, commitId: null });
  const key = await service.operator(`/api/operator/workflows/${workflowId}/key`);
  expect(key.json()).toEqual({ apiKey, previousKeyExpiresAt: null });
});

test("POST /key/rotate, without grace, ends the old key at once", async () => {
  const { workflowId, apiKey } = await aWorkflow(service.db, { accountId: service.accountId });
  const rotated = await service.operator(`/api/operator/workflows/${workflowId}/key/rotate`, { method: "POST" });
  expect([rotated.status, rotated.json()]).toEqual([200, { apiKey: expect.any(String), previousKeyExpiresAt: null }]);
  const fresh = rotated.json()["apiKey"] as string;
  expect([await opens(workflowId, apiKey), await opens(workflowId, fresh)]).toEqual([false, true]);
  const shown = await service.operator(`/api/operator/workflows/${workflowId}/key`);
  expect(shown.json()).toEqual({ apiKey: fresh, previousKeyExpiresAt: null });
  const lines = service.logged.filter((line) => line["workflowId"] === workflowId);
  expect(lines.map(({ event, userId }) => [event, userId])).toEqual([
    ["key.rotated", null],
    ["key.revealed", null],
  ]);
  expect(JSON.stringify(lines)).not.toContain(fresh);
});

test("POST /key/rotate, with an hour's grace, keeps the old key until then and says so later too", async () => {
  const { workflowId, apiKey } = await aWorkflow(service.db, { accountId: service.accountId });
  const path = `/api/operator/workflows/${workflowId}/key`;
  const rotated = (await service.operator(`${path}/rotate`, { method: "POST", json: { graceSeconds: 3600 } })).json();
  expect([await opens(workflowId, apiKey), await opens(workflowId, rotated["apiKey"] as string)]).toEqual([true, true]);
  const seconds = (Date.parse(rotated["previousKeyExpiresAt"] as string) - Date.now()) / 1000;
  expect(seconds).toBeGreaterThan(3_500);
  expect(seconds).toBeLessThan(3_700);
  expect((await service.operator(path)).json()).toEqual(rotated);
});

test.each([[{ graceSeconds: -1 }], [{ graceSeconds: 1.5 }], [{ graceSeconds: 1e9 }], [{ grace: 5 }]])(
  "POST /key/rotate, with %j, answers 400 and keeps the key",
  async (json) => {
    const { workflowId, apiKey } = await aWorkflow(service.db, { accountId: service.accountId });
    const answer = await service.operator(`/api/operator/workflows/${workflowId}/key/rotate`, { method: "POST", json });
    expect(answer.status).toBe(400);
    expect(await opens(workflowId, apiKey)).toBe(true);
  },
);

test("DELETE /workflows/:id, on one with a key, ends the key and the workflow", async () => {
  const { workflowId, apiKey } = await aWorkflow(service.db, { accountId: service.accountId });
  const deleted = await service.operator(`/api/operator/workflows/${workflowId}`, { method: "DELETE" });
  expect([deleted.status, deleted.json()]).toEqual([200, { workflowId, deleted: true }]);
  expect(await opens(workflowId, apiKey)).toBeUndefined();
  const again = await service.operator(`/api/operator/workflows/${workflowId}`, { method: "DELETE" });
  expect([again.status, again.json()["error"]]).toEqual([404, "Workflow not found"]);
});

test("GET /executions, with filters, lists newest first and only what was asked for", async () => {
  const accountId = await anAccount(service.db, { name: "busy one" });
  const workflow = await aWorkflow(service.db, { accountId });
  const other = await aWorkflow(service.db, { accountId });
  const first = await anExecution(service.db, { workflow });
  const second = await anExecution(service.db, { workflow, trigger: "form" });
  const third = await anExecution(service.db, { workflow: other });
  const list = async (query: string) => {
    const { executions } = (await service.operator(`/api/operator/executions?${query}`)).json() as {
      executions: { executionId: string }[];
    };
    return executions.map((execution) => execution.executionId);
  };
  expect(await list("account=busy%20one")).toEqual([third, second, first]);
  expect(await list(`workflow=${workflow.workflowId}`)).toEqual([second, first]);
  expect(await list("account=busy%20one&limit=1")).toEqual([third]);
  const shown = (await service.operator(`/api/operator/executions/${second}`)).json();
  expect(shown).toEqual({
    executionId: second,
    workflowId: workflow.workflowId,
    status: "queued",
    trigger: "form",
    createdAt: expect.any(String),
  });
  expect((await service.operator("/api/operator/executions?limit=0")).status).toBe(400);
});

/** Every route that names somebody's thing. */
const ROUTES = [
  ["GET", "/workflows/:workflow"],
  ["DELETE", "/workflows/:workflow"],
  ["GET", "/workflows/:workflow/key"],
  ["POST", "/workflows/:workflow/key/rotate"],
  ["GET", "/executions/:execution"],
  ["GET", "/executions?workflow=:workflow"],
  ["GET", "/executions?account=main"],
  ["GET", "/workflows?account=main"],
  ["GET", "/credits?account=main"],
  ["GET", "/schedules/:workflow/next"],
  ["GET", "/schedules/:workflow/ticks"],
  ["POST", "/schedules/:workflow/backfill"],
  ["POST", "/publish?workflow=:workflow"],
  ["POST", "/publish?account=main"],
] as const;

test.each(ROUTES)("%s %s, with a stranger's token, answers 404 and shows nothing", async (method, route) => {
  const workflow = await aWorkflow(service.db, { accountId: service.accountId });
  const executionId = await anExecution(service.db, { workflow });
  const stranger = service.as(await service.tokenOf(await anAccount(service.db)));
  const path = `/api/operator${route.replace(":workflow", workflow.workflowId).replace(":execution", executionId)}`;
  const answer = await stranger(path, { method, headers: { "content-type": "application/x-tar" } });
  expect(answer.status).toBe(404);
  expect(answer.text()).not.toContain(workflow.apiKey);
  expect(await opens(workflow.workflowId, workflow.apiKey)).toBe(true);
});

test("lists, with a stranger's token, are empty", async () => {
  const workflow = await aWorkflow(service.db, { accountId: service.accountId });
  await anExecution(service.db, { workflow });
  const stranger = service.as(await service.tokenOf(await anAccount(service.db)));
  expect((await stranger("/api/operator/workflows")).json()).toEqual({ workflows: [] });
  expect((await stranger("/api/operator/executions")).json()).toEqual({ executions: [] });
  expect((await stranger("/api/operator/schedules")).json()).toEqual({ schedules: [] });
});

test.each([
  ["GET", "/workflows"],
  ["POST", "/publish"],
  ["POST", "/credits/grants"],
  ["GET", "/nothing"],
  ["GET", ""],
])("%s /operator%s, without a valid token, answers 401", async (method, path) => {
  const revoked = "trp_revoked";
  await insertOperatorToken(service.db, { tokenHash: hashToken(revoked), name: "revoked" });
  await queryRows(service.db, "update access_tokens set revoked_at = now() where name = 'revoked'");
  for (const token of [undefined, "wrong", revoked, "x".repeat(300)]) {
    const answer = await service.as(token)(`/api/operator${path}`, { method });
    expect([answer.status, answer.json()["error"]]).toEqual([401, "Unauthorized"]);
  }
});

test("an unknown operator route, with a good token, answers 404 in JSON", async () => {
  const answer = await service.operator("/api/operator/nothing");
  expect([answer.status, answer.json()["error"]]).toEqual([404, "Not found"]);
});

test.each(["wf_nonsense", "..%2f..%2fcredits", "wf_0000000000000000", "%00", "wf_0000000000000000'; drop table x"])(
  "GET /workflows/%s, which cannot be, answers 404",
  async (id) => {
    expect((await service.operator(`/api/operator/workflows/${encodeURIComponent(id)}`)).status).toBe(404);
  },
);

test("GET /workflows/{id}/build-log, of a commit with packages, answers the log to its account and to no other", async () => {
  const log = "Downloading…\nThe environment is ready.\n";
  const own = await anOperatorService({ logs: { "key of six": log } });
  try {
    const { workflowId } = await aWorkflow(own.db, { accountId: own.accountId });
    const path = `/api/operator/workflows/${workflowId}/build-log`;
    const [head] = await queryRows<{ head: string }>(own.db, "select head from workflows where id = :workflowId", {
      workflowId,
    });
    expect((await own.operator(path)).json()).toEqual({ commitId: head?.head, environment: null, log: null });
    await queryRows(
      own.db,
      "insert into environments (key, interpreter, requirements, lock) values ('key of six', '3.11.2', 'six', 'six==1')",
    );
    await queryRows(own.db, "update commits set environment_key = 'key of six'");
    expect((await own.operator(path)).json()).toEqual({ commitId: head?.head, environment: "key of six", log });
    expect((await own.operator(`${path}?commit=${head?.head}`)).json()).toMatchObject({ log });
    for (const commit of ["0".repeat(40), "../../etc/passwd"])
      expect((await own.operator(`${path}?commit=${encodeURIComponent(commit)}`)).status).toBe(404);
    const stranger = own.as(await own.tokenOf(await anAccount(own.db)));
    expect([(await stranger(path)).status, (await own.as(undefined)(path)).status]).toEqual([404, 401]);
  } finally {
    await own.close();
  }
});
