import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { findScheduleState } from "../../../db/schedules/states.ts";
import { aService, type TestService } from "../service.ts";
import { anEditor, commit, FILES, PROGRAM } from "./callers.ts";

let service: TestService;
beforeAll(async () => {
  service = await aService();
});
afterAll(() => service?.close());

const CONFIG = `# What it does, and for whom.
name: Nightly   # not weekly
triggers:
    schedule:
        cron: '0 9 * * 1-5'     # when the office opens
        enabled:   true   # until the summer
        timezone: Europe/Berlin
    api: {enabled: true}   # for the shop


# The end.
`;

test("a schedule, paused and resumed, is a commit each that changes one word, comments and layout stay", async () => {
  const editor = await anEditor(service, { role: "member" });
  const { path, workflowId } = await editor.create();
  const { commitId } = await commit(
    editor,
    path,
    [
      { path: "config.yaml", text: CONFIG },
      { path: "main.py", text: PROGRAM },
    ],
    null,
  );
  const paused = CONFIG.replace("enabled:   true", "enabled:   false");

  const shown = await editor.post(`${path}/schedule`, { enabled: false, expectedHead: commitId, dryRun: true });
  expect([shown.status, shown.json()]).toEqual([200, { before: CONFIG, after: paused }]);
  expect((await editor.get(path)).json()).toMatchObject({ commitId, schedulePaused: false });

  const answer = await editor.post(`${path}/schedule`, { enabled: false, expectedHead: commitId });
  expect([answer.status, answer.json()]).toMatchObject([201, { changed: true }]);
  const pausedAt = answer.json()["commitId"] as string;
  expect((await editor.get(path)).json()).toMatchObject({ commitId: pausedAt, schedulePaused: true, nextRun: null });
  expect((await editor.get(`${path}/commits/${pausedAt}`)).json()).toMatchObject({
    message: "Pause the schedule",
    author: { email: editor.email },
    files: [
      { path: "config.yaml", text: paused },
      { path: "main.py", text: PROGRAM },
    ],
  });
  expect(await findScheduleState(service.db, workflowId)).toMatchObject({ enabled: false });

  const resumed = await editor.post(`${path}/schedule`, { enabled: true, expectedHead: pausedAt });
  const resumedAt = resumed.json()["commitId"] as string;
  expect((await editor.get(`${path}/commits/${resumedAt}`)).json()).toMatchObject({
    message: "Resume the schedule",
    files: [{ text: CONFIG }, {}],
  });
  expect((await editor.get(path)).json()).toMatchObject({
    schedulePaused: false,
    nextRun: { timezone: "Europe/Berlin" },
  });
  const again = await editor.post(`${path}/schedule`, { enabled: true, expectedHead: resumedAt });
  expect(again.json()).toMatchObject({ changed: false, commitId: resumedAt });
});

test("a schedule, switched by who has not seen the latest commit, is refused with it and stays", async () => {
  const editor = await anEditor(service);
  const { path } = await editor.create();
  const files = [
    { path: "config.yaml", text: CONFIG },
    { path: "main.py", text: PROGRAM },
  ];
  const { commitId: first } = await commit(editor, path, files, null);
  const { commitId: head } = await commit(editor, path, [{ path: "main.py", text: "1\n" }], first);
  for (const dryRun of [true, false]) {
    const answer = await editor.post(`${path}/schedule`, { enabled: false, expectedHead: first, dryRun });
    expect([answer.status, answer.json()["head"]]).toEqual([409, head]);
  }
  expect((await editor.get(path)).json()).toMatchObject({ schedulePaused: false });
});

test("a schedule, switched where there is none, is refused with what to do", async () => {
  const editor = await anEditor(service);
  const { path } = await editor.create();
  const { commitId } = await commit(editor, path, FILES, null);
  const answer = await editor.post(`${path}/schedule`, { enabled: false, expectedHead: commitId });
  expect([answer.status, answer.json()]).toMatchObject([
    400,
    { message: expect.stringContaining("triggers.schedule") },
  ]);
  for (const body of [
    { enabled: "no", expectedHead: commitId },
    { enabled: true },
    { enabled: true, expectedHead: null },
  ])
    expect((await editor.post(`${path}/schedule`, body)).status).toBe(400);
});

const DECLARED = { cron: "30 7 * * 1-5", timezone: "Europe/Berlin", payload: "{}" };

test("a schedule, declared for a workflow without one, is shown with its next runs and then committed", async () => {
  const editor = await anEditor(service, { role: "member" });
  const { path } = await editor.create();
  const { commitId } = await commit(editor, path, FILES, null);
  const body = { ...DECLARED, expectedHead: commitId };
  const shown = await editor.put(`${path}/schedule`, { ...body, dryRun: true });
  expect([shown.status, shown.json()]).toMatchObject([200, { description: "every weekday at 07:30, Europe/Berlin" }]);
  expect(shown.json()["nextRuns"]).toHaveLength(10);
  const lines = '  schedule:\n    enabled: true\n    cron: "30 7 * * 1-5"\n    timezone: Europe/Berlin\n';
  const before = shown.json()["before"] as string;
  expect(shown.json()["after"]).toBe(before.replace("triggers:\n", `triggers:\n${lines}`));
  expect((await editor.get(path)).json()).toMatchObject({ commitId, nextRun: null });

  const answer = await editor.put(`${path}/schedule`, body);
  expect([answer.status, answer.json()]).toMatchObject([201, { changed: true }]);
  const head = answer.json()["commitId"] as string;
  expect((await editor.get(path)).json()).toMatchObject({ commitId: head, nextRun: { timezone: "Europe/Berlin" } });
  expect((await editor.get(`${path}/commits/${head}`)).json()).toMatchObject({ message: "Change the schedule" });
  const outdated = await editor.put(`${path}/schedule`, body);
  expect([outdated.status, outdated.json()["head"]]).toEqual([409, head]);
});

test.each([
  ["an expression that never comes", { cron: "0 9 30 2 *" }, "cron: "],
  ["a zone with a line of its own", { timezone: "UTC\n  api: { enabled: true }" }, "timezone: "],
  ["a payload that is no object", { payload: "[1]" }, "payload: must be a JSON object"],
  ["a payload that is no JSON", { payload: "{" }, "payload: must be a JSON object"],
  [
    "a payload of many levels",
    { payload: `{"a":${"[".repeat(900)}${"]".repeat(900)}}` },
    "payload: must not be nested",
  ],
  ["a payload for no input", { payload: '{"nobody":1}' }, "config.yaml would be wrong then."],
])("a schedule, declared with %s, is refused and nothing changes", async (_case, wrong, message) => {
  const editor = await anEditor(service);
  const { path } = await editor.create();
  const { commitId } = await commit(editor, path, FILES, null);
  const answer = await editor.put(`${path}/schedule`, { ...DECLARED, ...wrong, expectedHead: commitId, dryRun: true });
  expect([answer.status, answer.json()["message"]]).toEqual([400, expect.stringContaining(message)]);
  expect((await editor.get(path)).json()).toMatchObject({ commitId });
});
