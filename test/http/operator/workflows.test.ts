import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { findTarget } from "../../../db/commits/commits.ts";
import { queryRows } from "../../../db/connect.ts";
import type { WorkflowId } from "../../../domain/ids.ts";
import { hashApiKey, isApiKey } from "../../../src/keys/api-key.ts";
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
  const created = await service.operator("/api/workflows", { method: "POST", json: { name: "Fresh" } });
  expect([created.status, created.json()]).toEqual([
    201,
    { workflowId: expect.stringMatching(/^wf_/), apiKey: expect.any(String) },
  ]);
  const { workflowId, apiKey } = created.json() as { workflowId: WorkflowId; apiKey: string };
  expect([isApiKey(apiKey), await opens(workflowId, apiKey)]).toEqual([true, true]);
  const shown = await service.operator(`/api/workflows/${workflowId}`);
  expect(shown.json()).toMatchObject({ workflowId, name: "Fresh", commitId: null });
  expect((await service.operator(`/api/workflows/${workflowId}/key`)).json()).toEqual({ apiKey });
});

test("DELETE /workflows/:id, on one with a key, ends the key and the workflow", async () => {
  const { workflowId, apiKey } = await aWorkflow(service.db, { accountId: service.accountId });
  const deleted = await service.operator(`/api/workflows/${workflowId}`, { method: "DELETE" });
  expect([deleted.status, deleted.json()]).toEqual([200, { workflowId, deleted: true }]);
  expect(await opens(workflowId, apiKey)).toBeUndefined();
  const again = await service.operator(`/api/workflows/${workflowId}`, { method: "DELETE" });
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
    const { executions } = (await service.operator(`/api/executions?${query}`)).json() as {
      executions: { executionId: string }[];
    };
    return executions.map((execution) => execution.executionId);
  };
  expect(await list("account=busy%20one")).toEqual([third, second, first]);
  expect(await list(`workflow=${workflow.workflowId}`)).toEqual([second, first]);
  expect(await list("account=busy%20one&limit=1")).toEqual([third]);
  expect((await service.operator("/api/executions?limit=0")).status).toBe(400);
});

test.each(["wf_nonsense", "..%2f..%2fcredits", "wf_0000000000000000", "%00", "wf_0000000000000000'; drop table x"])(
  "GET /workflows/%s, which cannot be, answers 404",
  async (id) => {
    expect((await service.operator(`/api/workflows/${encodeURIComponent(id)}`)).status).toBe(404);
  },
);

test("GET …/build-log, of a commit with packages, answers the log to its account and to no other", async () => {
  const log = "Downloading…\nThe environment is ready.\n";
  const own = await anOperatorService({ logs: { "key of six": log } });
  try {
    const { workflowId } = await aWorkflow(own.db, { accountId: own.accountId });
    const [head] = await queryRows<{ head: string }>(own.db, "select head from workflows where id = :workflowId", {
      workflowId,
    });
    const at = (commit: string) => `/api/workflows/${workflowId}/commits/${encodeURIComponent(commit)}/build-log`;
    const path = at(head?.head ?? "");
    expect((await own.operator(path)).json()).toEqual({ environment: null, log: null });
    await queryRows(
      own.db,
      "insert into environments (key, interpreter, requirements, lock) values ('key of six', '3.11.2', 'six', 'six==1')",
    );
    await queryRows(own.db, "update commits set environment_key = 'key of six'");
    expect((await own.operator(path)).json()).toEqual({ environment: "key of six", log });
    for (const commit of ["0".repeat(40), "../../etc/passwd"])
      expect((await own.operator(at(commit))).status).toBe(404);
    const stranger = own.as(await own.tokenOf(await anAccount(own.db)));
    expect([(await stranger(path)).status, (await own.as(undefined)(path)).status]).toEqual([404, 401]);
  } finally {
    await own.close();
  }
});
