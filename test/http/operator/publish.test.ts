import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import tar from "tar-stream";
import { findCommit } from "../../../db/commits/commits.ts";
import { queryRows } from "../../../db/connect.ts";
import type { CommitId, WorkflowId } from "../../../domain/ids.ts";
import { EnvironmentError } from "../../../environments/build-steps.ts";
import { createArchive } from "../../../src/publish/archive.ts";
import { createCommitReader } from "../../../src/publish/commit-files.ts";
import { aWorkflow } from "../../support/builders.ts";
import type { Answer } from "../../support/https.ts";
import { fakeEnvironments } from "../editor/parts.ts";
import { anOperatorService, type OperatorService } from "./operator-service.ts";

const environments = fakeEnvironments();
const { ensure } = environments;
environments.ensure = async (key, lock, options) => {
  if (key.includes("talkative")) options.report("Building talkative…");
  if (key.includes("broken")) throw new EnvironmentError("refused", "No such package.", "");
  await ensure(key, lock, options);
};
let service: OperatorService;
beforeAll(async () => {
  service = await anOperatorService({ environments });
});
afterAll(() => service.close());

const CONFIG = "name: Greeter\ninputs:\n  who: { type: string, default: World }\ntriggers:\n  api: { enabled: true }\n";
const GOOD = { "config.yaml": CONFIG, "main.py": "def main(who):\n    return who\n" };

const toFiles = (contents: Readonly<Record<string, string | Buffer>>) =>
  Object.entries(contents).map(([path, content]) => ({
    path,
    content: Buffer.from(content as string),
    executable: path.endsWith(".sh"),
  }));

function publish(contents: Readonly<Record<string, string | Buffer>>, query = ""): Promise<Answer> {
  return send(createArchive(toFiles(contents)), query);
}

function preview(contents: Readonly<Record<string, string>>, query = ""): Promise<Answer> {
  return send(createArchive(toFiles(contents)), query, "application/x-tar", "publish/preview");
}

function send(body: Readable | Buffer, query = "", type = "application/x-tar", route = "publish"): Promise<Answer> {
  return service.operator(`/api/${route}?${query}`, {
    method: "POST",
    headers: { "content-type": type },
    body,
  });
}

const counts = async () =>
  (
    await queryRows(
      service.db,
      "select (select count(*) from workflows) as workflows, (select count(*) from commits) as commits, (select count(*) from git_objects) as objects",
    )
  )[0];

async function readBack(workflowId: string, commitId: string): Promise<Record<string, string>> {
  const contents: Record<string, string> = {};
  for await (const file of createCommitReader(service.db)(workflowId as WorkflowId, commitId as CommitId))
    contents[file.path] = file.content.toString();
  return contents;
}

test("POST /publish, without a workflow, makes one with its commit and key, and the files can be read back", async () => {
  const contents = { ...GOOD, "lib/deep/a.py": "x = 1\n", "run.sh": "#!/bin/sh\n" };
  const answer = await publish(contents, "message=First");
  expect([answer.status, answer.json()]).toEqual([
    201,
    {
      workflowId: expect.stringMatching(/^wf_/),
      commitId: expect.stringMatching(/^[0-9a-f]{40}$/),
      created: true,
      changed: true,
      warnings: [],
      apiKey: expect.stringMatching(/^trd_/),
    },
  ]);
  const { workflowId, commitId } = answer.json() as { workflowId: string; commitId: string };
  expect(await readBack(workflowId, commitId)).toEqual(contents);
  const shown = await service.operator(`/api/workflows/${workflowId}`);
  expect(shown.json()).toMatchObject({ name: "Greeter", commitId });
});

test("POST /publish, asked for events, says what the build says and then the answer, or why there is none", async () => {
  const follow = (contents: Readonly<Record<string, string>>) =>
    service.operator("/api/publish", {
      method: "POST",
      headers: { "content-type": "application/x-tar", accept: "text/event-stream" },
      body: createArchive(toFiles(contents)),
    });
  const good = await follow({ ...GOOD, "requirements.txt": "talkative\n" });
  const [log, result] = good.text().trimEnd().split("\n\n");
  expect([good.status, good.headers["content-type"]]).toEqual([200, "text/event-stream; charset=utf-8"]);
  expect(log).toBe(`event: log\ndata: {"text":"Building talkative…\\n"}`);
  expect(JSON.parse(result?.split("data: ")[1] ?? "")).toMatchObject({ created: true, apiKey: expect.any(String) });
  const bad = await follow({ ...GOOD, "requirements.txt": "talkative-broken\n" });
  const refusal: unknown = JSON.parse(bad.text().trimEnd().split("event: result\ndata: ")[1] ?? "");
  expect(refusal).toMatchObject({ error: "Invalid request", details: [{ message: "No such package." }] });
  const quiet = await follow(GOOD);
  expect([quiet.status, quiet.json()["created"]]).toEqual([201, true]);
  expect((await follow({ "main.py": "" })).status).toBe(400);
});

test("POST /publish, again with the same files, answers the same commit and makes none", async () => {
  const { workflowId, commitId } = (await publish(GOOD)).json() as { workflowId: string; commitId: string };
  const before = await counts();
  const again = await publish(GOOD, `workflow=${workflowId}&message=Other+words`);
  expect([again.status, again.json()]).toEqual([
    200,
    { workflowId, commitId, created: false, changed: false, warnings: [] },
  ]);
  expect(await counts()).toEqual(before);
});

test("POST /publish, on an older head than the workflow has, answers 409 with the head and changes nothing", async () => {
  const { workflowId, commitId: first } = (await publish(GOOD)).json() as { workflowId: string; commitId: string };
  const second = (await publish({ ...GOOD, "b.py": "" }, `workflow=${workflowId}&expectedHead=${first}`)).json()[
    "commitId"
  ];
  const before = await counts();
  const stale = await publish({ ...GOOD, "c.py": "" }, `workflow=${workflowId}&expectedHead=${first}`);
  expect([stale.status, stale.json()]).toMatchObject([409, { error: "Conflict", head: second }]);
  expect(await counts()).toEqual(before);
  const forced = await publish({ ...GOOD, "c.py": "" }, `workflow=${workflowId}`);
  expect(forced.status).toBe(200);
});

test("POST /publish, twice at once on one head, lets one win and tells the other", async () => {
  const { workflowId, commitId } = (await publish(GOOD)).json() as { workflowId: string; commitId: string };
  const query = `workflow=${workflowId}&expectedHead=${commitId}`;
  const answers = await Promise.all([1, 2, 3].map((n) => publish({ ...GOOD, "n.py": String(n) }, query)));
  expect(answers.map((answer) => String(answer.status)).sort()).toEqual(["200", "409", "409"]);
});

test("POST /publish, several at once without an expected head, makes a line of commits", async () => {
  const { workflowId } = (await publish(GOOD)).json() as { workflowId: string };
  const answers = await Promise.all(
    [1, 2, 3, 4].map((n) => publish({ ...GOOD, "n.py": String(n) }, `workflow=${workflowId}`)),
  );
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200]);
  const commits = await queryRows<{ id: string; parent: string | null }>(
    service.db,
    "select id, parent_id as parent from commits where workflow_id = :workflowId",
    { workflowId },
  );
  expect(commits).toHaveLength(5);
  expect(new Set(commits.map((commit) => commit.parent)).size).toBe(5);
});

test("POST /publish, with several mistakes in several files, names each with line and column and stores nothing", async () => {
  const before = await counts();
  const answer = await publish({
    "config.yaml":
      "name: x\nentrypoint: start.py\ninputs:\n  who: { type: string, maxlength: 5 }\n  n: { type: numbr }\n",
    "requirements.txt": "pandas==2.3.3\n-e .\nfoo @ https://example.com/x.whl\n",
  });
  expect([answer.status, answer.json()["error"]]).toEqual([400, "Invalid request"]);
  const details = answer.json()["details"] as { file: string; line: number; column: number; message: string }[];
  expect(details.map(({ file, line }) => `${file}:${line}`).sort()).toEqual(
    expect.arrayContaining(["config.yaml:4", "config.yaml:5", "requirements.txt:2", "requirements.txt:3"]),
  );
  expect(details.every(({ line, column, message }) => line >= 1 && column >= 1 && message !== "")).toBe(true);
  expect(await counts()).toEqual(before);
});

test.each([
  ["no config.yaml", { "main.py": "" }, "config.yaml"],
  ["no entrypoint", { "config.yaml": "name: x\n" }, "main.py"],
  [
    "the network, which is not there yet",
    { ...GOOD, "config.yaml": `${CONFIG}limits: { network: true }\n` },
    "config.yaml",
  ],
  ["another Python", { ...GOOD, "config.yaml": `${CONFIG}python: "3.99"\n` }, "config.yaml"],
])("POST /publish, with %s, answers 400 naming the file", async (_what, contents, file) => {
  const answer = await publish(contents);
  expect(answer.status).toBe(400);
  expect(answer.json()["details"]).toEqual([expect.objectContaining({ file })]);
});

test("POST /publish, with an entrypoint that is not there, says where the manifest names it", async () => {
  const answer = await publish({ "config.yaml": "name: x\nentrypoint: start.py\n", "main.py": "" });
  expect([answer.status, answer.json()["details"]]).toEqual([
    400,
    [{ file: "config.yaml", line: 2, column: 13, message: expect.stringContaining("start.py is missing") }],
  ]);
});

test("POST /publish, by the operator, makes a commit of the operator in the record and for git", async () => {
  const { workflowId, commitId } = (await publish(GOOD)).json() as { workflowId: WorkflowId; commitId: CommitId };
  expect(await findCommit(service.db, workflowId, commitId)).toMatchObject({ authorEmail: "operator" });
  const [object] = await queryRows<{ text: string }>(
    service.db,
    "select convert_from(content, 'UTF8') as text from git_objects where workflow_id = :workflowId and id = :commitId",
    { workflowId, commitId },
  );
  expect(object?.text).toMatch(/^author operator <operator@localhost> \d+ \+0000\ncommitter Treadle </m);
});

test("POST /publish, on a hostile tar, names its entries and stores nothing", async () => {
  const before = await counts();
  const pack = tar.pack();
  for (const [path, content] of Object.entries(GOOD)) pack.entry({ name: path }, content);
  pack.entry({ name: "../../escape.py" }, "boom");
  pack.entry({ name: "link", type: "symlink", linkname: "/etc/passwd" });
  pack.entry({ name: "device", type: "character-device" });
  pack.finalize();
  const answer = await send(Readable.from(pack as unknown as AsyncIterable<Buffer>));
  expect(answer.status).toBe(400);
  expect((answer.json()["details"] as { file: string }[]).map((one) => one.file)).toEqual([
    "../../escape.py",
    "link",
    "device",
  ]);
  expect(await counts()).toEqual(before);
});

test("POST /publish, with 20 MB and more, answers 413 while it is still being sent, and the next call works", async () => {
  const before = await counts();
  const answer = await publish({ ...GOOD, "big.bin": Buffer.alloc(20_000_000) });
  expect([answer.status, answer.json()["error"]]).toEqual([413, "Payload too large"]);
  expect(await counts()).toEqual(before);
  expect((await publish(GOOD)).status).toBe(201);
});

test.each([["application/json"], ["application/gzip"], ["multipart/form-data"]])(
  "POST /publish, as %s, answers 415",
  async (type) => {
    expect((await send(Buffer.from("{}"), "", type)).status).toBe(415);
  },
);

test.each([
  ["an expected head that is no commit", "expectedHead=main"],
  ["an unknown parameter", "colour=red"],
  ["too long a message", `message=${"x".repeat(1_001)}`],
])("POST /publish, with %s, answers 400", async (_what, query) => {
  expect((await publish(GOOD, query)).status).toBe(400);
});

test("POST /publish/preview, against a head, shows the difference of files and inputs and changes nothing", async () => {
  const { workflowId } = (await publish({ ...GOOD, "old.py": "1\n2\n" })).json() as { workflowId: string };
  const before = await counts();
  const config = `${CONFIG.replace("who: { type: string, default: World }", "who: { type: text, default: World }\n  n: { type: integer, default: 1 }")}  schedule: { enabled: true, cron: "0 9 * * 1-5", timezone: Europe/Berlin }\n`;
  const answer = await preview({ "config.yaml": config, "main.py": GOOD["main.py"] }, `workflow=${workflowId}`);
  expect(answer.status).toBe(200);
  expect(answer.json()).toMatchObject({
    workflowId,
    files: [
      { path: "config.yaml", change: "changed", linesAdded: 3, linesRemoved: 1 },
      { path: "old.py", change: "removed", linesAdded: 0, linesRemoved: 2 },
    ],
    inputs: [
      { input: "n", change: "added" },
      { input: "who", change: "changed" },
    ],
  });
  const { nextRuns } = answer.json() as { nextRuns: { utc: string; local: string }[] };
  expect(nextRuns).toHaveLength(10);
  expect(answer.json()["schedule"]).toEqual({ description: "every weekday at 09:00, Europe/Berlin", paused: false });
  expect(nextRuns.every((run) => /T09:00:00\+0[12]:00$/.test(run.local))).toBe(true);
  expect(await counts()).toEqual(before);
});

test("POST /publish/preview, without a workflow, shows everything as added and makes no workflow", async () => {
  const before = await counts();
  const answer = await preview(GOOD);
  expect(answer.json()).toMatchObject({
    workflowId: null,
    head: null,
    nextRuns: [],
    files: [
      { path: "config.yaml", change: "added" },
      { path: "main.py", change: "added" },
    ],
  });
  expect(await counts()).toEqual(before);
});

test("POST /publish, with requirements, builds the environment before the head moves and records its key", async () => {
  const answer = await publish({ ...GOOD, "requirements.txt": "pandas==2.3.3\n" });
  const { workflowId, commitId } = answer.json();
  expect(environments.built).toContain("key of pandas==2.3.3");
  const rows = await queryRows(
    service.db,
    "select c.environment_key as key, e.lock from commits c join environments e on e.key = c.environment_key where c.workflow_id = :workflowId and c.id = :commitId",
    { workflowId, commitId },
  );
  expect(rows).toEqual([{ key: "key of pandas==2.3.3", lock: "locked pandas==2.3.3" }]);
});

test("POST /publish, to a workflow without a commit, gives it its first", async () => {
  const { workflowId } = await aWorkflow(service.db, { accountId: service.accountId, commit: false });
  const answer = await publish(GOOD, `workflow=${workflowId}`);
  expect([answer.status, answer.json()]).toMatchObject([200, { workflowId, created: false, changed: true }]);
  expect(answer.json()["apiKey"]).toBeUndefined();
});
