import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { anEndedExecution } from "../http/service.ts";
import {
  aMember,
  anAccount,
  anExecution,
  anInput,
  aWorkflow,
  type TestMember,
  type TestWorkflow,
} from "../support/builders.ts";
import { aCliService, type CliResult, type CliService, cli } from "./cli-service.ts";

let service: CliService;
let accountId: AccountId;
let member: TestMember;
let viewer: TestMember;

beforeAll(async () => {
  service = await aCliService();
  accountId = await anAccount(service.db, { name: "looked through" });
  await aMember(service.db, accountId);
  member = await aMember(service.db, accountId, "member");
  viewer = await aMember(service.db, accountId, "viewer");
});

afterAll(() => service?.close());

const as = (who: TestMember, ...argv: string[]): Promise<CliResult> => service.cliAs(who, ...argv, "--json");

function idsOf(result: CliResult): string[] {
  return (result.json()["executions"] as { executionId: string }[]).map(({ executionId }) => executionId);
}

/** Executions that were accepted so many days ago, one after the other. */
async function accepted(workflow: TestWorkflow, ...daysAgo: readonly number[]): Promise<ExecutionId[]> {
  const ids: ExecutionId[] = [];
  for (const days of daysAgo) {
    const id = await anExecution(service.db, { workflow, trigger: ids.length === 0 ? "schedule" : "api" });
    await queryRows(
      service.db,
      "update executions set created_at = now() - make_interval(secs => :seconds) where id = :id",
      { id, seconds: days * 86_400 },
    );
    ids.push(id);
  }
  return ids;
}

test("executions list, by each filter, has those that it leaves, of the account alone", async () => {
  const workflow = await aWorkflow(service.db, { accountId, name: "Filtered" });
  const other = await aWorkflow(service.db, { accountId, name: "Another" });
  const [old = "", recent = ""] = await accepted(workflow, 10, 1);
  const [elsewhere = ""] = await accepted(other, 5);
  await accepted(await aWorkflow(service.db, { name: "Filtered too" }), 1);
  const ended = await anEndedExecution(service, workflow);
  const list = async (...argv: string[]) => idsOf(await as(viewer, "executions", "list", ...argv));

  expect(await list("--state", "queued")).toEqual([recent, elsewhere, old]);
  expect(await list("--state", "success")).toEqual([ended]);
  expect(await list("--trigger", "schedule")).toEqual([elsewhere, old]);
  expect(await list("--since", "3d")).toEqual([ended, recent]);
  const day = new Date(Date.now() - 3 * 86_400_000).toISOString();
  expect(await list("--until", day)).toEqual([elsewhere, old]);
  expect(await list("--since", "7d", "--until", day.slice(0, 10))).toEqual([elsewhere]);
  expect(await list("--text", "filtered")).toEqual([ended, recent, old]);
  expect(await list("--workflow", workflow.workflowId, "--commit", workflow.commitId.slice(0, 9))).toEqual([
    ended,
    recent,
    old,
  ]);
  expect(await list("--workflow", other.workflowId, "--state", "success")).toEqual([]);
  // The operator, who names no account, means the workflow's.
  const byOperator = await service.cli(
    "executions",
    "list",
    "--workflow",
    workflow.workflowId,
    "--state",
    "queued",
    "--json",
  );
  expect(idsOf(byOperator)).toEqual([recent, old]);
});

test("executions list, page by page, has each once, and says how to go on", async () => {
  const workflow = await aWorkflow(service.db, { accountId, name: "Paged" });
  const ids = await accepted(workflow, 5, 4, 3, 2, 1);
  const list = (...argv: string[]) =>
    as(member, "executions", "list", "--workflow", workflow.workflowId, "--state", "queued", "--limit", "2", ...argv);
  const first = await list();
  const cursor = String(first.json()["nextCursor"]);
  expect([idsOf(first), first.err]).toEqual([[ids[4], ids[3]], `Further back: --cursor ${cursor}\n`]);
  const second = await list("--cursor", cursor);
  expect(idsOf(second)).toEqual([ids[2], ids[1]]);
  const last = await list("--cursor", String(second.json()["nextCursor"]));
  expect([idsOf(last), last.json()["nextCursor"], last.err]).toEqual([[ids[0]], null, ""]);
});

test("executions list, of more than one page of the service, has all of them", async () => {
  const workflow = await aWorkflow(service.db, { accountId, name: "Long" });
  const first = await anExecution(service.db, { workflow });
  await queryRows(
    service.db,
    `insert into executions select (jsonb_populate_record(e, jsonb_build_object('id', 'ex_' || lpad(cast(n as text), 26, '0')))).*
       from executions e, generate_series(1, 250) n where e.id = :first`,
    { first },
  );
  const all = await as(member, "executions", "list", "--text", "long", "--limit", "1000");
  expect([new Set(idsOf(all)).size, all.json()["nextCursor"]]).toEqual([251, null]);
});

test.each([
  ["a state that is none", "--state", "broken"],
  ["a trigger that is none", "--trigger", "hand"],
  ["a time without its zone", "--since", "2026-11-01T09:00"],
  ["a day that there is not", "--since", "2026-13-01"],
  ["a time that is none", "--until", "yesterday"],
])("executions list, with %s, is wrong usage", async (_what, ...argv) => {
  expect((await cli(["executions", "list", ...argv])).code).toBe(2);
});

test("executions list, by a commit without its workflow, is refused", async () => {
  const refused = await as(member, "executions", "list", "--commit", "abc");
  expect([refused.code, String(refused.json()["message"])]).toEqual([1, expect.stringContaining("--workflow")]);
});

test("executions cancel, of several, asks for each and says what became of it", async () => {
  const workflow = await aWorkflow(service.db, { accountId });
  const open = await accepted(workflow, ...Array.from({ length: 101 }, () => 1));
  const ended = await anEndedExecution(service, workflow);
  const foreign = await anExecution(service.db, { workflow: await aWorkflow(service.db) });
  const result = await as(member, "executions", "cancel", ...open, ended, foreign);
  expect([result.code, result.json()]).toEqual([1, { cancelled: open, ended: [ended], unknown: [foreign] }]);
  const asked = service.cancelled.filter(({ by }) => by === member.email).map(({ executionId }) => executionId);
  expect(new Set(asked)).toEqual(new Set(open));
  const [one = "", two = ""] = await accepted(workflow, 1, 1);
  const shown = await service.cliAs(member, "executions", "cancel", one, two);
  expect([shown.code, shown.out]).toEqual([0, `Cancelling ${one}\nCancelling ${two}\n`]);
  expect((await as(viewer, "executions", "cancel", one, two)).json()["error"]).toBe("Forbidden");
});

test("executions record, of a run with a network, lists what each attempt connected to, and what is new", async () => {
  const workflow = await aWorkflow(service.db, { accountId, name: "Connected" });
  const [executionId = ""] = await accepted(workflow, 0);
  const one = { address: "10.20.0.5", port: 5432, protocol: "tcp", sentBytes: 10, receivedBytes: 20, refused: 0 };
  const connections = {
    destinations: [
      { name: "warehouse", ...one },
      { name: null, ...one, address: "198.51.100.7", port: 443 },
      { name: null, ...one, address: "10.0.0.1", sentBytes: 0, receivedBytes: 0, refused: 3 },
    ],
    more: { connections: 7, sentBytes: 30, receivedBytes: 40, refused: 5 },
  };
  await queryRows(
    service.db,
    `with made as (insert into attempts (execution_id, attempt, host_id, process_id, lease_until, ended_at, status, connections)
                     values (:executionId, 1, 'host', 'proc', now(), now(), 'failed', cast(:connections as jsonb)) returning 1)
     insert into known_destinations (workflow_id, destination, first_execution_id, last_execution_id)
     select :workflowId, 'warehouse:5432/tcp', :executionId, :executionId from made`,
    { executionId, workflowId: workflow.workflowId, connections: JSON.stringify(connections) },
  );
  // What its attempts have cost so far is not how it ended.
  expect((await service.cliAs(member, "executions", "show", executionId)).out).toBe(`queued (${executionId})\n`);
  const { out } = await service.cliAs(member, "executions", "record", executionId);
  const lines = out.split("\n").map((line) => line.trim().replaceAll(/ {2,}/g, " | "));
  expect(lines.slice(lines.findIndex((line) => line.includes("Connected to")))).toEqual([
    "Attempt | Connected to | Sent bytes | Received bytes | Refused",
    "1 | warehouse 10.20.0.5:5432/tcp | 10 | 20 | 0 | new",
    "1 | 198.51.100.7:443/tcp | 10 | 20 | 0",
    "1 | 10.0.0.1:5432/tcp | 0 | 0 | 3",
    "1 | and 7 more | 30 | 40 | 5",
    "",
  ]);
});

test("an execution, shown, read and downloaded by a viewer, has its result, log, record and files", async () => {
  const workflow = await aWorkflow(service.db, { accountId, name: "Looked at" });
  const line = { id: 1, time: "2026-01-01T00:00:00Z", stream: "stdout", text: "said" };
  const executionId = await anEndedExecution(service, workflow, {
    outputs: { "report.txt": { content: "all of it" }, "empty.txt": { content: "" } },
    log: [`${JSON.stringify(line)}\n`],
  });
  expect((await as(viewer, "executions", "show", executionId)).json()).toMatchObject({
    executionId,
    status: "success",
  });
  expect((await as(viewer, "executions", "logs", executionId)).json()["log"]).toContain("said");
  const record = await service.cliAs(viewer, "executions", "record", executionId);
  expect(record.out).toMatch(/^Execution {2}\S+: success\nWorkflow {3}Looked at /);
  expect(record.out).toContain("report.txt");
  const folder = service.folder({ "here.txt": "" });
  const saved = await as(viewer, "executions", "download", executionId, join(folder, "made"));
  expect(saved.json()).toMatchObject({ executionId, files: [{ bytes: 9 }, { bytes: 0 }] });
  expect(readdirSync(join(folder, "made")).sort()).toEqual(["empty.txt", "report.txt"]);
  expect(readFileSync(join(folder, "made", "report.txt"), "utf8")).toBe("all of it");
  const refused = await as(viewer, "executions", "download", executionId, join(folder, "here.txt"));
  expect([refused.code, refused.json()["error"]]).toEqual([1, "Not allowed"]);
});

test("executions rerun, of one with a file, executes with the same inputs, but for those that are given", async () => {
  const inputs = [
    anInput("string", "region"),
    anInput("json", "order", { required: false }),
    anInput("secret", "password"),
    anInput("file", "orders"),
    anInput("file_list", "extras", { required: false }),
  ];
  const order = '{"id": 9007199254740993}';
  const workflow = await aWorkflow(service.db, { accountId, inputs });
  const folder = service.folder({ "orders.csv": "a,b\n", "one.txt": "one", "two.txt": "two" });
  const file = (name: string, path: string) => ["-f", `${name}=@${join(folder, path)}`];
  const first = await as(
    member,

    "run",
    workflow.workflowId,
    "-i",
    "region=5",
    "-i",
    "password=first",
    "-i",
    `order=${order}`,
    ...file("orders", "orders.csv"),
    ...file("extras", "one.txt"),
    ...file("extras", "two.txt"),
  );
  expect([first.code, first.out]).toEqual([0, expect.any(String)]);
  const executionId = String(first.json()["executionId"]);
  const without = await as(member, "executions", "rerun", executionId);
  expect([without.code, without.json()]).toMatchObject([1, { details: [{ input: "password" }] }]);
  const made = join(folder, "made");
  const given = await as(viewer, "executions", "download", executionId, made, "--inputs");
  const files = [
    ["extras", 0, "one.txt"],
    ["extras", 1, "two.txt"],
    ["orders", 0, "orders.csv"],
  ].map(([input, position, fileName]) => ({ input, position, fileName, path: join(made, `${input}/${fileName}`) }));
  expect([given.code, given.json()]).toMatchObject([0, { executionId, files }]);
  expect(readFileSync(join(made, "extras", "two.txt"), "utf8")).toBe("two");
  const again = await as(
    member,
    "executions",
    "rerun",
    executionId,
    "-i",
    "password=second",
    ...file("extras", "two.txt"),
  );
  expect([again.code, again.json()["status"]]).toEqual([0, "success"]);
  const record = (await as(member, "executions", "record", String(again.json()["executionId"]))).json();
  expect(record).toMatchObject({
    inputs: { region: "5", password: "•••" },
    inputTexts: { order },
    inputFiles: [
      { input: "extras", position: 0, fileName: "two.txt" },
      { input: "orders", fileName: "orders.csv", bytes: 4 },
    ],
  });
  expect(record["inputFiles"]).toHaveLength(2);
});
