import { expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { anExecution, aWorkflow } from "../../support/builders.ts";
import { aScheduledWorkflow } from "../../support/schedules.ts";
import { aFileService, SUCCESS_COST, succeed } from "../service.ts";
import { anEditor, FILES } from "./callers.ts";

const service = await aFileService();

interface Listed {
  readonly workflowId: string;
  readonly name: string;
}

test("workflows, of an account, are listed by name with their last execution, what they cost and when they run", async () => {
  const editor = await anEditor(service);
  const { accountId } = editor;
  const busy = await aWorkflow(service.db, { accountId, name: "busy", manifest: { description: "Does much" } });
  for (let count = 0; count < 2; count += 1)
    await succeed(service.db, { executionId: await anExecution(service.db, { workflow: busy }) });
  const last = await anExecution(service.db, { workflow: busy });
  const earlier = await anExecution(service.db, { workflow: busy });
  await queryRows(service.db, "update executions set created_at = now() - interval '40 days' where id = :earlier", {
    earlier,
  });
  const since = new Date("2026-05-04T08:30:00Z");
  const scheduled = await aScheduledWorkflow(service.db, { accountId, since });
  await aWorkflow(service.db, { name: "of somebody else" });
  const bare = await editor.create("Another");

  const { workflows } = (await editor.get("workflows")).json() as { workflows: Listed[] };
  expect(workflows.map(({ workflowId }) => workflowId).sort()).toEqual(
    [busy.workflowId, scheduled.workflowId, bare.workflowId].sort(),
  );
  expect(workflows.map(({ name }) => name.toLowerCase())).toEqual(
    workflows.map(({ name }) => name.toLowerCase()).sort(),
  );
  const find = (workflowId: string) => workflows.find((each) => each.workflowId === workflowId);
  expect(find(busy.workflowId)).toEqual({
    workflowId: busy.workflowId,
    name: "busy",
    description: "Does much",
    commitId: busy.commitId,
    createdAt: expect.any(String),
    lastExecution: { executionId: last, status: "queued", failure: null, createdAt: expect.any(String) },
    recent: expect.any(Array),
    nextRun: null,
    schedulePaused: false,
    apiEnabled: true,
    spentThisMonth: 2 * SUCCESS_COST.total,
    executionsThisMonth: 2,
    estimate: { credits: SUCCESS_COST.total, basedOn: 2 },
  });
  expect(find(scheduled.workflowId)).toMatchObject({
    nextRun: { utc: expect.stringMatching(/Z$/), local: expect.any(String), timezone: expect.any(String) },
    schedulePaused: false,
  });
  expect(find(bare.workflowId)).toMatchObject({
    commitId: null,
    lastExecution: null,
    nextRun: null,
    apiEnabled: false,
    spentThisMonth: 0,
    executionsThisMonth: 0,
  });
});

test("workflows, searched, are those whose name has the text, whatever its case, and no pattern", async () => {
  const editor = await anEditor(service);
  for (const name of ["Sales report", "100% sales", "Stock"]) await editor.create(name);
  const search = async (text: string) => {
    const answer = (await editor.get(`workflows?search=${encodeURIComponent(text)}`)).json() as { workflows: Listed[] };
    return answer.workflows.map(({ name }) => name);
  };
  expect(await search("SALES")).toEqual(["100% sales", "Sales report"]);
  expect(await search("%")).toEqual(["100% sales"]);
  expect(await search("_")).toEqual([]);
  expect(await search("")).toHaveLength(3);
});

test("a workflow, made of a template, has its files as the draft of whoever made it and nothing is committed", async () => {
  const editor = await anEditor(service, { role: "member" });
  const { templates } = (await editor.get("templates")).json() as {
    templates: { templateId: string; name: string; description: string; files: string[] }[];
  };
  const template = templates.find(({ templateId }) => templateId === "hello");
  expect(template).toMatchObject({ name: expect.any(String), description: expect.any(String) });
  const { path } = await editor.create("Mine", "hello");
  const draft = (await editor.get(`${path}/draft`)).json() as { files: { path: string }[] };
  expect(draft).toMatchObject({ base: null, head: null, changed: true, version: 1, problems: [] });
  expect(draft.files.map((file) => file.path).sort()).toEqual(template?.files.toSorted());
  expect((await editor.get(path)).json()).toMatchObject({ name: "Mine", commitId: null, manifest: null, head: null });
  const config = await editor.get(`${path}/draft/files/config.yaml`);
  expect(config.text()).toMatch(/^name: Mine$/m);
});

test("a workflow, made as a copy, has the latest files of the other one under its own name, and none of another account", async () => {
  const editor = await anEditor(service);
  const { workflowId, path } = await editor.create("First", "empty");
  const copy = (of: string, more = {}) => editor.post("workflows", { name: "Second", copyOf: of, ...more });
  expect((await copy(workflowId)).status).toBe(409);
  await editor.post(`${path}/commits`, { message: "First", version: 1, expectedHead: null });
  const made = await copy(workflowId);
  expect(made.status).toBe(201);
  const copied = `workflows/${(made.json() as { workflowId: string }).workflowId}/draft`;
  expect((await editor.get(copied)).json()).toMatchObject({ base: null, head: null, problems: [] });
  expect((await editor.get(`${copied}/files/config.yaml`)).text()).toMatch(/^name: Second\n/);
  expect((await editor.get(`${copied}/files/main.py`)).text()).toBe(
    (await editor.get(`${path}/draft/files/main.py`)).text(),
  );
  expect((await copy(workflowId, { templateId: "empty" })).status).toBe(400);
  const stranger = await anEditor(service);
  expect((await stranger.post("workflows", { name: "Theirs", copyOf: workflowId })).status).toBe(404);
});

test("a workflow, made of a template that is none, is not made, and the answer names those there are", async () => {
  const editor = await anEditor(service);
  const answer = await editor.post("workflows", { name: "x", templateId: "../secrets" });
  expect([answer.status, answer.json()]).toMatchObject([
    400,
    { error: "Invalid request", details: [{ input: "templateId", message: expect.stringContaining("hello") }] },
  ]);
  expect((await editor.get("workflows")).json()).toEqual({ workflows: [] });
});

test("a workflow, with a commit, is shown with its manifest, the commit and where it is called", async () => {
  const editor = await anEditor(service);
  const { workflowId, path } = await editor.create();
  await editor.patch(`${path}/draft`, { version: 0, changes: FILES });
  const { commitId } = (
    await editor.post(`${path}/commits`, { message: "First", version: 1, expectedHead: null })
  ).json() as { commitId: string };
  const workflow = await aWorkflow(service.db, { accountId: editor.accountId });
  await succeed(service.db, { executionId: await anExecution(service.db, { workflow }) });
  expect((await editor.get(path)).json()).toMatchObject({
    workflowId,
    name: "Greeter",
    commitId,
    apiEnabled: true,
    manifest: { inputs: [{ name: "who", kind: "string", default: "World" }] },
    head: { commitId, message: "First", author: { email: editor.email }, isHead: true, executions: 0, parentId: null },
    estimate: null,
    executeUrl: `${service.apiUrl}/workflows/${workflowId}/execute`,
    docsUrl: `${service.apiUrl}/workflows/${workflowId}/docs`,
  });
  expect((await editor.get(`workflows/${workflow.workflowId}`)).json()).toMatchObject({
    head: { executions: 1 },
    estimate: { credits: SUCCESS_COST.total, basedOn: 1 },
  });
});

test("a workflow, renamed and deleted, has its new name and then is no more, for anybody", async () => {
  const editor = await anEditor(service, { role: "member" });
  const { workflowId, path } = await editor.create("Old", "hello");
  expect((await editor.patch(path, { name: "  New " })).json()).toEqual({ workflowId, name: "New" });
  expect((await editor.get(path)).json()).toMatchObject({ name: "New" });
  expect((await editor.delete(path)).json()).toEqual({ workflowId, deleted: true });
  for (const gone of [path, `${path}/draft`, `${path}/key`, `${path}/commits`])
    expect([(await editor.get(gone)).status, gone]).toEqual([404, gone]);
  const [row] = await queryRows<{ drafts: number }>(
    service.db,
    "select count(*)::int as drafts from drafts where workflow_id = :workflowId",
    { workflowId },
  );
  expect(row?.drafts).toBe(0);
});

test.each([
  ["no name", {}],
  ["an empty name", { name: " " }],
  ["a name too long", { name: "x".repeat(201) }],
  ["a name that cannot be stored", { name: "a\0b" }],
  ["a field too many", { name: "x", colour: "red" }],
])("a workflow, made with %s, is refused", async (_what, body) => {
  const editor = await anEditor(service);
  const answer = await editor.post("workflows", body);
  expect([answer.status, answer.json()["error"]]).toEqual([400, "Invalid request"]);
});

const CHANGES: readonly [string, string, unknown][] = [
  ["PATCH", "", { name: "x" }],
  ["DELETE", "", {}],
  ["PATCH", "/draft", { version: 0, changes: [{ path: "a", text: "" }] }],
  ["DELETE", "/draft", {}],
  ["POST", "/draft/rebase", { version: 0 }],
  ["POST", "/commits", { message: "", version: 0, expectedHead: null }],
  ["POST", `/commits/${"0".repeat(40)}/restore`, { expectedHead: null }],
  ["POST", "/keys", { graceSeconds: 0 }],
  ["DELETE", "/keys/key_0000000000000000", {}],
  ["GET", "/key", {}],
];
const LOOKS = [
  "",
  "/draft",
  "/draft/preview",
  "/draft/files/main.py",
  "/commits",
  `/commits/${"0".repeat(40)}`,
  "/keys",
];

test.each(CHANGES)(
  "%s %s, of a viewer, is refused; of somebody else's workflow, 404; of nobody, 401",
  async (method, rest, body) => {
    const owner = await anEditor(service);
    const { path } = await owner.create();
    const viewer = await anEditor(service, { accountId: owner.accountId, role: "viewer" });
    const stranger = await anEditor(service);
    const send = (editor: typeof owner) =>
      editor.call(method, `${path}${rest}`, method === "GET" || method === "DELETE" ? undefined : body);
    const refused = await send(viewer);
    expect([refused.status, refused.json()]).toMatchObject([
      403,
      { error: "Forbidden", message: expect.stringContaining("viewer") },
    ]);
    expect([(await send(stranger)).status]).toEqual([404]);
    const nobody = await service.call(`/api/${path}${rest}`, {
      method,
      ...(method === "GET"
        ? {}
        : { headers: { "content-type": "application/json" }, body: JSON.stringify(body ?? {}) }),
    });
    expect(nobody.status).toBe(401);
    expect((await owner.get(path)).json()).toMatchObject({ name: "A workflow" });
  },
);

test.each(LOOKS)(
  "GET %s, of somebody else's workflow, is 404; of nobody, 401; of one that never was, 404",
  async (rest) => {
    const owner = await anEditor(service);
    const { path } = await owner.create("x", "hello");
    const stranger = await anEditor(service);
    expect((await stranger.get(`${path}${rest}`)).json()["error"]).toBe("Workflow not found");
    expect((await service.call(`/api/${path}${rest}`)).status).toBe(401);
    for (const none of ["wf_00000000000000000000000000", "nothing"])
      expect((await owner.get(`workflows/${none}${rest}`)).status).toBe(404);
  },
);

test("the editor's routes, for a token, act as its user; for the operator's, drafts are refused", async () => {
  const editor = await anEditor(service, { role: "member" });
  const { path } = await editor.create("x", "hello");
  const call = (token: string, rest: string) =>
    service.call(`/api/${path}${rest}`, { headers: { authorization: `Bearer ${token}` } });
  expect((await call(editor.token, "/draft")).json()).toMatchObject({ version: 1 });
  expect((await call("trt_wrong", "/draft")).status).toBe(401);
});

test("workflows, of an account without any, are an empty list", async () => {
  const editor = await anEditor(service);
  expect((await editor.get("workflows")).json()).toEqual({ workflows: [] });
});
