import { expect, test } from "@jest/globals";
import { anExecution, aWorkflow } from "../../support/builders.ts";
import { aFileService, execute, succeed } from "../service.ts";
import { anEditor } from "./callers.ts";

const service = await aFileService();

test("the keys, listed for a viewer, are masked, with their last use; the key itself is refused", async () => {
  const workflow = await aWorkflow(service.db);
  const { accountId, workflowId, apiKey } = workflow;
  await anEditor(service, { accountId });
  const viewer = await anEditor(service, { accountId, role: "viewer" });
  const list = async () => {
    await service.keyUses.store();
    const answer = await viewer.get(`workflows/${workflowId}/keys`);
    expect(answer.text()).not.toContain(apiKey);
    return answer.json();
  };
  const current = {
    keyId: expect.stringMatching(/^key_[0-9a-f]{16}$/),
    masked: `trd_••••••••${apiKey.slice(-4)}`,
    createdAt: expect.any(String),
    lastUsedAt: null,
    expiresAt: null,
  };
  expect(await list()).toEqual({ keys: [current], apiEnabled: true });
  const before = Date.now();
  expect((await execute(service, workflow)).status).toBe(200);
  const [used] = ((await list()) as { keys: { lastUsedAt: string }[] }).keys;
  expect(Date.parse(String(used?.lastUsedAt))).toBeGreaterThanOrEqual(before);
  const refused = await viewer.get(`workflows/${workflowId}/key`);
  expect([refused.status, refused.text().includes(apiKey)]).toEqual([403, false]);
});

test("the key, asked for by a member, is the one that works, and the log says who saw it, not what", async () => {
  const workflow = await aWorkflow(service.db);
  await anEditor(service, { accountId: workflow.accountId });
  const member = await anEditor(service, { accountId: workflow.accountId, role: "member" });
  const { apiKey } = (await member.get(`workflows/${workflow.workflowId}/key`)).json();
  expect(apiKey).toBe(workflow.apiKey);
  const lines = service.logged.filter(
    ({ event, workflowId }) => event === "key.revealed" && workflowId === workflow.workflowId,
  );
  expect(lines).toMatchObject([{ userId: member.userId }]);
  expect(JSON.stringify(service.logged)).not.toContain(workflow.apiKey);
});

test.each([
  [0, 401],
  [30, 200],
])("the key, replaced with %i days of grace, lets the old one get %i", async (days, status) => {
  const workflow = await aWorkflow(service.db);
  const editor = await anEditor(service, { accountId: workflow.accountId });
  const path = `workflows/${workflow.workflowId}/keys`;
  const rotated = (await editor.post(path, days === 0 ? {} : { graceSeconds: days * 86_400 })).json();
  expect(rotated["apiKey"]).not.toBe(workflow.apiKey);
  const expiresAt = rotated["previousKeyExpiresAt"] as string | null;
  if (days === 0) expect(expiresAt).toBeNull();
  else expect(Math.round((Date.parse(String(expiresAt)) - Date.now()) / 3_600_000)).toBe(days * 24);
  expect((await execute(service, workflow)).status).toBe(status);
  expect((await execute(service, { ...workflow, apiKey: rotated["apiKey"] as string })).status).toBe(200);
  const { keys } = (await editor.get(path)).json() as { keys: { expiresAt: string | null }[] };
  expect(keys.map((key) => key.expiresAt)).toEqual(days === 0 ? [null] : [null, expiresAt]);
});

test("the key, replaced again, ends a key that was replaced before, whatever grace that had", async () => {
  const workflow = await aWorkflow(service.db);
  const editor = await anEditor(service, { accountId: workflow.accountId });
  const rotate = async (graceSeconds: number): Promise<string> =>
    (await editor.post(`workflows/${workflow.workflowId}/keys`, { graceSeconds })).json()["apiKey"] as string;
  const statusOf = async (apiKey: string): Promise<number> => (await execute(service, { ...workflow, apiKey })).status;
  const leaked = workflow.apiKey;
  const second = await rotate(7 * 86_400);
  expect([await statusOf(leaked), await statusOf(second)]).toEqual([200, 200]);
  // The programs that have the second one by now keep their grace.
  const third = await rotate(3_600);
  expect([await statusOf(leaked), await statusOf(second), await statusOf(third)]).toEqual([401, 200, 200]);
  const fourth = await rotate(0);
  expect([await statusOf(second), await statusOf(third), await statusOf(fourth)]).toEqual([401, 401, 200]);
});

test("a replaced key, ended in its grace, opens nothing any more, the current one stays, and the log says who did it", async () => {
  const workflow = await aWorkflow(service.db);
  const editor = await anEditor(service, { accountId: workflow.accountId });
  const viewer = await anEditor(service, { accountId: workflow.accountId, role: "viewer" });
  const path = `workflows/${workflow.workflowId}/keys`;
  const current = (await editor.post(path, { graceSeconds: 86_400 })).json()["apiKey"] as string;
  const list = async () => ((await editor.get(path)).json() as { keys: { keyId: string }[] }).keys;
  const [newest, replaced] = await list();
  expect((await viewer.delete(`${path}/${replaced?.keyId}`)).status).toBe(403);
  expect((await execute(service, workflow)).status).toBe(200);
  const refused = await editor.delete(`${path}/${newest?.keyId}`);
  expect([refused.status, refused.json()["message"]]).toEqual([409, expect.stringContaining("current key")]);
  const ended = await editor.delete(`${path}/${replaced?.keyId}`);
  expect([ended.status, ended.json()]).toEqual([200, { keyId: replaced?.keyId, ended: true }]);
  expect((await editor.delete(`${path}/${replaced?.keyId}`)).status).toBe(404);
  expect((await execute(service, workflow)).status).toBe(401);
  expect((await execute(service, { ...workflow, apiKey: current })).status).toBe(200);
  expect(await list()).toHaveLength(1);
  const lines = service.logged.filter(({ event }) => event === "key.ended");
  expect(lines).toMatchObject([{ workflowId: workflow.workflowId, userId: editor.userId, keyId: replaced?.keyId }]);
});

test("the key, replaced by two at once, is one of the two afterwards", async () => {
  const workflow = await aWorkflow(service.db);
  const editor = await anEditor(service, { accountId: workflow.accountId });
  const path = `workflows/${workflow.workflowId}/key`;
  const answers = await Promise.all([1, 2].map(() => editor.post(`${path}s`, { graceSeconds: 0 })));
  expect(answers.map(({ status }) => status)).toEqual([201, 201]);
  const keys = answers.map((answer) => answer.json()["apiKey"] as string);
  const current = (await editor.get(path)).json()["apiKey"];
  const statuses = await Promise.all(keys.map((apiKey) => execute(service, { ...workflow, apiKey })));
  expect(statuses.map(({ status }) => status)).toEqual(keys.map((apiKey) => (apiKey === current ? 200 : 401)));
  expect(keys).toContain(current);
});

test.each([{ graceSeconds: 30 * 86_400 + 1 }, { graceSeconds: -1 }, { graceSeconds: 0.5 }, { graceDays: 1 }])(
  "the key, replaced with %j, is refused and stays",
  async (body) => {
    const workflow = await aWorkflow(service.db, { manifest: { triggers: { api: null, schedule: null } } });
    const editor = await anEditor(service, { accountId: workflow.accountId });
    await succeed(service.db, { executionId: await anExecution(service.db, { workflow }) });
    const path = `workflows/${workflow.workflowId}/key`;
    expect((await editor.post(`${path}s`, body)).status).toBe(400);
    expect((await editor.get(path)).json()).toEqual({ apiKey: workflow.apiKey });
    expect((await editor.get(`${path}s`)).json()).toMatchObject({ apiEnabled: false });
  },
);
