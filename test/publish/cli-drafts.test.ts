import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { AccountId } from "../../domain/ids.ts";
import { aMember, anAccount, type TestMember } from "../support/builders.ts";
import { aCliService, type CliResult, type CliService } from "./cli-service.ts";

const CONFIG = "inputs:\n  region: { type: string }\ntriggers:\n  api: { enabled: true }\n";

let service: CliService;
let accountId: AccountId;
let member: TestMember;
let other: TestMember;

beforeAll(async () => {
  service = await aCliService();
  accountId = await anAccount(service.db, { name: "drafts" });
  await aMember(service.db, accountId);
  member = await aMember(service.db, accountId, "member");
  other = await aMember(service.db, accountId, "member");
});

afterAll(() => service?.close());

const as = (who: TestMember, ...argv: string[]): Promise<CliResult> => service.cliAs(who, ...argv, "--json");

/** A workflow with one commit, and its id. */
async function aPublished(files: Record<string, string> = {}): Promise<string> {
  const folder = service.folder({ "config.yaml": CONFIG, "main.py": "print(1)\n", ...files });
  return (await as(member, "publish", folder)).json()["workflowId"] as string;
}

async function pathsOf(workflowId: string, who = member): Promise<string[]> {
  const { files } = (await as(who, "drafts", "show", workflowId)).json() as { files: { path: string }[] };
  return files.map(({ path }) => path);
}

test("a draft, saved from a folder, has its files and no others, and is the caller's alone", async () => {
  const workflowId = await aPublished({ "old.txt": "gone soon" });
  const binary = "\u0000\u0001";
  const folder = service.folder({ "config.yaml": CONFIG, "main.py": "print(2)\n", "data/new.bin": binary });
  const saved = await as(member, "drafts", "save", workflowId, folder);
  expect([saved.code, saved.json()]).toEqual([0, expect.objectContaining({ version: 1, changed: true, problems: [] })]);
  expect(await pathsOf(workflowId)).toEqual(["config.yaml", "data/new.bin", "main.py"]);
  expect(await pathsOf(workflowId, other)).toEqual(["config.yaml", "main.py", "old.txt"]);
  const target = join(folder, "got.bin");
  const got = await as(member, "drafts", "get", workflowId, "data/new.bin", target);
  expect([got.json()["bytes"], readFileSync(target, "latin1")]).toEqual([2, binary]);
  expect((await as(member, "drafts", "get", workflowId, "none.txt", target)).json()["error"]).toBe("Not found");
  const shown = await service.cliAs(member, "drafts", "show", workflowId);
  expect(shown.out).toMatch(/^Draft {3}changed\n/);
});

test("a draft, with a mistake in its config.yaml, is saved with its place, and not committed", async () => {
  const workflowId = await aPublished();
  const folder = service.folder({ "config.yaml": "inputs:\n  region: { type: strin }\n", "main.py": "" });
  const saved = await service.cliAs(member, "drafts", "save", workflowId, folder);
  expect([saved.code, saved.out]).toEqual([0, expect.stringMatching(/^Saved as version 1\nconfig\.yaml:2:\d+ /)]);
  const preview = await as(member, "drafts", "preview", workflowId);
  expect([preview.code, preview.json()]).toMatchObject([1, { problems: [{ file: "config.yaml", line: 2 }] }]);
  const refused = await as(member, "drafts", "commit", workflowId);
  expect([refused.code, refused.json()]).toMatchObject([1, { details: [{ file: "config.yaml", line: 2 }] }]);
});

test("files of a draft, put, renamed and deleted one by one, are so, and the preview shows it", async () => {
  const workflowId = await aPublished({ "notes/a.txt": "one\n" });
  const folder = service.folder({ "tool.py": "x = 1\n" });
  expect((await as(member, "drafts", "put", workflowId, "lib/tool.py", join(folder, "tool.py"))).code).toBe(0);
  expect((await as(member, "drafts", "rename", workflowId, "notes", "texts")).json()["version"]).toBe(2);
  expect((await as(member, "drafts", "delete", workflowId, "main.py")).json()["version"]).toBe(3);
  expect(await pathsOf(workflowId)).toEqual(["config.yaml", "lib/tool.py", "texts/a.txt"]);
  expect((await service.cliAs(member, "drafts", "preview", workflowId)).out).toMatch(
    /\+ +lib\/tool\.py +\+1 -0\n\+ +texts\/a\.txt +\+1 -0\n- +main\.py +\+0 -1\n/,
  );
  const missing = await as(member, "drafts", "put", workflowId, "x", join(folder, "none"));
  expect([missing.code, missing.json()["error"]]).toEqual([1, "No such file"]);
  expect((await as(member, "drafts", "discard", workflowId)).json()).toEqual({ discarded: true });
  expect((await service.cliAs(member, "drafts", "discard", workflowId)).out).toBe("There was no draft\n");
  expect(await pathsOf(workflowId)).toContain("main.py");
});

test("a draft, committed over somebody else's commit, is refused until it has taken that over", async () => {
  const workflowId = await aPublished({ "a.txt": "a\n", "b.txt": "b\n" });
  const save = (who: TestMember, files: Record<string, string>) =>
    as(who, "drafts", "save", workflowId, service.folder({ "config.yaml": CONFIG, "main.py": "print(1)\n", ...files }));
  await save(member, { "a.txt": "mine\n", "b.txt": "b\n" });
  await save(other, { "a.txt": "theirs\n", "b.txt": "theirs\n" });
  const first = await as(other, "drafts", "commit", workflowId, "-m", "First");
  expect([first.code, first.json()]).toEqual([0, { commitId: expect.any(String), changed: true }]);
  const refused = await as(member, "drafts", "commit", workflowId);
  expect([refused.code, refused.json()]).toMatchObject([1, { error: "Conflict", head: first.json()["commitId"] }]);
  const taken = await as(member, "drafts", "take-over", workflowId);
  const head = String(first.json()["commitId"]);
  const conflicts = [{ path: "a.txt", commitId: head }];
  expect(taken.json()).toMatchObject({ conflicts: ["a.txt"], draft: { conflicts } });
  const shown = await service.cliAs(member, "drafts", "show", workflowId);
  expect(shown.out).toContain(`\na.txt: ${head} has changed it as well; "drafts settle" when it is as you want it\n`);
  const unknown = await as(member, "drafts", "settle", workflowId, "a.txt", "b.txt");
  expect([unknown.code, unknown.json()["error"]]).toEqual([1, "Not found"]);
  const settled = await as(member, "drafts", "settle", workflowId);
  expect([settled.code, settled.json()]).toEqual([0, { settled: conflicts, conflicts: [] }]);
  const again = await service.cliAs(member, "drafts", "settle", workflowId);
  expect([again.code, again.out]).toEqual([0, "Nothing is to be settled\n"]);
  const difference = await as(member, "commits", "diff", workflowId, head, "draft");
  expect(difference.json()).toMatchObject({
    to: "draft",
    files: [{ path: "a.txt", before: "theirs\n", after: "mine\n" }],
  });
  const second = await service.cliAs(member, "drafts", "commit", workflowId, "-m", "Second");
  expect([second.code, second.out]).toEqual([0, expect.stringMatching(/^Committed [0-9a-f]{40}\n$/)]);
  expect((await as(member, "commits", "list", workflowId)).json()).toMatchObject({
    commits: [{ message: "Second", author: { email: member.email } }, { message: "First" }, {}],
  });
  expect((await service.cliAs(member, "drafts", "commit", workflowId)).out).toMatch(/^Nothing changed: /);
});

test("run --draft, of a workflow, executes what is written and commits nothing", async () => {
  const workflowId = await aPublished();
  const folder = service.folder({ "config.yaml": CONFIG.replace("region", "place"), "main.py": "" });
  await as(member, "drafts", "save", workflowId, folder);
  const run = await as(member, "run", workflowId, "--draft", "-i", "place=here");
  expect([run.code, run.json()["status"]]).toEqual([0, "success"]);
  const listed = await as(member, "executions", "list", "--workflow", workflowId, "--trigger", "form");
  const executionId = run.json()["executionId"];
  expect(listed.json()).toMatchObject({ executions: [{ executionId, draft: true }], nextCursor: null });
  expect((await as(member, "commits", "list", workflowId)).json()["commits"]).toHaveLength(1);
  const wrong = await as(member, "run", workflowId, "--draft", "-i", "region=here");
  expect([wrong.code, wrong.json()["error"]]).toEqual([1, "Invalid request"]);
  for (const [argv, error] of [
    [[folder, "--draft"], "Not published"],
    [[workflowId, "--draft", "--dry-run"], "Invalid request"],
  ] as const) {
    const refused = await as(member, "run", ...argv);
    expect([refused.code, refused.json()["error"]]).toEqual([1, error]);
  }
  expect(service.started).toHaveLength(1);
});

test("drafts, of the operator's token, are refused with words that say whose to use", async () => {
  const refused = await service.cli("drafts", "show", await aPublished(), "--json");
  expect([refused.code, refused.json()]).toMatchObject([1, { error: "Forbidden" }]);
  expect(String(refused.json()["message"])).toContain("use a member's token");
});

test("workflows create --template, by a member, begins with a draft of its files", async () => {
  const made = await as(member, "workflows", "create", "Mine", "--template", "hello");
  const { workflowId } = made.json() as { workflowId: string };
  expect(await pathsOf(workflowId)).toEqual(expect.arrayContaining(["config.yaml", "main.py"]));
  expect((await as(member, "workflows", "show", workflowId)).json()).toMatchObject({ name: "Mine", commitId: null });
  const none = await as(member, "workflows", "create", "Mine", "--template", "none");
  expect([none.code, none.json()["error"]]).toEqual([1, "Invalid request"]);
});
