import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import { insertBuild } from "../../../db/commits/builds.ts";
import { queryRows } from "../../../db/connect.ts";
import { createBuildId } from "../../../src/ids.ts";
import type { PublisherDeps } from "../../../src/publish/publish.ts";
import { aService, type TestService } from "../service.ts";
import { anEditor, commit, type Editor, FILES, save } from "./callers.ts";
import { fakeEnvironments, someEditorParts } from "./parts.ts";

const services: TestService[] = [];
afterEach(async () => {
  for (const service of services.splice(0)) await service.close();
});

const PACKAGES = { path: "requirements.txt", text: "leftpad==1\n" };

/** Environments whose making takes until it is let go, and says a line before and one after. */
function slowEnvironments() {
  const fake = fakeEnvironments();
  let go: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => {
    go = resolve;
  });
  const environments: PublisherDeps["environments"] = {
    ...fake,
    async ensure(key, lock, options) {
      options.report("Downloading leftpad");
      await gone;
      options.report("Installed leftpad");
      await fake.ensure(key, lock, options);
    },
  };
  return { environments, go };
}

/** A service on a database, whose environments are those given. */
async function aBuildingService(
  environments: PublisherDeps["environments"],
  quickBuildMs: number,
): Promise<TestService> {
  const service = await aService({
    editorParts: (db) =>
      someEditorParts(db, { environments, quickBuildMs, logs: { "key of leftpad==1": "all of it" } }),
  });
  services.push(service);
  return service;
}

async function buildOf(editor: Editor, buildId: string, until: (build: Record<string, unknown>) => boolean) {
  for (;;) {
    const build = (await editor.get(`builds/${buildId}`)).json();
    if (until(build)) return build;
    await sleep(50);
  }
}

function eventsOf(text: string): { id?: string; event: string; data: Record<string, unknown> }[] {
  return text
    .split("\n\n")
    .filter((block) => block.includes("data: "))
    .map((block) => {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2) as [string, string]));
      return { ...fields, data: JSON.parse(fields["data"] as string) } as never;
    });
}

test("a commit, whose environment takes long, is answered with its build, which tells what is said and then the commit", async () => {
  const { environments, go } = slowEnvironments();
  const service = await aBuildingService(environments, 1);
  const editor = await anEditor(service);
  const { path } = await editor.create();
  const version = await save(editor, path, [...FILES, PACKAGES]);
  const answer = await editor.post(`${path}/commits`, { message: "m", version, expectedHead: null });
  expect([answer.status, Object.keys(answer.json())]).toEqual([202, ["buildId"]]);
  const buildId = answer.json()["buildId"] as string;

  const building = await buildOf(editor, buildId, ({ log }) => log !== "");
  expect(building).toMatchObject({ state: "building", log: "Downloading leftpad\n", endedAt: null, commitId: null });
  const following = editor.get(`builds/${buildId}`, { accept: "text/event-stream" });
  // The draft goes on while its last version is being committed.
  const typed = await save(editor, path, [{ path: "main.py", text: "later\n" }]);
  go();
  const events = eventsOf((await following).text());
  const { commitId } = (await editor.get(path)).json() as { commitId: string };
  expect(events.map(({ event }) => event)).toEqual(["log", "log", "result"]);
  expect(events.map(({ data }) => data)).toEqual([
    { text: "Downloading leftpad\n" },
    { text: "Installed leftpad\n" },
    { commitId, changed: true },
  ]);
  const resumed = await editor.get(`builds/${buildId}`, {
    accept: "text/event-stream",
    "last-event-id": events[0]?.id ?? "",
  });
  expect(eventsOf(resumed.text()).map(({ data }) => data)).toEqual(events.slice(1).map(({ data }) => data));
  expect((await editor.get(`builds/${buildId}`)).json()).toEqual({
    buildId,
    workflowId: path.split("/")[1],
    state: "committed",
    log: "Downloading leftpad\nInstalled leftpad\n",
    createdAt: expect.any(String),
    endedAt: expect.any(String),
    commitId,
    error: null,
    message: null,
    details: [],
  });
  expect((await editor.get(`${path}/commits/${commitId}/build-log`)).json()).toEqual({
    environment: "key of leftpad==1",
    log: "all of it",
  });
  const draft = (await editor.get(`${path}/draft`)).json();
  expect(draft).toMatchObject({ version: typed, base: commitId, head: commitId, changed: true });
  expect((draft["files"] as { path: string; text: string }[]).find((file) => file.path === "main.py")?.text).toBe(
    "later\n",
  );
  expect((await editor.get(`${path}/diff?from=${commitId}&to=draft`)).json()).toMatchObject({
    files: [{ path: "main.py" }],
  });
});

test("a commit, whose environment cannot be made, says why and at which line, and leaves head and draft", async () => {
  const problem = { file: "requirements.txt", line: 1, column: 1, message: "There is no leftpad 1." };
  const environments: PublisherDeps["environments"] = {
    ...fakeEnvironments(),
    lock: async () => ({ ok: false, problems: [problem], log: "No solution found" }),
  };
  for (const quickBuildMs of [60_000, 0]) {
    const service = await aBuildingService(environments, quickBuildMs);
    const editor = await anEditor(service);
    const { path } = await editor.create();
    const { commitId } = quickBuildMs === 0 ? { commitId: null } : await commit(editor, path, FILES, null);
    const version = await save(editor, path, [...FILES, PACKAGES]);
    const answer = await editor.post(`${path}/commits`, { message: "", version, expectedHead: commitId });
    const { buildId } = answer.json() as { buildId: string };
    if (answer.status !== 202)
      expect([answer.status, answer.json()]).toMatchObject([
        400,
        { details: [problem], buildLog: "No solution found" },
      ]);
    expect(await buildOf(editor, buildId, ({ endedAt }) => endedAt !== null)).toMatchObject({
      state: "failed",
      commitId: null,
      error: "Invalid request",
      message: expect.any(String),
      details: [problem],
    });
    const events = eventsOf((await editor.get(`builds/${buildId}`, { accept: "text/event-stream" })).text());
    expect(events.at(-1)).toMatchObject({ event: "result", data: { error: "Invalid request", details: [problem] } });
    expect((await editor.get(path)).json()).toMatchObject({ commitId });
    expect((await editor.get(`${path}/draft`)).json()).toMatchObject({ version, changed: true });
  }
});

test("a commit, while somebody else commits during its build, is refused in its build, and the draft is kept", async () => {
  const { environments, go } = slowEnvironments();
  const service = await aBuildingService(environments, 1);
  const one = await anEditor(service);
  const other = await anEditor(service, { accountId: one.accountId });
  const { path } = await one.create();
  const version = await save(one, path, [...FILES, PACKAGES]);
  const { buildId } = (await one.post(`${path}/commits`, { message: "", version, expectedHead: null })).json() as {
    buildId: string;
  };
  await buildOf(one, buildId, ({ log }) => log !== "");
  const quick = await save(other, path, FILES);
  const theirs = (await other.post(`${path}/commits`, { message: "", version: quick, expectedHead: null })).json();
  const their = await buildOf(other, theirs["buildId"] as string, ({ endedAt }) => endedAt !== null);
  expect(their).toMatchObject({ state: "committed" });
  go();
  expect(await buildOf(one, buildId, ({ endedAt }) => endedAt !== null)).toMatchObject({
    state: "failed",
    error: "Conflict",
  });
  expect((await one.get(`${path}/draft`)).json()).toMatchObject({
    version,
    base: null,
    head: their["commitId"],
    changed: true,
  });
});

test("a commit, at which something of ours breaks, is told as failed without detail, and the log has it", async () => {
  const environments: PublisherDeps["environments"] = {
    ...fakeEnvironments(),
    lock: async () => {
      throw new Error("the disk is made of cheese");
    },
  };
  const service = await aBuildingService(environments, 60_000);
  const editor = await anEditor(service);
  const { path } = await editor.create();
  const version = await save(editor, path, [...FILES, PACKAGES]);
  const answer = await editor.post(`${path}/commits`, { message: "", version, expectedHead: null });
  expect([answer.status, answer.text().includes("cheese")]).toEqual([500, false]);
  const [row] = await queryRows<{ id: string }>(service.db, "select id from builds");
  expect((await editor.get(`builds/${row?.id}`)).json()).toMatchObject({
    state: "failed",
    error: "Internal server error",
  });
  expect(service.logged.find(({ event }) => event === "build.failed")).toMatchObject({ buildId: row?.id });
});

test("a build, whose process was lost, is told as failed, and the next commit is made", async () => {
  const service = await aBuildingService(fakeEnvironments(), 60_000);
  const editor = await anEditor(service);
  const { path, workflowId } = await editor.create();
  const id = createBuildId();
  await insertBuild(service.db, { id, workflowId });
  expect((await editor.get(`builds/${id}`)).json()).toMatchObject({ state: "building" });
  await queryRows(service.db, "update builds set seen_at = now() - interval '61 seconds' where id = :id", { id });
  expect((await editor.get(`builds/${id}`)).json()).toMatchObject({
    state: "failed",
    message: expect.stringContaining("stopped"),
  });
  const { text } = await editor.get(`builds/${id}`, { accept: "text/event-stream" });
  expect(eventsOf(text())).toMatchObject([{ event: "result", data: { error: "Internal server error" } }]);
  expect(await commit(editor, path, FILES, null)).toMatchObject({ status: 201 });
});

test("a build, long ended, is forgotten when the next begins; one of a week is kept", async () => {
  const service = await aBuildingService(fakeEnvironments(), 60_000);
  const editor = await anEditor(service);
  const { path, workflowId } = await editor.create();
  const [old, recent] = [createBuildId(), createBuildId()];
  for (const [id, days] of [
    [old, 8],
    [recent, 6],
  ] as const) {
    await insertBuild(service.db, { id, workflowId });
    await queryRows(service.db, "update builds set created_at = now() - make_interval(days => :days) where id = :id", {
      id,
      days,
    });
  }
  await commit(editor, path, FILES, null);
  expect([(await editor.get(`builds/${old}`)).status, (await editor.get(`builds/${recent}`)).status]).toEqual([
    404, 200,
  ]);
});
