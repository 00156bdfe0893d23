import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { anExecution, aWorkflow } from "../../support/builders.ts";
import { aService, execute, succeed, type TestService } from "../service.ts";
import { anEditor } from "./callers.ts";

let service: TestService;
beforeAll(async () => {
  service = await aService();
});
afterAll(() => service?.close());

test("the key, looked at by a viewer, is masked; asked for, it is refused", async () => {
  const workflow = await aWorkflow(service.db);
  const { accountId, workflowId, apiKey } = workflow;
  await anEditor(service, { accountId });
  const viewer = await anEditor(service, { accountId, role: "viewer" });
  const shown = await viewer.get(`workflows/${workflowId}/key`);
  expect(shown.json()).toEqual({
    masked: `trd_••••••••${apiKey.slice(-4)}`,
    previousKeyExpiresAt: null,
    apiEnabled: true,
  });
  expect(shown.text()).not.toContain(apiKey);
  const refused = await viewer.get(`workflows/${workflowId}/key?reveal=true`);
  expect([refused.status, refused.text().includes(apiKey)]).toEqual([403, false]);
});

test("the key, asked for by a member, is the one that works, and the log says who saw it, not what", async () => {
  const workflow = await aWorkflow(service.db);
  await anEditor(service, { accountId: workflow.accountId });
  const member = await anEditor(service, { accountId: workflow.accountId, role: "member" });
  const { apiKey } = (await member.get(`workflows/${workflow.workflowId}/key?reveal=true`)).json();
  expect(apiKey).toBe(workflow.apiKey);
  const lines = service.logged.filter(
    ({ event, workflowId }) => event === "key.revealed" && workflowId === workflow.workflowId,
  );
  expect(lines).toMatchObject([{ userId: member.userId }]);
  expect(JSON.stringify(service.logged)).not.toContain(workflow.apiKey);
});

test.each([
  [0, 401],
  [7, 200],
])("the key, replaced with %i days of grace, lets the old one get %i", async (graceDays, status) => {
  const workflow = await aWorkflow(service.db);
  const editor = await anEditor(service, { accountId: workflow.accountId });
  const rotated = (await editor.post(`workflows/${workflow.workflowId}/key/rotate`, { graceDays })).json();
  expect(rotated["apiKey"]).not.toBe(workflow.apiKey);
  const expiresAt = rotated["previousKeyExpiresAt"] as string | null;
  if (graceDays === 0) expect(expiresAt).toBeNull();
  else expect(Math.round((Date.parse(String(expiresAt)) - Date.now()) / 3_600_000)).toBe(graceDays * 24);
  expect((await execute(service, workflow)).status).toBe(status);
  expect((await execute(service, { ...workflow, apiKey: rotated["apiKey"] as string })).status).toBe(200);
  expect((await editor.get(`workflows/${workflow.workflowId}/key`)).json()).toMatchObject({
    previousKeyExpiresAt: expiresAt,
  });
});

test("the key, replaced again, ends a key that was replaced before, whatever grace that had", async () => {
  const workflow = await aWorkflow(service.db);
  const editor = await anEditor(service, { accountId: workflow.accountId });
  const rotate = async (graceDays: number): Promise<string> =>
    (await editor.post(`workflows/${workflow.workflowId}/key/rotate`, { graceDays })).json()["apiKey"] as string;
  const statusOf = async (apiKey: string): Promise<number> => (await execute(service, { ...workflow, apiKey })).status;
  const leaked = workflow.apiKey;
  const second = await rotate(7);
  expect([await statusOf(leaked), await statusOf(second)]).toEqual([200, 200]);
  // The programs that have the second one by now keep their grace.
  const third = await rotate(1);
  expect([await statusOf(leaked), await statusOf(second), await statusOf(third)]).toEqual([401, 200, 200]);
  const fourth = await rotate(0);
  expect([await statusOf(second), await statusOf(third), await statusOf(fourth)]).toEqual([401, 401, 200]);
});

test("a replaced key, ended in its grace, opens nothing any more, the current one stays, and the log says who did it", async () => {
  const workflow = await aWorkflow(service.db);
  const editor = await anEditor(service, { accountId: workflow.accountId });
  const viewer = await anEditor(service, { accountId: workflow.accountId, role: "viewer" });
  const path = `workflows/${workflow.workflowId}/key`;
  const current = (await editor.post(`${path}/rotate`, { graceDays: 7 })).json()["apiKey"] as string;
  expect((await viewer.post(`${path}/end-previous`, {})).status).toBe(403);
  expect((await execute(service, workflow)).status).toBe(200);
  const ended = [await editor.post(`${path}/end-previous`, {}), await editor.post(`${path}/end-previous`, {})];
  expect(ended.map((answer) => [answer.status, answer.json()])).toEqual([
    [200, { ended: 1 }],
    [200, { ended: 0 }],
  ]);
  expect((await execute(service, workflow)).status).toBe(401);
  expect((await execute(service, { ...workflow, apiKey: current })).status).toBe(200);
  expect((await editor.get(path)).json()).toMatchObject({ previousKeyExpiresAt: null });
  const lines = service.logged.filter(({ event }) => event === "key.ended");
  expect(lines).toMatchObject([
    { workflowId: workflow.workflowId, userId: editor.userId, ended: 1 },
    { workflowId: workflow.workflowId, userId: editor.userId, ended: 0 },
  ]);
});

test("the key, replaced by two at once, is one of the two afterwards", async () => {
  const workflow = await aWorkflow(service.db);
  const editor = await anEditor(service, { accountId: workflow.accountId });
  const path = `workflows/${workflow.workflowId}/key`;
  const answers = await Promise.all([1, 2].map(() => editor.post(`${path}/rotate`, { graceDays: 0 })));
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const keys = answers.map((answer) => answer.json()["apiKey"] as string);
  const current = (await editor.get(`${path}?reveal=true`)).json()["apiKey"];
  const statuses = await Promise.all(keys.map((apiKey) => execute(service, { ...workflow, apiKey })));
  expect(statuses.map(({ status }) => status)).toEqual(keys.map((apiKey) => (apiKey === current ? 200 : 401)));
  expect(keys).toContain(current);
});

test.each([{ graceDays: 8 }, { graceDays: -1 }, { graceDays: 0.5 }, {}])(
  "the key, replaced with %j, is refused and stays",
  async (body) => {
    const workflow = await aWorkflow(service.db, { manifest: { triggers: { api: null, schedule: null } } });
    const editor = await anEditor(service, { accountId: workflow.accountId });
    await succeed(service.db, { executionId: await anExecution(service.db, { workflow }) });
    expect((await editor.post(`workflows/${workflow.workflowId}/key/rotate`, body)).status).toBe(400);
    expect((await editor.get(`workflows/${workflow.workflowId}/key?reveal=true`)).json()).toMatchObject({
      apiKey: workflow.apiKey,
      apiEnabled: false,
    });
  },
);
