import { expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { aWorkflow, type TestMember } from "../../support/builders.ts";
import { aFileService, execute } from "../service.ts";
import { aHouse, ask } from "./people.ts";

const CONFIG = "inputs:\n  region: { type: string }\ntriggers:\n  api: { enabled: true }\n";

const service = await aFileService();

async function save(
  who: TestMember,
  workflowId: string,
  version: number,
  files: Record<string, string>,
): Promise<void> {
  const changes = Object.entries(files).map(([path, text]) => ({ path, text }));
  const answer = await ask(
    service,
    `/api/workflows/${workflowId}/draft`,
    { method: "PATCH", json: { version, changes } },
    who,
  );
  expect([answer.status, answer.status === 200 ? "" : answer.text()]).toEqual([200, ""]);
}

/** A workflow that has nothing but somebody's draft. */
async function aDraft(files: Record<string, string> = { "config.yaml": CONFIG, "main.py": "print(1)\n" }) {
  const house = await aHouse(service);
  const workflow = await aWorkflow(service.db, { accountId: house.accountId, commit: false });
  await save(house.member, workflow.workflowId, 0, files);
  const run = (json: unknown, who = house.member) =>
    ask(service, `/api/workflows/${workflow.workflowId}/draft/execute`, { json }, who);
  return { house, workflow, workflowId: workflow.workflowId, run };
}

test("a draft, executed, is an execution of its files, marked as such, and no commit that anybody sees", async () => {
  const { house, workflow, workflowId, run } = await aDraft();
  const answer = await run({ region: "EU" });
  expect([answer.status, answer.json()]).toMatchObject([200, { status: "success", draft: true }]);
  const { executionId } = answer.json();
  const record = await ask(service, `/api/executions/${String(executionId)}`, {}, house.viewer);
  expect(record.json()).toMatchObject({ draft: true, trigger: "form", inputs: { region: "EU" } });
  const list = (await ask(service, "/api/executions", {}, house.viewer)).json();
  expect(list).toMatchObject({ executions: [{ executionId, draft: true }] });
  expect(service.started.at(-1)).toMatchObject({ executionId, workflowId, commitId: record.json()["commitId"] });
  const commits = await ask(service, `/api/workflows/${workflowId}/commits`, {}, house.viewer);
  expect(commits.json()).toMatchObject({ commits: [] });
  // For those who call it there is nothing yet.
  expect((await execute(service, workflow, { region: "EU" })).status).toBe(404);
});

test("a draft's execution, answered at once, asked for, or followed, says that it is of a draft; a commit's does not", async () => {
  const { house, workflow, workflowId, run } = await aDraft();
  const path = `/api/workflows/${workflowId}/draft/execute`;
  const call = (headers: Record<string, string>) =>
    ask(service, path, { json: { region: "EU" }, headers }, house.member);
  const started = await call({ prefer: "respond-async" });
  expect(started.json()).toMatchObject({ draft: true });
  const shown = await ask(service, `/api/run-logs/${String(started.json()["executionId"])}`, {}, house.viewer);
  expect(shown.json()).toMatchObject({ draft: true });
  const followed = await call({ accept: "text/event-stream" });
  expect(followed.text()).toMatch(/^event: result\ndata: \{.*"draft":true/m);

  expect((await run({ region: "EU" })).json()).toHaveProperty("draft", true);
  const commit = { message: "first", version: 1, expectedHead: null };
  await ask(service, `/api/workflows/${workflowId}/commits`, { json: commit }, house.member);
  expect((await execute(service, workflow, { region: "EU" })).json()).not.toHaveProperty("draft");
});

test("a draft, executed twice as it is, is kept once; changed, once more", async () => {
  const { house, workflowId, run } = await aDraft();
  await run({ region: "EU" });
  await run({ region: "US" });
  const kept = () =>
    queryRows(service.db, "select id from commits where workflow_id = :workflowId and draft", { workflowId });
  expect(await kept()).toHaveLength(1);
  await save(house.member, workflowId, 1, { "main.py": "print(2)\n" });
  await run({ region: "EU" });
  expect(await kept()).toHaveLength(2);
});

test("drafts of two people, with the same files, are kept for each under their own name", async () => {
  const { house, workflowId, run } = await aDraft();
  await save(house.owner, workflowId, 0, { "config.yaml": CONFIG, "main.py": "print(1)\n" });
  for (const who of [house.member, house.owner])
    expect((await run({ region: "EU" }, who)).json()).toMatchObject({ status: "success" });
  const kept = await queryRows<{ email: string }>(
    service.db,
    "select author_email as email from commits where workflow_id = :workflowId and draft order by created_at",
    { workflowId },
  );
  expect(kept.map(({ email }) => email)).toEqual([house.member.email, house.owner.email]);
});

test("a draft, executed beside a commit, leaves head, schedule and name as they are", async () => {
  const { house, workflow, workflowId, run } = await aDraft();
  const commit = { message: "first", version: 1, expectedHead: null };
  const made = await ask(service, `/api/workflows/${workflowId}/commits`, { json: commit }, house.member);
  expect(made.status).toBe(201);
  const state = () =>
    queryRows(
      service.db,
      `select w.head, w.name, (select count(*)::int from schedules s where s.workflow_id = w.id) as schedules
         from workflows w where w.id = :workflowId`,
      { workflowId },
    );
  const before = await state();
  const scheduled = `name: Another\n${CONFIG}  schedule: { enabled: true, cron: "0 9 * * *", timezone: UTC }\n`.replace(
    "region: {",
    "region: { required: false,",
  );
  await save(house.member, workflowId, 0, { "config.yaml": scheduled });
  expect((await run({})).json()).toMatchObject({ status: "success" });
  expect(await state()).toEqual(before);
  const called = await execute(service, workflow, {});
  expect([called.status, called.json()]).toMatchObject([400, { details: [{ input: "region" }] }]);
});

test("a draft with problems, executed, is refused with their places and starts nothing", async () => {
  const { workflowId, run } = await aDraft({ "config.yaml": "inputs: 3\n", "main.py": "" });
  const before = service.started.length;
  const answer = await run({});
  expect([answer.status, answer.json()]).toMatchObject([400, { details: [{ file: "config.yaml", line: 1 }] }]);
  expect(service.started).toHaveLength(before);
  expect(await queryRows(service.db, "select 1 from commits where workflow_id = :workflowId", { workflowId })).toEqual(
    [],
  );
});

test("a draft, executed by a viewer, a stranger or with inputs that do not fit, starts nothing", async () => {
  const { house, run } = await aDraft();
  const stranger = await aHouse(service);
  const before = service.started.length;
  expect((await run({ region: "EU" }, house.viewer)).status).toBe(403);
  expect((await run({ region: "EU" }, stranger.owner)).status).toBe(404);
  expect((await run({ region: 3 })).json()).toMatchObject({ details: [{ input: "region" }] });
  expect(service.started).toHaveLength(before);
});
