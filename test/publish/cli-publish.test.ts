import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { requestCancel } from "../../db/executions/executions.ts";
import { anExecution, aWorkflow } from "../support/builders.ts";
import { aRunningCliService, GREETER, GREETER_CONFIG, type RunningCliService } from "./greeter.ts";

let service: RunningCliService;
beforeAll(async () => {
  service = await aRunningCliService();
});
afterAll(() => service.close());

test("publish, of a good folder, answers the documents of the contract and notices when nothing changed", async () => {
  const dir = service.folder(GREETER);
  const first = await service.cli("publish", dir, "-m", "First", "--json");
  expect([first.code, first.json()]).toEqual([
    0,
    {
      workflowId: expect.stringMatching(/^wf_/),
      commitId: expect.stringMatching(/^[0-9a-f]{40}$/),
      created: true,
      changed: true,
      apiKey: expect.stringMatching(/^trd_/),
      executeUrl: `${service.url}/api/workflows/${String(first.json()["workflowId"])}/execute`,
    },
  ]);
  const { workflowId, commitId } = first.json() as { workflowId: string; commitId: string };
  const again = await service.cli("publish", dir, "--workflow", workflowId, "--json");
  expect(again.json()).toMatchObject({ workflowId, commitId, created: false, changed: false });
  expect((await service.cli("publish", dir, "--workflow", workflowId)).out).toContain("Nothing changed");
});

test("publish, of a folder again, goes to the workflow it was published to and says so first, or with --new to another", async () => {
  const dir = service.folder(GREETER);
  const { workflowId } = (await service.cli("publish", dir, "--json")).json();
  writeFileSync(join(dir, "main.py"), "def main():\n    return 2\n");
  const again = await service.cli("publish", dir, "--json");
  expect(again.json()).toMatchObject({ workflowId, created: false, changed: true });
  expect(again.err.split("\n")[0]).toBe(
    `Publishing to Greeter (${String(workflowId)}), as before. --new makes another workflow.`,
  );
  const preview = (await service.cli("publish", dir, "--dry-run", "--json")).json();
  expect(preview["workflowId"]).toBe(workflowId);
  const other = await service.cli("publish", dir, "--new", "--json");
  expect([other.json()["created"], other.err]).toEqual([true, ""]);
  expect(other.json()["workflowId"]).not.toBe(workflowId);
  expect((await service.cli("publish", dir, "--json")).json()["workflowId"]).toBe(other.json()["workflowId"]);
  expect((await service.cli("publish", dir, "--new", "--workflow", String(workflowId))).code).toBe(1);
  await service.cli("workflows", "delete", String(other.json()["workflowId"]));
  expect((await service.cli("publish", dir, "--json")).json()["created"]).toBe(true);
});

test("publish, of an invalid folder, exits 1 with every problem, as JSON and as lines", async () => {
  const dir = service.folder({
    "config.yaml": "name: x\ninputs:\n  who: { type: strng }\nlimits: { tmeout: 5m }\n",
    "main.py": "",
  });
  const json = await service.cli("publish", dir, "--json");
  expect(json.code).toBe(1);
  expect(json.json()).toMatchObject({ error: "Invalid request", message: expect.any(String) });
  const details = json.json()["details"] as { file: string; line: number; column: number; message: string }[];
  expect(details.map(({ file, line }) => [file, line])).toEqual([
    ["config.yaml", 3],
    ["config.yaml", 4],
  ]);
  const plain = await service.cli("publish", dir);
  expect([plain.code, plain.out]).toEqual([1, ""]);
  expect(plain.err).toContain(`config.yaml:4:${details[1]?.column} ${details[1]?.message}\n`);
});

test("publish, of a folder with links, refuses before anything is sent", async () => {
  const dir = service.folder(GREETER);
  symlinkSync("/etc/passwd", join(dir, "passwd"));
  const result = await service.cli("publish", dir, "--json");
  expect([result.code, result.json()["details"]]).toEqual([1, [expect.objectContaining({ file: "passwd" })]]);
  const missing = await service.cli("publish", join(dir, "nowhere"), "--json");
  expect([missing.code, missing.json()["error"]]).toEqual([1, "No such folder"]);
});

test("publish, from a copy that is behind, refuses to overwrite the newer head unless forced", async () => {
  const mine = service.folder(GREETER);
  const { workflowId } = (await service.cli("publish", mine, "--json")).json() as { workflowId: string };
  const theirs = `${mine}-theirs`;
  cpSync(mine, theirs, { recursive: true });
  writeFileSync(join(theirs, "new.py"), "x = 1\n");
  expect((await service.cli("publish", theirs, "--workflow", workflowId)).code).toBe(0);
  writeFileSync(join(mine, "main.py"), "def main():\n    pass\n");
  const stale = await service.cli("publish", mine, "--workflow", workflowId, "--json");
  expect([stale.code, stale.json()]).toMatchObject([
    1,
    { error: "Conflict", message: expect.stringContaining("--force") },
  ]);
  expect((await service.cli("publish", mine, "--workflow", workflowId, "--force")).code).toBe(0);
  writeFileSync(join(mine, "main.py"), "def main():\n    return 1\n");
  expect((await service.cli("publish", mine, "--workflow", workflowId)).code).toBe(0);
});

test("publish, of a folder where nothing can be noted, publishes and says that it is not remembered", async () => {
  const dir = service.folder({ ...GREETER, ".treadle": "a file where the memory would be" });
  const result = await service.cli("publish", dir, "--json");
  expect([result.code, result.err]).toEqual([0, expect.stringContaining("not remembered")]);
});

test("publish, with --dry-run, shows what would change and changes nothing, here neither", async () => {
  const dir = service.folder(GREETER);
  const json = await service.cli("publish", dir, "--dry-run", "--json");
  expect([json.code, json.json()]).toMatchObject([
    0,
    {
      workflowId: null,
      inputs: [{ input: "count", change: "added" }, { input: "notes" }, { input: "who" }],
      nextRuns: [],
    },
  ]);
  const plain = await service.cli("publish", dir, "--dry-run");
  expect(plain.out).toContain("+  main.py      +2 -0\n");
  expect(existsSync(join(dir, ".treadle"))).toBe(false);
});

test("publish, of Python with unknown names, shows each with its place before and when it publishes, and refuses nothing", async () => {
  const dir = service.folder({ ...GREETER, "lib/steps.py": "import re\n\n\ndef step():\n    return rre\n" });
  const warnings = [
    "lib/steps.py:1:8 `re` imported but unused (Ruff F401).\n",
    "lib/steps.py:5:12 Undefined name `rre` (Ruff F821).\n",
  ].join("");
  const dry = await service.cli("publish", dir, "--dry-run");
  expect([dry.code, dry.err]).toEqual([0, warnings]);
  const published = await service.cli("publish", dir, "--json");
  expect([published.code, published.err, published.json()["created"]]).toEqual([0, warnings, true]);
});

test("publish, with --dry-run of a commit that would refuse calls, says how many of the last, and why the newest", async () => {
  const dir = service.folder(GREETER);
  const { workflowId } = (await service.cli("publish", dir, "--json")).json();
  for (const who of ["Ada", "Grace", "Emmy"])
    expect((await service.cli("run", String(workflowId), "-i", `who=${who}`)).code).toBe(0);
  const strict = GREETER_CONFIG.replace("default: World", 'pattern: "A.*"');
  writeFileSync(join(dir, "config.yaml"), strict);
  const plain = await service.cli("publish", dir, "--dry-run");
  expect(plain.out).toContain("(!) 2 of the last 3 calls by form would be refused\n");
  expect(plain.out).toMatch(/^ {2}ex_[0-9a-z]+ {2}.*\n {4}who: .*pattern/m);
  expect((await service.cli("publish", dir, "--dry-run", "--json")).json()["calls"]).toMatchObject({
    triggers: [{ trigger: "form", calls: 3, refused: 2 }],
    examples: [{ problems: [{ input: "who" }] }, { problems: [{ input: "who" }] }],
  });
});

test("publish, with --dry-run of a schedule, shows it in plain words with its next runs, or that it is paused", async () => {
  const config = (enabled: boolean): string =>
    `${GREETER_CONFIG}  schedule: { enabled: ${enabled}, cron: "30 2 24-31 3 *", timezone: Europe/Berlin }\n`;
  const [running, paused] = await Promise.all(
    [true, false].map((enabled) =>
      service.cli("publish", service.folder({ ...GREETER, "config.yaml": config(enabled) }), "--dry-run"),
    ),
  );
  const words = "on day 24–31 of March at 02:30, Europe/Berlin";
  const lines = running?.out.split("\n") ?? [];
  expect(lines.slice(lines.indexOf(`Schedule  ${words}`), -1)).toEqual([
    `Schedule  ${words}`,
    "Next runs",
    ...Array(10).fill(expect.stringMatching(/^ {2}\d{4}-03-\d\dT0[23]:[03]0:00\+0[12]:00/)),
  ]);
  // The last Sunday of March is one of them.
  expect(running?.out).toContain("02:30 does not exist: the clock is put forward from 02:00 to 03:00");
  expect(paused?.out).toContain(`Schedule  ${words}, paused\n`);
});

test("run, of a folder, publishes once, passes inputs and files, prints the log and the result", async () => {
  const dir = service.folder(GREETER);
  const note = join(service.folder({ "note ünï.txt": "a note" }), "note ünï.txt");
  const first = await service.cli(
    "run",
    dir,
    "-i",
    "who=Ada",
    "-i",
    "count=3",
    "-f",
    `notes=@${note}`,
    "-f",
    `notes=${note}`,
  );
  expect([first.code, first.out]).toEqual([
    0,
    expect.stringMatching(/^Hello\n2026-not a prefix\nsuccess in 1\.234 s, 0\.051 credits \(ex_/),
  ]);
  const again = await service.cli("run", dir, "-i", "who=123", "--json");
  expect([again.code, again.json()]).toMatchObject([
    0,
    { status: "success", executionId: expect.stringMatching(/^ex_/), cost: { total: 0.051 } },
  ]);
  expect(again.err).toContain("Hello\n");
  const [start, other] = service.started.slice(-2);
  expect(other?.workflowId).toBe(start?.workflowId);
  const rows = await queryRows<{ inputs: unknown }>(
    service.db,
    "select inputs from executions where workflow_id = :id order by created_at",
    { id: start?.workflowId },
  );
  expect(rows.map((row) => row.inputs)).toMatchObject([
    { who: "Ada", count: 3 },
    { who: "123", count: 1 },
  ]);
  const files = await queryRows(
    service.db,
    "select name, file_name as file, bytes from execution_files where execution_id = :id order by position",
    { id: start?.executionId },
  );
  expect(files).toEqual([
    { name: "notes", file: "note ünï.txt", bytes: 6n },
    { name: "notes", file: "note ünï (2).txt", bytes: 6n },
  ]);
  const memory = JSON.parse(readFileSync(join(dir, ".treadle/published.json"), "utf8"));
  expect(Object.keys(memory.commits)).toEqual([start?.workflowId]);
});

test("run, of a program that fails, prints its log and exits 1 with the envelope", async () => {
  const dir = service.folder(GREETER);
  const { workflowId } = (await service.cli("publish", dir, "--json")).json() as { workflowId: string };
  const result = await service.cli("run", workflowId, "-i", "who=fail", "--json");
  expect([result.code, result.json()]).toMatchObject([
    1,
    { status: "failed", error: "Execution failed", executionId: expect.any(String) },
  ]);
});

test("run, with inputs that do not fit, exits 1 naming each and starts nothing", async () => {
  const dir = service.folder(GREETER);
  const before = service.started.length;
  const result = await service.cli("run", dir, "-i", "count=many", "-i", "whoo=Ada");
  expect([result.code, result.out, service.started.length]).toEqual([1, "", before]);
  expect(result.err).toMatch(/^count: /m);
  expect(result.err.split("\n")).toHaveLength(4); // what was published, each problem once, and the end of the last line
  expect(result.err).toMatch(/^whoo: /m);
  const missing = await service.cli("run", dir, "-f", "notes=@/nowhere/x", "--json");
  expect([missing.code, missing.json()["error"]]).toEqual([1, "No such file"]);
});

test("run, of a folder remembered from another service, publishes a new workflow", async () => {
  const dir = service.folder({
    ...GREETER,
    ".treadle/published.json": JSON.stringify({ commits: { wf_0000000000000000000000: "0".repeat(40) } }),
  });
  expect((await service.cli("run", dir)).code).toBe(0);
  const broken = service.folder({ ...GREETER, ".treadle/published.json": "{ not json" });
  expect((await service.cli("run", broken)).code).toBe(0);
});

test("executions, after some ran, are listed, shown, cancelled, and their logs printed", async () => {
  const dir = service.folder(GREETER);
  const { executionId } = (await service.cli("run", dir, "--json")).json() as { executionId: string };
  const listed = (await service.cli("executions", "list", "--limit", "1", "--json")).json();
  expect(listed).toMatchObject({
    executions: [
      {
        executionId,
        workflowId: expect.stringMatching(/^wf_/),
        workflowName: "Greeter",
        status: "success",
        trigger: "form",
        draft: false,
        cost: 0.051,
      },
    ],
  });
  const shown = await service.cli("executions", "show", executionId, "--json");
  expect([shown.code, shown.json()]).toEqual([
    0,
    { status: "success", executionId, duration: 1.234, outputs: {}, cost: { compute: 0.05, total: 0.051 } },
  ]);
  expect((await service.cli("executions", "logs", executionId)).out).toContain(" stdout Hello\n");
  expect((await service.cli("executions", "logs", executionId, "--json")).json()).toMatchObject({
    executionId,
    log: expect.stringContaining("Hello"),
  });
  expect((await service.cli("executions", "cancel", executionId)).out).toBe(`${executionId} has ended: success\n`);

  const open = await anExecution(service.db, { workflow: await aWorkflow(service.db) });
  const cancelled = await service.cli("executions", "cancel", open, "--json");
  expect([cancelled.code, cancelled.json()["executionId"]]).toEqual([0, open]);
  expect((await requestCancel(service.db, open, "nobody"))?.open).toBe(true);
  expect(service.cancelled.map((one) => one.executionId)).toContain(open);
  const unknown = await service.cli("executions", "show", "ex_0000000000000000", "--json");
  expect([unknown.code, unknown.json()["error"]]).toEqual([1, "Not found"]);
});

test("publish, of a folder with packages, shows the end of what building them said, and build-log shows the log later", async () => {
  const dir = service.folder({ ...GREETER, "requirements.txt": "six\n" });
  const published = await service.cli("publish", dir, "--json");
  const { workflowId, commitId } = published.json();
  expect(published.err).toMatch(/^line 9 of key of six\n[^]*line 20 of key of six\n$/);
  expect(published.json()).not.toHaveProperty("buildLog");
  const shown = await service.cli("workflows", "build-log", String(workflowId));
  expect([shown.code, shown.out]).toEqual([0, "built key of six\n"]);
  const document = await service.cli(
    "workflows",
    "build-log",
    String(workflowId),
    "--commit",
    String(commitId),
    "--json",
  );
  expect(document.json()).toEqual({ commitId, environment: "key of six", log: "built key of six" });
  expect((await service.cli("workflows", "build-log", String(workflowId), "--commit", "0".repeat(40))).code).toBe(1);
  const plain = (await service.cli("publish", service.folder(GREETER), "--json")).json();
  expect((await service.cli("workflows", "build-log", String(plain["workflowId"]))).out).toMatch(
    /asks for no packages/,
  );
});
