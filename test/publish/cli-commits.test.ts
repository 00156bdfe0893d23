import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { listAccounts } from "../../db/accounts/accounts.ts";
import { createArchive } from "../../src/publish/archive.ts";
import type { PublisherDeps } from "../../src/publish/publish.ts";
import { fakeEnvironments, someEditorParts } from "../http/editor/parts.ts";
import { aMember } from "../support/builders.ts";
import { aCliService, type CliService } from "./cli-service.ts";

let service: CliService;
beforeAll(async () => {
  service = await aCliService();
});
afterAll(() => service?.close());

const CONFIG = `triggers:
  schedule: { enabled: true, cron: "0 9 * * *" } # every morning
`;

/** A workflow with a commit for each of these programs, oldest first. */
async function aPublished(...programs: readonly string[]): Promise<{ workflowId: string; commits: string[] }> {
  let workflowId = "";
  const commits: string[] = [];
  for (const program of programs) {
    const folder = service.folder({ "config.yaml": CONFIG, "main.py": program });
    const target = workflowId === "" ? [] : ["--workflow", workflowId];
    const published = (await service.cli("publish", folder, ...target, "-m", `Say ${program}`, "--json")).json();
    workflowId = published["workflowId"] as string;
    commits.push(published["commitId"] as string);
  }
  return { workflowId, commits };
}

test("commits, listed, shown and compared, are those that were published", async () => {
  const { workflowId, commits } = await aPublished("one", "three");
  const [first = "", second = ""] = commits;
  const listed = (await service.cli("commits", "list", workflowId, "--json")).json();
  expect(listed).toMatchObject({
    commits: [
      { commitId: second, parentId: first, message: "Say three", isHead: true, executions: 0 },
      { commitId: first, parentId: null, isHead: false },
    ],
  });
  // Published with the operator's token.
  expect(listed).toMatchObject({ commits: commits.map(() => ({ author: { email: "operator" } })) });
  expect((await service.cli("commits", "list", workflowId, "-n", "1", "--json")).json()["commits"]).toHaveLength(1);
  expect((await service.cli("commits", "list", workflowId)).out).toMatch(
    new RegExp(`^Commit .*\n${second.slice(0, 12)}  latest .*Say three\n`),
  );

  const shown = await service.cli("commits", "show", workflowId, first.slice(0, 10), "--json");
  expect(shown.json()).toMatchObject({
    commitId: first,
    files: [{ path: "config.yaml" }, { path: "main.py", text: "one" }],
  });
  expect((await service.cli("commits", "show", workflowId)).out).toMatch(
    new RegExp(`^Commit      ${second}  \\(latest\\)\n(?:.*\n)*Made .* by operator\n`),
  );

  const difference = { files: [{ path: "main.py", status: "changed", before: "one", after: "three" }] };
  expect((await service.cli("commits", "diff", workflowId, "--json")).json()).toMatchObject({
    from: first,
    to: second,
    ...difference,
  });
  expect((await service.cli("commits", "diff", workflowId, first, second)).out).toMatch(
    /^(?:===+\n)?--- a\/main.py\n\+\+\+ b\/main.py\n@@ -1,1 \+1,1 @@\n-one\n.*\n\+three\n.*\n$/,
  );
  expect((await service.cli("commits", "diff", workflowId, first, first)).out).toBe("No file changes.\n");
});

test("a commit, published with a member's token, has the member as its author", async () => {
  const [account] = await listAccounts(service.db);
  const member = await aMember(service.db, (account as NonNullable<typeof account>).id);
  const archive = createArchive([
    { path: "config.yaml", content: Buffer.from(CONFIG), executable: false },
    { path: "main.py", content: Buffer.from("1"), executable: false },
  ]);
  const published = await service.call("/api/publish", {
    method: "POST",
    headers: { authorization: `Bearer ${member.token}`, "content-type": "application/x-tar" },
    body: archive,
  });
  const { workflowId } = published.json() as { workflowId: string };
  expect((await service.cli("commits", "list", workflowId, "--json")).json()).toMatchObject({
    commits: [{ author: { email: member.email } }],
  });
});

test("a commit, restored by the beginning of its id, has its files as the latest, once", async () => {
  const { workflowId, commits } = await aPublished("one", "two");
  const [first = ""] = commits;
  const restored = await service.cli("commits", "restore", workflowId, first.slice(0, 8), "-m", "Back", "--json");
  expect([restored.code, restored.json()]).toEqual([0, { commitId: expect.any(String), changed: true }]);
  expect((await service.cli("commits", "show", workflowId, "--json")).json()).toMatchObject({
    commitId: restored.json()["commitId"],
    message: "Back",
    files: [{}, { text: "one" }],
  });
  expect((await service.cli("commits", "restore", workflowId, first, "--json")).json()).toMatchObject({
    changed: false,
  });
});

test("a commit, that is none or one of several, is refused", async () => {
  const { workflowId } = await aPublished("one", "two");
  for (const [name, error] of [
    ["f".repeat(40), "Not found"],
    ["xyz", "Not found"],
    ["", "Invalid request"],
  ] as const) {
    const refused = await service.cli("commits", "show", workflowId, name, "--json");
    expect([refused.code, refused.json()["error"]]).toEqual([1, error]);
  }
  const { workflowId: bare } = (await service.cli("workflows", "create", "bare", "--json")).json() as {
    workflowId: string;
  };
  expect((await service.cli("commits", "show", bare, "--json")).json()).toMatchObject({ error: "Not found" });
  expect((await service.cli("commits", "list", "wf_00000000000000000000000000", "--json")).json()).toMatchObject({
    error: "Workflow not found",
  });
});

test("a schedule, paused and resumed, is so by a commit; a dry run shows the line and changes nothing", async () => {
  const { workflowId, commits } = await aPublished("one");
  const dry = await service.cli("schedules", "pause", workflowId, "--dry-run");
  expect(dry.out).toBe(
    '-   schedule: { enabled: true, cron: "0 9 * * *" } # every morning\n+   schedule: { enabled: false, cron: "0 9 * * *" } # every morning\n',
  );
  expect((await service.cli("commits", "list", workflowId, "--json")).json()["commits"]).toHaveLength(1);
  const paused = await service.cli("schedules", "pause", workflowId, "--json");
  expect(paused.json()).toEqual({ commitId: expect.any(String), changed: true });
  expect((await service.cli("schedules", "next", workflowId, "--json")).json()).toMatchObject({ paused: true });
  expect((await service.cli("schedules", "pause", workflowId)).out).toBe("It was paused already\n");
  await service.cli("schedules", "resume", workflowId);
  expect((await service.cli("schedules", "next", workflowId, "--json")).json()).toMatchObject({ paused: false });
  expect((await service.cli("commits", "show", workflowId, "--json")).json()).toMatchObject({
    message: "Resume the schedule",
    files: [{ text: CONFIG }, {}],
  });
  expect(commits).toHaveLength(1);
});

test("workflows rename, given another name, answers it and the list has it", async () => {
  const { workflowId } = await aPublished("one");
  expect((await service.cli("workflows", "rename", workflowId, "Another", "--json")).json()).toEqual({
    workflowId,
    name: "Another",
  });
  const { workflows } = (await service.cli("workflows", "list", "--json")).json() as {
    workflows: { workflowId: string; name: string }[];
  };
  expect(workflows.find((each) => each.workflowId === workflowId)?.name).toBe("Another");
  expect((await service.cli("workflows", "rename", workflowId, " ", "--json")).code).toBe(1);
});

test("a restore, whose environment takes long, tells what is said and then its end, good or bad", async () => {
  let fails = false;
  const environments: PublisherDeps["environments"] = {
    ...fakeEnvironments(),
    async lock(requirements, options) {
      options.report("Resolving");
      const problem = { file: "requirements.txt", line: 1, column: 1, message: "There is no leftpad." };
      return fails ? { ok: false, problems: [problem], log: "" } : fakeEnvironments().lock(requirements, options);
    },
  };
  const slow = await aCliService({ editorParts: (db) => someEditorParts(db, { environments, quickBuildMs: 0 }) });
  try {
    const publish = async (files: Record<string, string>, ...target: string[]) =>
      (
        await slow.cli("publish", slow.folder({ "config.yaml": CONFIG, "main.py": "1", ...files }), ...target, "--json")
      ).json();
    const { workflowId, commitId } = (await publish({ "requirements.txt": "leftpad\n" })) as Record<string, string>;
    const { commitId: head } = await publish({}, "--workflow", workflowId as string);
    fails = true;
    const refused = await slow.cli("commits", "restore", workflowId as string, commitId as string, "--json");
    expect([refused.code, refused.json()]).toMatchObject([
      1,
      { error: "Invalid request", details: [{ file: "requirements.txt" }] },
    ]);
    expect(refused.err).toContain("Resolving");
    expect((await slow.cli("commits", "show", workflowId as string, "--json")).json()).toMatchObject({
      commitId: head,
    });
    fails = false;
    const restored = await slow.cli("commits", "restore", workflowId as string, commitId as string, "--json");
    expect([restored.code, restored.json()]).toEqual([0, { commitId: expect.any(String), changed: true }]);
  } finally {
    await slow.close();
  }
});
