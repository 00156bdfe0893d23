import { EventEmitter } from "node:events";
import { readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { aMember, anAccount, anExecution, aWorkflow, type TestMember } from "../support/builders.ts";
import { until } from "../support/until.ts";
import { aRunningCliService, GREETER, GREETER_CONFIG, type RunningCliService } from "./greeter.ts";

let service: RunningCliService;
let member: TestMember;
beforeAll(async () => {
  service = await aRunningCliService();
  const accountId = await anAccount(service.db, { name: "folders", credits: "100" });
  await aMember(service.db, accountId);
  member = await aMember(service.db, accountId, "member");
});
afterAll(() => service.close());

test("a workflow, named by its name, is found where an id is asked; unclear and unknown names list what there is", async () => {
  const named = (name: string) =>
    service.folder({ ...GREETER, "config.yaml": GREETER_CONFIG.replace("Greeter", name) });
  const { workflowId } = (await service.cli("publish", named("Sales report"), "--json")).json();
  const id = String(workflowId);
  expect((await service.cli("run", "Sales report", "--json")).code).toBe(0);
  expect((await service.cli("run", "sales REPORT", "--dry-run", "--json")).json()["valid"]).toBe(true);
  expect((await service.cli("workflows", "show", "Sales report", "--json")).json()["workflowId"]).toBe(id);
  const listed = await service.cli("executions", "list", "--workflow", "Sales report", "--json");
  expect(listed.json()["executions"]).toHaveLength(1);
  const second = (await service.cli("publish", named("Sales report"), "--json")).json();
  const unclear = await service.cli("key", "show", "Sales report");
  expect([unclear.code, unclear.out]).toEqual([1, ""]);
  expect(unclear.err).toContain("2 workflows are called Sales report");
  for (const each of [id, second["workflowId"]]) expect(unclear.err).toContain(`  ${String(each)}  Sales report\n`);
  const unknown = await service.cli("run", "Sals report");
  expect(unknown.err).toMatch(/^There is no workflow Sals report\. There are:\n(?: {2}wf_\w+ {2}.+\n)+/);
  expect((await service.cli("key", "show", "wf_nope", "--json")).json()["error"]).toBe("Workflow not found");
});

test("run, on a terminal, prints the run's address first; Ctrl-C says what goes on, and twice cancels", async () => {
  const interrupt = new EventEmitter();
  const { workflowId } = (await service.cli("publish", service.folder(GREETER), "--json")).json();
  const begun = service.started.length;
  const running = service.cliOnTerminal(interrupt, "run", String(workflowId), "-i", "who=wait");
  await until(() => service.started.length > begun && interrupt.listenerCount("interrupt") > 0);
  const start = service.started.at(-1) as (typeof service.started)[number];
  interrupt.emit("interrupt");
  interrupt.emit("interrupt");
  await until(() => service.cancelled.some(({ executionId }) => executionId === start.executionId));
  await service.end("cancelled", start);
  const { code, out, err } = await running;
  expect([code, err.split("\n")[0]]).toEqual([1, `Run  ${service.url}/executions/${start.executionId}`]);
  expect(err).toContain(`The run goes on. Ctrl-C again`);
  expect(err).toContain(`treadle executions cancel ${start.executionId}`);
  expect(stripVTControlCharacters(out)).toContain(`cancelled in 1 s`);
});

test("logs -f, interrupted once, leaves with 130 and lets the execution go on", async () => {
  const interrupt = new EventEmitter();
  const open = await anExecution(service.db, { workflow: await aWorkflow(service.db) });
  const following = service.cliOnTerminal(interrupt, "logs", "-f", open);
  await until(() => interrupt.listenerCount("interrupt") > 0);
  interrupt.emit("interrupt");
  const { code, err } = await following;
  expect([code, err]).toEqual([130, expect.stringContaining("The run goes on")]);
  expect(service.cancelled.some(({ executionId }) => executionId === open)).toBe(false);
  const { executionId } = (await service.cli("run", service.folder(GREETER), "--json")).json();
  expect((await service.cli("logs", "-f", String(executionId))).out).toMatch(/^Hello\n[^]*success in 1\.234 s/);
});

test("run and publish, with --quiet, print their answer alone", async () => {
  const dir = service.folder({ ...GREETER, "requirements.txt": "quiet\n" });
  expect((await service.cli("publish", dir, "--quiet")).err).toBe("");
  const result = await service.cli("run", dir, "-q");
  expect([result.err, result.out]).toEqual(["", expect.stringMatching(/^success in 1\.234 s/)]);
});

test("publish, on a terminal, shows what the build says as it comes, and in a pipe the end of it", async () => {
  const dir = service.folder({ ...GREETER, "requirements.txt": "shown\n", "large.bin": "x".repeat(2_000_000) });
  const { code, err } = await service.cliOnTerminal(new EventEmitter(), "publish", dir);
  expect([code, err]).toEqual([0, expect.stringContaining("line 1 of key of shown\n")]);
  expect(err).toMatch(/\r\u001b\[2KSending {2}\d\.\d of 2\.0 MB/);
  const piped = await service.cli("publish", service.folder({ ...GREETER, "requirements.txt": "shown\n" }));
  expect(piped.err).not.toContain("line 1 of");
  expect(piped.err).not.toContain("\u001b");
});

test("a list, on a terminal, has colours and relative times; in a pipe it has neither", async () => {
  await service.cli("run", service.folder(GREETER));
  const shown = (await service.cliOnTerminal(new EventEmitter(), "executions", "list", "--limit", "1")).out;
  expect(shown).toMatch(/\u001b\[32msuccess\u001b\[39m +form +(?:now|\d+(?:\.\d)? s ago) /);
  const [heading = "", row = ""] = stripVTControlCharacters(shown).split("\n");
  expect(row.indexOf("form")).toBe(heading.indexOf("Trigger"));
  const piped = (await service.cli("executions", "list", "--limit", "1")).out;
  expect(piped).toMatch(/success +form +\d{4}-/);
  expect(piped).not.toContain("\u001b");
});

/** What a workflow's folder has in tests/; two of the cases are as they should be. */
const CASES = `- name: two outputs
  inputs: { who: Ada, count: 2 }
  files: { notes: [note.txt] }
  expect:
    outputs: { greeting: Hello Ada, facts: { json: { count: 2, who: Ada } } }
    cost: { atMost: 0.051 }
- inputs: { who: fail }
  expect: { status: failed }
- name: <odd> & "wrong"
  inputs: { who: Bob, count: 2 }
  expect:
    outputs: { greeting: { contains: Ada }, none: "1", facts: { json: { who: Ada } } }
    cost: { atMost: 0.05 }
- name: fails unexpectedly
  inputs: { who: fail }
- name: not accepted
  inputs: { count: many }
`;

test("test, of a folder, runs its cases with the draft, and says in what each that failed differs", async () => {
  const dir = service.folder({ ...GREETER, "tests/cases.yaml": CASES, "tests/note.txt": "A note" });
  const { workflowId } = (await service.cliAs(member, "publish", dir, "--json")).json();
  writeFileSync(join(dir, "main.py"), "def main(who, count, notes):\n    return who, 2\n");
  const report = join(dir, ".treadle", "reports", "junit.xml");
  const { code, out, err } = await service.cliAs(member, "test", dir, "--junit", report);
  expect([code, err]).toEqual([1, `Saved the folder as version 1 of your draft of Greeter (${String(workflowId)})\n`]);
  expect(out.replaceAll(/ex_\w+/g, "ex_")).toBe(`passed  two outputs (tests/cases.yaml:1:3, 1.234 s, ex_)
passed  cases.yaml 2 (tests/cases.yaml:7:3, 1 s, ex_)
failed  <odd> & "wrong" (tests/cases.yaml:9:3, 1.234 s, ex_)
  outputs.greeting: expected "Ada" in "Hello Bob"
  outputs.none: There is no such output. There are facts, greeting.
  outputs.facts: expected {"who":"Ada"}, got {"count":2,"who":"Bob"}
  cost: expected at most 0.05 credits, got 0.051
failed  fails unexpectedly (tests/cases.yaml:14:3, 1 s, ex_)
  status: expected success, got failed: The program failed.
failed  not accepted (tests/cases.yaml:16:3, not accepted)
  count: must be a whole number, not a string.
2 passed, 3 failed
`);
  const xml = readFileSync(report, "utf8");
  expect(xml).toContain('<testsuites name="treadle" tests="5" failures="3" time="4.468">');
  expect(xml).toMatch(
    /<testcase name="&lt;odd&gt; &amp; &quot;wrong&quot;" classname="tests\/cases\.yaml" .* line="9" /,
  );
  expect(xml).toContain("Hello Bob&quot;&#10;outputs.none: There is no such output.");
  const listed = (await service.cliAs(member, "executions", "list", "--json")).json();
  expect(listed["executions"]).toEqual(Array(4).fill(expect.objectContaining({ workflowId, draft: true })));
  const published = await service.cliAs(member, "test", dir, "--published", "--json");
  expect([published.code, published.json()]).toMatchObject([1, { passed: 2, failed: 3, left: 0, published: true }]);
  const later = (await service.cliAs(member, "executions", "list", "--limit", "4", "--json")).json();
  expect(later["executions"]).toEqual(Array(4).fill(expect.objectContaining({ workflowId, draft: false })));
});

test("test, with mistakes in its cases, or no user whose draft it could be, says where and what to do, and runs nothing", async () => {
  const begun = service.started.length;
  const wrong = `- inputz: {}\n- expect: { status: good, cost: { atmost: 1 } }\n  files: { notes: none.txt }\n`;
  const dir = service.folder({
    ...GREETER,
    "tests/a.yaml": wrong,
    "tests/b.yaml": "name: x\nexpect: { outputs: { a: 1 } }\n",
  });
  await service.cliAs(member, "publish", dir);
  const refused = await service.cliAs(member, "test", dir);
  expect([refused.code, refused.out]).toEqual([1, ""]);
  expect(refused.err).toContain('tests/a.yaml:1:3 inputz: Unknown key. Did you mean "inputs"? There are name, inputs,');
  expect(refused.err).toContain("tests/a.yaml:2:21 expect.status: must be one of success, failed,");
  expect(refused.err).toContain('tests/a.yaml:2:35 expect.cost.atmost: Unknown key. Did you mean "atMost"?');
  expect(refused.err).toContain("tests/b.yaml:2:25 expect.outputs.a: must be a text, { contains: text } or");
  writeFileSync(join(dir, "tests", "a.yaml"), "files: { notes: none.txt }\n");
  rmSync(join(dir, "tests", "b.yaml"));
  const missing = await service.cliAs(member, "test", dir);
  expect(missing.err).toContain("tests/a.yaml:1:17 files.notes: There is no file none.txt beside the case.\n");
  writeFileSync(join(dir, "tests", "a.yaml"), "inputs: {}\n");
  const operator = await service.cli("test", dir);
  expect([operator.code, operator.err]).toEqual([1, expect.stringContaining(`"treadle login ${service.url}" keeps`)]);
  expect(service.started).toHaveLength(begun);
});

test("test, at Ctrl-C, cancels the cases that run", async () => {
  const interrupt = new EventEmitter();
  const dir = service.folder({ ...GREETER, "tests/a.yaml": "inputs: { who: wait }\n" });
  await service.cliAs(member, "publish", dir);
  const begun = service.started.length;
  const { token } = member;
  const testing = service.cliAs({ token, interrupt }, "test", dir);
  await until(() => service.started.length > begun);
  interrupt.emit("interrupt");
  const { code, out, err } = await testing;
  const { executionId } = service.started.at(-1) as (typeof service.started)[number];
  expect([code, out]).toEqual([130, "0 passed, 0 failed, 1 not run\n"]);
  expect(err).toContain(`Cancelling ${executionId}, of the case a.yaml\n`);
  expect(service.cancelled).toContainEqual(expect.objectContaining({ executionId }));
});

test("dev, of a folder, runs the draft at each save, cancels the run before, shows mistakes, and ends at Ctrl-C", async () => {
  const interrupt = new EventEmitter();
  const dir = service.folder(GREETER);
  const { workflowId } = (await service.cliAs(member, "publish", dir, "--json")).json();
  const begun = service.started.length;
  const begin = async (count: number): Promise<string> => {
    await until(() => service.started.length >= begun + count);
    return (service.started[begun + count - 1] as (typeof service.started)[number]).executionId;
  };
  const isCancelled = (id: string) => () => service.cancelled.some(({ executionId }) => executionId === id);
  const { token } = member;
  const developing = service.cliAs({ token, interrupt }, "dev", dir, "-i", "who=wait");
  const first = await begin(1);
  writeFileSync(join(dir, ".main.py.swp"), "of an editor");
  symlinkSync("nobody@nowhere", join(dir, ".#main.py"));
  writeFileSync(join(dir, "main.py"), "def main(who, count, notes):\n    return 2\n");
  await until(isCancelled(first));
  const second = await begin(2);
  writeFileSync(join(dir, "config.yaml"), GREETER_CONFIG.replace("integer", "intejer"));
  await until(isCancelled(second));
  const showDraft = () => service.cliAs(member, "drafts", "show", String(workflowId));
  await until(async () => (await showDraft()).out.includes("config.yaml:4:18"));
  writeFileSync(join(dir, "config.yaml"), GREETER_CONFIG);
  const third = await begin(3);
  interrupt.emit("interrupt");
  const { code, out, err } = await developing;
  expect([code, out, interrupt.listenerCount("interrupt")]).toEqual([
    130,
    expect.stringMatching(/(?:^|\n)No longer watching\n$/),
    0,
  ]);
  for (const id of [first, second, third]) {
    expect(err).toContain(`Run  ${service.url}/executions/${id}\n`);
    expect(err).toContain(`Cancelled ${id}\n`);
    expect(isCancelled(id)()).toBe(true);
  }
  expect(err).toMatch(/^config\.yaml:4:18 inputs\.count\.type: "intejer" is not a type of input\. Did you mean/m);
  expect((await showDraft()).out).toMatch(/\nconfig\.yaml +\d+\nmain\.py +\d+\n$/);
  const operator = await service.cli("dev", dir);
  expect([operator.code, operator.err]).toEqual([1, expect.stringContaining(`"treadle login ${service.url}" keeps`)]);
});

test("dev, of a run that ends, prints its log and its result", async () => {
  const interrupt = new EventEmitter();
  const dir = service.folder(GREETER);
  await service.cliAs(member, "publish", dir);
  const begun = service.started.length;
  const { token } = member;
  const developing = service.cliAs({ token, interrupt }, "dev", dir, "-i", "who=Ada", "--json");
  await until(() => service.started.length > begun);
  const { executionId } = service.started.at(-1) as (typeof service.started)[number];
  await until(async () => (await service.cliAs(member, "executions", "show", executionId)).out.startsWith("success"));
  interrupt.emit("interrupt");
  const result = await developing;
  expect([result.code, result.json()]).toMatchObject([130, { runs: 1, last: { executionId, status: "success" } }]);
  expect(stripVTControlCharacters(result.err)).toMatch(/^Hello\n2026-not a prefix\nsuccess in 1\.234 s/m);
});
