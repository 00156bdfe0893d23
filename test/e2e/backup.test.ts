import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { aFolder, startTreadle, treadle } from "../support/command-line.ts";
import { type Answer, aDataDir, startService, type TestService } from "../support/service.ts";

const CONFIG = `inputs:
  seconds: { type: number, default: 0 }
  note: { type: secret, required: false }
limits: { timeout: 2m }
triggers:
  api: { enabled: true }
  schedule: { enabled: true, cron: "0 9 * * 1-5", timezone: Europe/Berlin }
`;
/** Says that it ran in its log, so that running twice can be seen. */
const MAIN = `import time
def main(seconds, note):
    print("running")
    time.sleep(seconds)
    return {"text": f"slept {seconds} {note}"}
`;

/** The sweeper looks every ten seconds. */
const SWEPT_MS = 25_000;

interface Place {
  readonly dataDir: string;
  readonly remove: () => Promise<void>;
}

interface Workflow {
  readonly workflowId: string;
  readonly apiKey: string;
}

let places: Place[] = [];
let service: TestService | undefined;
let workflow: Workflow;

beforeAll(async () => {
  places = [await aDataDir(), await aDataDir(), await aDataDir()];
  service = await startService({ dataDir: places[0]?.dataDir as string });
  const folder = await aFolder({ "config.yaml": CONFIG, "main.py": MAIN });
  workflow = (await command(0, "publish", folder)) as unknown as Workflow;
  await rm(folder, { recursive: true });
}, 600_000);

afterAll(async () => {
  await service?.stop();
  for (const place of places) await place.remove();
});

/** What a command of the place's installation answers, which has to go well. */
async function command(place: number, ...args: string[]): Promise<Record<string, unknown>> {
  const answer = await treadle(places[place]?.dataDir as string, [...args, "--json"]);
  expect([answer.code, answer.stderr]).toEqual([0, expect.any(String)]);
  return answer.json();
}

function call(path: string, given: { method?: "POST"; headers?: object; body?: object } = {}): Promise<Answer> {
  const headers = { "x-api-key": workflow.apiKey, "content-type": "application/json", ...given.headers };
  const body = given.body === undefined ? null : JSON.stringify(given.body);
  return (service as TestService).call(path, { method: given.method ?? "GET", headers, body });
}

function execute(inputs: object, headers: object = {}): Promise<Answer> {
  return call(`/workflows/${workflow.workflowId}/execute`, { method: "POST", headers, body: inputs });
}

const idOf = (answer: Answer): string => answer.body["executionId"] as string;
const pathOf = (url: string): string => new URL(url).pathname.replace(/^\/api/, "");
const listed = (document: object): object[] => (document as { executions: object[] }).executions;
const textOf = (answer: Answer): string => pathOf((answer.body["outputs"] as { text: string }).text);

/** The execution, once its program runs, or has ended. */
async function when(id: string, isSo: (status: string) => boolean): Promise<Answer> {
  for (;;) {
    const answer = await call(`/run-logs/${id}`);
    if (isSo(String(answer.body["status"]))) return answer;
    await sleep(100);
  }
}

/** What the first backup was made of, and when what was restored from it was up. */
let before: { credits: object; schedules: object; executions: object[] };
let released: Answer;
let restoredAt: number;

const isEnd = (status: string): boolean => !["queued", "running"].includes(status);

test("a backup of a running service, restored elsewhere, goes on with everything, and ends what was under way once", async () => {
  const done = await execute({ note: "a secret" }, { "idempotency-key": "once" });
  expect([done.status, (await call(textOf(done))).text]).toEqual([200, "slept 0 a secret"]);
  before = {
    credits: await command(0, "credits", "show"),
    schedules: await command(0, "schedules", "list"),
    executions: listed(await command(0, "executions", "list")),
  };
  const under = await execute({ seconds: 10 }, { prefer: "respond-async" });
  await when(idOf(under), (status) => status === "running");
  const { workflows, signIn, caFile } = (service as TestService).ready;
  const certificate = await readFile(caFile, "utf8");

  const folder = join(places[0]?.dataDir as string, "../backup");
  const made = await command(0, "backup", folder);
  expect(made).toMatchObject({ folder, open: 1, storage: { missing: 0, damaged: 0 } });
  // The one under way ends in the service that goes on, and what it does there is not in the backup.
  expect((await when(idOf(under), isEnd)).body["status"]).toBe("success");
  expect((await call(`/run-logs/${idOf(under)}/logs`)).text.match(/running/g)).toHaveLength(1);
  await service?.stop();

  expect(await command(1, "restore", folder)).toMatchObject({ released: 1, open: 0, moneyFaults: 0 });
  service = await startService({ dataDir: places[1]?.dataDir as string });
  restoredAt = Date.now();
  expect(service.ready).toMatchObject({ workflows, signIn });
  expect(await readFile(service.ready.caFile, "utf8")).toBe(certificate);

  const after = (await call(`/run-logs/${idOf(done)}`)).body;
  expect([after["status"], after["duration"], after["cost"]]).toEqual([
    "success",
    done.body["duration"],
    done.body["cost"],
  ]);
  expect((await call(pathOf((after["outputs"] as { text: string }).text))).text).toBe("slept 0 a secret");
  expect((await call(`/run-logs/${idOf(done)}/logs`)).text).toContain("running");
  const again = await execute({ note: "a secret" }, { "idempotency-key": "once" });
  expect([again.status, again.headers["idempotent-replayed"], idOf(again)]).toEqual([200, "true", idOf(done)]);

  released = await call(`/run-logs/${idOf(under)}`);
  expect(released.body).toMatchObject({
    status: "failed",
    error: "Internal server error",
    cost: { compute: 0, total: 0 },
  });
  expect(released.body["message"]).toContain("restored from a backup");
  const session = await service.call("/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(signIn),
  });
  expect(session.status).toBe(200);
}, 300_000);

test("a restore that is killed on the way, is no installation, and can be run again", async () => {
  const place = await aDataDir();
  places.push(place);
  const folder = join(places[0]?.dataDir as string, "../backup");
  const killed = startTreadle(place.dataDir, ["restore", folder]);
  const ended = once(killed, "exit");
  // Its database is being made, or filled.
  while (killed.exitCode === null && !existsSync(join(place.dataDir, "postgres/data/postmaster.pid"))) await sleep(5);
  killed.kill("SIGKILL");
  expect(await ended).toEqual([null, "SIGKILL"]);

  const started = await treadle(place.dataDir, ["start"]);
  expect([started.code, started.stdout + started.stderr]).toEqual([1, expect.stringMatching(/restore .*interrupted/i)]);
  const backedUp = await treadle(place.dataDir, ["backup", `${folder}-3`, "--json"]);
  expect([backedUp.code, backedUp.json()]).toMatchObject([1, { error: "Backup refused" }]);
  const again = await treadle(place.dataDir, ["restore", folder, "--json"]);
  expect([again.code, again.json()]).toMatchObject([0, { released: 1, open: 0, moneyFaults: 0 }]);
  expect(await readdir(place.dataDir)).toEqual(expect.not.arrayContaining(["restore-unfinished"]));
}, 300_000);

test("a restore over a service's data, and a backup of nothing, are refused in words", async () => {
  const folder = join(places[0]?.dataDir as string, "../backup");
  const over = await treadle(places[1]?.dataDir as string, ["restore", folder, "--json"]);
  expect([over.code, over.json()]).toMatchObject([1, { error: "Backup refused" }]);
  const nothing = await treadle(join(folder, "nowhere"), ["backup", `${folder}-2`, "--json"]);
  expect([nothing.code, nothing.json()]).toMatchObject([1, { error: "Backup refused" }]);
});

test("what was restored, when the sweeper has looked at it, is as it was, and goes on", async () => {
  // Twice, by now.
  await sleep(Math.max(0, restoredAt + SWEPT_MS - Date.now()));
  const { credits, schedules, executions } = before as { credits: { balance: number } } & typeof before;
  expect(await command(1, "credits", "show")).toEqual({ ...credits, reserved: 0, available: credits.balance });
  expect((await call(`/run-logs/${idOf(released)}`)).body).toEqual(released.body);
  expect(listed(await command(1, "executions", "list"))).toHaveLength(executions.length + 1);
  expect(await command(1, "schedules", "list")).toEqual(schedules);

  const anew = await execute({ note: "anew" });
  expect([anew.status, (await call(textOf(anew))).text]).toEqual([200, "slept 0 anew"]);
  const { total } = anew.body["cost"] as { total: number };
  expect((await command(1, "credits", "show"))["balance"]).toBeCloseTo(credits.balance - total, 6);
}, 300_000);

test("a backup of a stopped service, restored to go on, ends what was under way once and charges it once", async () => {
  const before = await command(1, "credits", "show");
  const under = await execute({ seconds: 12 }, { prefer: "respond-async" });
  await when(idOf(under), (status) => status === "running");
  await service?.stop();
  const folder = join(places[1]?.dataDir as string, "../backup");
  expect(await command(1, "backup", folder)).toMatchObject({ open: 1 });
  expect(await command(2, "restore", folder, "--open", "continue")).toMatchObject({ released: 0, open: 1 });
  service = await startService({ dataDir: places[2]?.dataDir as string });
  const ended = await when(idOf(under), isEnd);
  expect([ended.body["status"], (await call(textOf(ended))).text]).toEqual(["success", "slept 12 None"]);
  const { total } = ended.body["cost"] as { total: number };
  const after = await command(2, "credits", "show");
  expect(Number(before["balance"]) - Number(after["balance"])).toBeCloseTo(total, 6);
  expect(after["reserved"]).toBe(0);
}, 300_000);
