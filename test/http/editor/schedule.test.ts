import { expect, test } from "@jest/globals";
import { findScheduleState } from "../../../db/schedules/states.ts";
import { insertTicks } from "../../../db/schedules/ticks.ts";
import { aFileService } from "../service.ts";
import { anEditor, commit, FILES, PROGRAM, save } from "./callers.ts";

const service = await aFileService();

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

const NAMED = `triggers:
  schedule: { enabled: true, cron: "0 3 * * *" }
  schedules:
    nightly: { enabled: true, cron: "30 2 * * *", timezone: Europe/Berlin } # all of it
    hourly: { enabled: true, cron: "0 * * * *", overlap: queue }
`;

test("schedules with names, committed, are previewed, listed, shown and paused one by one; another name begins anew", async () => {
  const editor = await anEditor(service, { role: "member" });
  const { path, workflowId } = await editor.create();
  const put = (text: string) => [
    { path: "config.yaml", text },
    { path: "main.py", text: PROGRAM },
  ];
  await save(editor, path, put(NAMED));
  const nightly = { name: "nightly", description: "every day at 02:30, Europe/Berlin", paused: false };
  const preview = (await editor.get(`${path}/draft/preview`)).json();
  expect(preview).toMatchObject({
    schedule: { change: "added", after: "every day at 03:00, UTC" },
    schedules: [nightly, { name: "hourly", nextRuns: expect.any(Array) }],
    scheduleChanges: [
      { name: "nightly", change: "added", before: null, after: nightly.description },
      { name: "hourly", change: "added" },
    ],
  });
  const { commitId } = await commit(editor, path, put(NAMED), null);
  const show = async (query: string) => (await editor.get(`${path}/schedule${query}`)).json();
  const all = ["schedule", "hourly", "nightly"].map((name) => ({ name, ended: false }));
  expect(await show("")).toMatchObject({ schedule: { cron: "0 3 * * *" }, schedules: all });
  expect(await show("?schedule=hourly")).toMatchObject({ schedule: { overlap: "queue" }, schedules: all });
  expect((await editor.get(`${path}/schedule?schedule=Nightly`)).status).toBe(400);
  const listed = (await editor.get("schedules")).json()["schedules"] as Record<string, unknown>[];
  expect(listed.map(({ schedule }) => schedule)).toEqual([undefined, "hourly", "nightly"]);
  expect(listed[0]).not.toHaveProperty("schedule");
  expect((await editor.get(path)).json()).toMatchObject({
    nextRun: { local: expect.stringMatching(/:00:00\+00:00$/) },
  });

  const paused = NAMED.replace('{ enabled: true, cron: "30', '{ enabled: false, cron: "30');
  const given = { enabled: false, schedule: "nightly", expectedHead: commitId };
  expect((await editor.post(`${path}/schedule`, { ...given, dryRun: true })).json()).toEqual({
    before: NAMED,
    after: paused,
  });
  const pausedAt = (await editor.post(`${path}/schedule`, given)).json()["commitId"] as string;
  expect(await show("?schedule=nightly")).toMatchObject({ paused: true, nextRuns: [] });
  expect(await show("?schedule=hourly")).toMatchObject({ paused: false });
  expect((await editor.get(`${path}/commits/${pausedAt}`)).json()).toMatchObject({
    message: "Pause the schedule nightly",
  });
  const unknown = await editor.post(`${path}/schedule`, { ...given, schedule: "weekly", expectedHead: pausedAt });
  expect([unknown.status, unknown.json()]).toMatchObject([400, { message: expect.stringContaining("weekly") }]);

  const nominalAt = new Date("2026-05-04T02:30:00Z");
  const tick = { workflowId, nominalAt, outcome: "paused", reason: "", source: "clock", executionId: null } as const;
  await insertTicks(
    service.db,
    ["nightly", "hourly"].map((scheduleName) => ({ ...tick, scheduleName, decidedAt: nominalAt })),
  );
  const renamed = paused.replace("nightly:", "daily:");
  await save(editor, path, put(renamed));
  expect((await editor.get(`${path}/draft/preview`)).json()["scheduleChanges"]).toMatchObject([
    { name: "nightly", change: "removed" },
    { name: "daily", change: "added" },
  ]);
  await commit(editor, path, put(renamed), pausedAt);
  expect(await show("?schedule=nightly")).toMatchObject({
    schedule: null,
    schedules: [
      ...all.slice(0, 1),
      { name: "daily", ended: false },
      { name: "hourly", ended: false },
      { name: "nightly", ended: true },
    ],
  });
  const ticks = async (query: string) => (await editor.get(`${path}/ticks${query}`)).json()["ticks"];
  const counts = ["?schedule=nightly", "?schedule=hourly", "?schedule=daily", ""].map(
    async (query) => ((await ticks(query)) as unknown[]).length,
  );
  expect(await Promise.all(counts)).toEqual([1, 1, 0, 0]);
});

test("a workflow, with named schedules alone, is validated with each of them and has no other", async () => {
  const editor = await anEditor(service);
  const { path } = await editor.create();
  const alone = NAMED.split("\n")
    .filter((line) => !line.includes("schedule:"))
    .join("\n");
  await commit(
    editor,
    path,
    [
      { path: "config.yaml", text: alone },
      { path: "main.py", text: PROGRAM },
    ],
    null,
  );
  const validity = (await editor.post(`${path}/validate`, {})).json();
  expect(validity).toMatchObject({
    nextRuns: [],
    schedules: [
      { name: "nightly", nextRuns: { length: 10 } },
      { name: "hourly", paused: false },
    ],
  });
  expect(validity).not.toHaveProperty("schedule");
  const from = { from: "2026-05-04", to: "2026-05-05", dryRun: true };
  expect((await editor.post(`${path}/backfills`, from)).status).toBe(404);
  const backfill = await editor.post(`${path}/backfills`, { ...from, schedule: "hourly" });
  expect([backfill.status, backfill.json()]).toMatchObject([200, { left: 24, timezone: "UTC" }]);
});
