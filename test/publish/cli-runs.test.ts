import { EventEmitter } from "node:events";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { anExecution, aWorkflow } from "../support/builders.ts";
import { until } from "../support/until.ts";
import { aRunningCliService, GREETER, GREETER_CONFIG, type RunningCliService } from "./greeter.ts";

let service: RunningCliService;
beforeAll(async () => {
  service = await aRunningCliService();
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
