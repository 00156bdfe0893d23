import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { POSTGRES_USER } from "../../src/setup/servers/postgres-data.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import { type Answer, aDataDir, isAlive, listTree, startService, type TestService } from "../support/service.ts";
import { count, type HistoryEvent, readHistory, readPayload } from "../support/temporal-history.ts";

let service: TestService;
let dataDir: Awaited<ReturnType<typeof aDataDir>>;
let sleeper: { workflowId: string; apiKey: string };

beforeAll(async () => {
  dataDir = await aDataDir();
  service = await startService({ dataDir: dataDir.dataDir, ownGroup: true });
  sleeper = await publish({
    "config.yaml":
      "inputs:\n  seconds: { type: number }\n  note: { type: secret, required: false }\ntriggers:\n  api: { enabled: true }\n",
    "main.py":
      "import time\ndef main(seconds, note):\n    print('sleeping')\n    time.sleep(seconds)\n    return {'slept': seconds}\n",
  });
}, 600_000);

afterAll(async () => {
  await service?.stop();
  await dataDir?.remove();
});

async function publish(files: Record<string, string>): Promise<{ workflowId: string; apiKey: string }> {
  const published = await treadle(dataDir.dataDir, ["publish", await aFolder(files), "--json"]);
  expect([published.code, published.stderr]).toEqual([0, expect.any(String)]);
  return published.json() as { workflowId: string; apiKey: string };
}

const headers = (): Record<string, string> => ({ "x-api-key": sleeper.apiKey, "content-type": "application/json" });

function executeSleeper(seconds: number, note?: string): Promise<Answer> {
  const body = JSON.stringify(note === undefined ? { seconds } : { seconds, note });
  return service.call(`/workflows/${sleeper.workflowId}/execute`, { method: "POST", headers: headers(), body });
}

/** The id of the newest execution, as soon as it runs. */
async function newestRunning(): Promise<string> {
  const token = (await readFile(join(dataDir.dataDir, "keys/operator-token"), "utf8")).trim();
  for (;;) {
    const { body } = await service.call("/executions", { headers: { authorization: `Bearer ${token}` } });
    const executions = body.executions as { executionId: string; status: string; workflowId: string }[];
    const newest = executions.find((each) => each.workflowId === sleeper.workflowId && each.status === "running");
    if (newest) return newest.executionId;
    await sleep(50);
  }
}

/** The record of an execution, once it has ended. */
async function whenEnded(executionId: string): Promise<Answer> {
  for (;;) {
    const record = await service.call(`/run-logs/${executionId}`, { method: "GET", headers: headers() });
    if (!["queued", "running"].includes(record.body.status as string)) return record;
    await sleep(200);
  }
}

const balanceOf = async (): Promise<{ balance: number; reserved: number }> =>
  (await treadle(dataDir.dataDir, ["credits", "show", "--json"])).json() as { balance: number; reserved: number };

/** The processes below a process, itself included, with what each was called as. */
const nameTree = async (root: number): Promise<[pid: number, name: string][]> =>
  Promise.all(
    (await listTree(root)).map(async (pid): Promise<[number, string]> => {
      const words = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      return [pid, words.replaceAll("\0", " ").trim()];
    }),
  );

async function findTemporal(root: number): Promise<number> {
  for (const pid of await listTree(root)) {
    const program = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0")[0] ?? "";
    if (/\/temporal[^/]*$/.test(program)) return pid;
  }
  throw new Error("The service has no Temporal below it.");
}

const readHistoryOf = (executionId: string) => readHistory(service, dataDir.dataDir, executionId);

/** The answer of an execution that its workflow did not take over: a busy machine may take longer over the first ones. */
async function executeWithinASecond(note: string) {
  for (let left = 20; ; left -= 1) {
    const startedAt = performance.now();
    const answer = await executeSleeper(0.01, note);
    if (performance.now() - startedAt < 900 || left === 0) return answer;
  }
}

test("a short execution, in Temporal, is one workflow task whose result tells what was done, and when", async () => {
  const answer = await executeWithinASecond("a very secret note");
  expect(answer.status).toBe(200);
  const { info, events, text } = await readHistoryOf(answer.body.executionId as string);
  expect(events[0]?.workflowExecutionStartedEventAttributes).toMatchObject({ eagerExecutionAccepted: true });
  expect(events).toHaveLength(5);
  const completed = events.at(-1)?.workflowExecutionCompletedEventAttributes as { result: unknown } | undefined;
  const { story, ...summary } = readPayload(completed?.result) as { story: Record<string, string | number> };
  expect(summary).toEqual({ executionId: answer.body.executionId, status: "success" });
  expect(story).toMatchObject({ status: "success", attempts: 1, secondsUsed: answer.body.duration });
  const steps = ["reserved", "programStarted", "programEnded", "outputsUploaded", "settled"];
  const times = steps.map((step) => Date.parse(String(story[step])));
  expect(times).toEqual([...times].sort((x, y) => x - y));
  expect(Object.keys((info.searchAttributes as { indexedFields: object }).indexedFields)).toEqual(
    expect.arrayContaining(["TreadleWorkflow", "TreadleCommit", "TreadleTrigger", "TreadleAccount"]),
  );
  const decoded = text + Buffer.from(text.match(/"data":\s*"([^"]+)"/g)?.join("") ?? "", "base64").toString("latin1");
  for (const secret of [
    "a very secret note",
    Buffer.from("a very secret note").toString("base64").slice(0, 20),
    sleeper.apiKey,
  ]) {
    expect(decoded).not.toContain(secret);
  }
});

test("an execution of more than 5 seconds, in Temporal, is joined by one eagerly dispatched activity", async () => {
  // Dispatched eagerly: handed out in the very transaction that scheduled it, not by a poll some time later. A machine
  // that has no time just then makes some time of it, too.
  let apartMs = Number.POSITIVE_INFINITY;
  let billed = 0;
  for (let tries = 0; tries < 5 && (apartMs > 20 || billed < 6); tries++) {
    const measured = await measureDispatch();
    apartMs = Math.min(apartMs, measured.apartMs);
    billed = Math.max(billed, measured.billed);
  }
  expect(apartMs).toBeLessThanOrEqual(20);
  expect(billed).toBeGreaterThanOrEqual(6);
});

/** Milliseconds between scheduled and started, of the activity that joins an execution, and the seconds on its bill. */
async function measureDispatch(): Promise<{ apartMs: number; billed: number }> {
  const answer = await executeSleeper(6);
  expect(answer.status).toBe(200);
  const { events } = await readHistoryOf(answer.body.executionId as string);
  expect(count(events, "WORKFLOW_TASK_COMPLETED")).toBe(2);
  expect(count(events, "ACTIVITY_TASK_SCHEDULED")).toBe(1);
  const scheduled = events.find((event) => event.eventType.endsWith("ACTIVITY_TASK_SCHEDULED"));
  const started = events.find((event) => event.eventType.endsWith("ACTIVITY_TASK_STARTED"));
  expect(scheduled?.activityTaskScheduledEventAttributes).toMatchObject({ activityType: { name: "executePython" } });
  const apartMs = Date.parse(started?.eventTime ?? "") - Date.parse(scheduled?.eventTime ?? "");
  return { apartMs, billed: answer.body.duration as number };
}

test("cancel, while the program runs, ends it at once and answers the waiting caller", async () => {
  const waiting = executeSleeper(60);
  const executionId = await newestRunning();
  const before = performance.now();
  const cancelled = await service.call(`/run-logs/${executionId}/cancel`, { method: "POST", headers: headers() });
  expect(cancelled.status).toBe(202);
  const answer = await waiting;
  expect(performance.now() - before).toBeLessThan(15_000); // Of the minute that it wanted.
  expect(answer.status).toBe(500);
  expect(answer.body).toMatchObject({ error: "Execution failed", status: "cancelled", executionId });
  const again = await service.call(`/run-logs/${executionId}/cancel`, { method: "POST", headers: headers() });
  expect(again.status).toBe(200);
});

test("executions, 12 at once of an account with credits for 5, run 5 and refuse 7 with 402", async () => {
  // Each may cost 300 s × 0.01 + 0.001 = 3.001 credits.
  const before = (await treadle(dataDir.dataDir, ["credits", "show", "--json"])).json() as {
    balance: number;
    available: number;
  };
  const change = (15.1 - before.available).toFixed(6);
  expect((await treadle(dataDir.dataDir, ["credits", "adjust", "--reason", "test", "--json", "--", change])).code).toBe(
    0,
  );
  const answers = await Promise.all(Array.from({ length: 12 }, () => executeSleeper(8)));
  const statuses = answers.map((answer) => answer.status).sort((a, b) => a - b);
  expect(statuses).toEqual([...Array(5).fill(200), ...Array(7).fill(402)]);
  const refused = answers.find((answer) => answer.status === 402) as Answer;
  expect(refused.body).toMatchObject({ error: "Insufficient credits", message: expect.any(String), needed: 3.001 });
  const after = (await treadle(dataDir.dataDir, ["credits", "show", "--json"])).json() as { reserved: number };
  expect(after.reserved).toBe(0);
  expect((await treadle(dataDir.dataDir, ["credits", "grant", "500", "--json"])).code).toBe(0);
});

test("a caller, when Temporal stands still while the program runs, has the result all the same, once", async () => {
  const before = await balanceOf();
  const answer = executeSleeper(5);
  const executionId = await newestRunning();
  await sleep(3_500);
  const temporal = await findTemporal(service.child.pid as number);
  process.kill(temporal, "SIGSTOP");
  try {
    expect((await answer).body).toMatchObject({ status: "success", executionId });
  } finally {
    process.kill(temporal, "SIGCONT");
  }
  const after = await balanceOf();
  const { total } = (await answer).body.cost as { total: number };
  expect([after.reserved, before.balance - after.balance]).toEqual([0, expect.closeTo(total, 6)]);
  // The workflow comes to its end, too, and changes nothing.
  let ended: HistoryEvent | undefined;
  for (const deadline = Date.now() + 60_000; ended === undefined && Date.now() < deadline; await sleep(200)) {
    const { events } = await readHistoryOf(executionId);
    ended = events.find((event) => event.eventType.endsWith("WORKFLOW_EXECUTION_COMPLETED"));
  }
  expect(ended).toBeDefined();
  expect(await balanceOf()).toEqual(after);
});

test("calls, while Temporal stands still, are answered, and Temporal learns of each one later", async () => {
  const before = await balanceOf();
  const temporal = await findTemporal(service.child.pid as number);
  process.kill(temporal, "SIGSTOP");
  let answers: Answer[];
  try {
    answers = await Promise.all([0, 0.01, 2].map((seconds) => executeSleeper(seconds)));
  } finally {
    process.kill(temporal, "SIGCONT");
  }
  expect(answers.map(({ body }) => body.status)).toEqual(["success", "success", "success"]);
  const histories = await Promise.all(answers.map(({ body }) => readHistoryOf(body.executionId as string)));
  expect(histories.map(({ events }) => count(events, "WORKFLOW_EXECUTION_COMPLETED"))).toEqual([1, 1, 1]);
  const after = await balanceOf();
  const total = answers.reduce((sum, { body }) => sum + (body.cost as { total: number }).total, 0);
  expect([after.reserved, before.balance - after.balance]).toEqual([0, expect.closeTo(total, 6)]);
});

test("an execution, whose Temporal is killed and loses all it had, ends as its program does and is charged once", async () => {
  const before = await balanceOf();
  const answer = executeSleeper(8);
  const executionId = await newestRunning();
  await sleep(4_000);
  const temporal = await findTemporal(service.child.pid as number);
  // The service stands still meanwhile: it would start another one, to which nothing must happen.
  service.child.kill("SIGSTOP");
  process.kill(temporal, "SIGKILL");
  while (await isAlive(temporal)) await sleep(1);
  const folder = join(dataDir.dataDir, "temporal/data");
  for (const file of await readdir(folder)) await rm(join(folder, file));
  service.child.kill("SIGCONT");
  expect((await answer).body).toMatchObject({ status: "success", executionId });
  const { total } = (await answer).body.cost as { total: number };
  const after = await balanceOf();
  expect([after.reserved, before.balance - after.balance]).toEqual([0, expect.closeTo(total, 6)]);
  // What begins from here on is driven by the new one.
  expect((await executeSleeper(0)).body).toMatchObject({ status: "success" });
});

test("the service, killed while Python runs and started again, ends the execution, charges once, and tells what happened", async () => {
  const before = await balanceOf();
  const lost = executeSleeper(10).catch((error: unknown) => error);
  const executionId = await newestRunning();
  const readLog = (more: Record<string, string> = {}) =>
    service.call(`/run-logs/${executionId}/logs`, { method: "GET", headers: { ...headers(), ...more } });
  while (!(await readLog()).text.includes("sleeping")) await sleep(50);
  const tree = await listTree(service.child.pid as number);
  expect(tree.length).toBeGreaterThan(3);
  await service.stop("SIGKILL");
  expect(await lost).toBeInstanceOf(Error);
  const deadline = Date.now() + 20_000;
  while (Date.now() < deadline && (await Promise.all(tree.map(isAlive))).some(Boolean)) await sleep(100);
  expect((await Promise.all(tree.map(isAlive))).filter(Boolean)).toEqual([]);

  service = await startService({ dataDir: dataDir.dataDir, ownGroup: true });
  const record = await whenEnded(executionId);
  expect(record.body).toMatchObject({ status: "success", executionId });
  const after = await balanceOf();
  expect(after.reserved).toBe(0);
  const { total } = record.body.cost as { total: number };
  expect(before.balance - after.balance).toBeCloseTo(total, 6);
  const lines = ["stdout sleeping", "system Attempt 2 begins. Attempt 1: The worker was lost.", "stdout sleeping"];
  expect(
    (await readLog()).text
      .trim()
      .split("\n")
      .map((line) => line.replace(/^\S+ /, "")),
  ).toEqual(lines);
  const rest = (await readLog({ accept: "text/event-stream", "last-event-id": "1" })).text;
  expect(rest.match(/^id: .*$/gm)).toEqual(["id: 2", "id: 3"]);
});

test("the service, killed once a program has ended and before that is recorded, takes the end from its host and runs it once", async () => {
  const before = await balanceOf();
  const lost = executeSleeper(2).catch((error: unknown) => error);
  const executionId = await newestRunning();
  const host = join(dataDir.dataDir, "postgres/socket");
  const database = new pg.Client({ host, user: POSTGRES_USER, database: "treadle" });
  database.on("error", () => undefined); // It is killed with the service.
  await database.connect();
  await database.query("begin");
  await database.query("select from attempts where execution_id = $1 for update", [executionId]);
  while (!existsSync(join(dataDir.dataDir, "spool", executionId, "result.json"))) await sleep(20);
  await service.stop("SIGKILL");
  expect(await lost).toBeInstanceOf(Error);

  service = await startService({ dataDir: dataDir.dataDir, ownGroup: true });
  const record = await whenEnded(executionId);
  expect(record.body).toMatchObject({ status: "success", executionId });
  expect(record.body.duration).toBeGreaterThanOrEqual(2);
  const log = await service.call(`/run-logs/${executionId}/logs`, { method: "GET", headers: headers() });
  expect(log.text).toMatch(/^\S+ stdout sleeping\n$/);
  const { total } = record.body.cost as { total: number };
  const after = await balanceOf();
  expect([after.reserved, before.balance - after.balance]).toEqual([0, expect.closeTo(total, 6)]);
});

test("the service, asked to stop while calls wait, answers them 202, ends their streams, and hands their programs over", async () => {
  const waiting = executeSleeper(60);
  const executionId = await newestRunning();
  const followed = await service.begin(`/run-logs/${executionId}/logs`, {
    method: "GET",
    headers: { ...headers(), accept: "text/event-stream" },
  });
  await service.stop("SIGTERM");
  const answer = await waiting;
  expect([answer.status, answer.body]).toEqual([202, expect.objectContaining({ executionId, status: "running" })]);
  expect(answer.headers).toMatchObject({ "retry-after": "5", location: expect.stringContaining(executionId) });
  expect(await followed.text).toMatch(/\n\nretry: \d+\n\n$/);

  const patience = { TREADLE_DRAIN_SECONDS: "60", TREADLE_STOP_DELAY_SECONDS: "3" };
  service = await startService({ dataDir: dataDir.dataDir, ownGroup: true, env: patience });
  expect(await newestRunning()).toBe(executionId);
  await service.call(`/run-logs/${executionId}/cancel`, { method: "POST", headers: headers() });
  const look = () => service.call(`/run-logs/${executionId}`, { method: "GET", headers: headers() });
  while ((await look()).body.status === "running") await sleep(100);
});

test("the service, asked to stop with time to drain, is not ready at once, takes calls meanwhile, and lets a program end", async () => {
  const waiting = executeSleeper(8);
  await newestRunning();
  const isReady = async () => (await service.call(`${service.ready.url}/readyz`, { method: "GET" })).status === 200;
  expect(await isReady()).toBe(true);
  const stopped = service.stop("SIGTERM");
  while (await isReady()) await sleep(50);
  const asked = { ...headers(), prefer: "respond-async" };
  const late = await service.call(`/workflows/${sleeper.workflowId}/execute`, {
    method: "POST",
    headers: asked,
    body: '{"seconds": 0}',
  });
  expect(late.status).toBe(202); // The service takes calls still.
  expect(await waiting).toMatchObject({ status: 200, body: { status: "success" } });
  await stopped;
  service = await startService({ dataDir: dataDir.dataDir, ownGroup: true });
});

test("the service, asked to stop while nothing runs, is gone in time with all its processes, and is ready again", async () => {
  const tree = await nameTree(service.child.pid as number);
  const printed = service.output().length;
  const deadline = Date.now() + 20_000;
  await service.stop("SIGINT");
  // What Ctrl-C ends beside the service is no reason to warn.
  expect(service.output().slice(printed)).not.toMatch(/"level":[456]0/);
  const findLeft = async () =>
    (await Promise.all(tree.map(async ([pid, name]) => ((await isAlive(pid)) ? [name] : [])))).flat();
  // The disks of programs are taken away by a process that a slow disk may hold a moment longer.
  while (Date.now() < deadline && (await findLeft()).length > 0) await sleep(100);
  expect(await findLeft()).toEqual([]);
  service = await startService({ dataDir: dataDir.dataDir });
  expect(service.output()).not.toContain("Publishing");
  const answer = await service.execute("hello", { name: "again" });
  expect(answer.status).toBe(200);
});

test("a second service on the same data folder, while the first runs, refuses and says which process has it", async () => {
  await expect(startService({ dataDir: dataDir.dataDir })).rejects.toThrow(String(service.child.pid));
  expect((await service.execute("hello", {})).status).toBe(200);
});
