import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { z } from "zod";
import { ExecutionRecord } from "../../domain/api/executions.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import { aPlace, type Place } from "../support/place.ts";
import { type Answer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const LATER_MS = 120_000;

let service: TestService;
let place: Place;

beforeAll(async () => {
  place = await aPlace();
  service = await place.start();
}, 600_000);

afterAll(async () => {
  await service?.stop();
  await place?.remove();
});

interface Workflow {
  readonly workflowId: string;
  readonly apiKey: string;
}

async function publish(files: Record<string, string>): Promise<Workflow> {
  const published = await treadle(place.dataDir, ["publish", await aFolder(files), "--json"]);
  expect([published.code, published.stderr]).toEqual([0, expect.any(String)]);
  return published.json() as unknown as Workflow;
}

/** An execution as the editor's page reads it. */
async function readRecord(executionId: string): Promise<z.infer<typeof ExecutionRecord>> {
  const token = (await readFile(join(place.dataDir, "keys/operator-token"), "utf8")).trim();
  const { body } = await service.call(`/executions/${executionId}`, { headers: { authorization: `Bearer ${token}` } });
  return ExecutionRecord.parse(body);
}

const balanceOf = async (): Promise<{ balance: number; reserved: number }> =>
  (await treadle(place.dataDir, ["credits", "show", "--json"])).json() as { balance: number; reserved: number };

/** A workflow that sleeps, for another time when it is asked to, and says from when to when it did. */
async function aSleeper(seconds: number, concurrency: string): Promise<Workflow> {
  return publish({
    "config.yaml": `inputs:\n  seconds: { type: number, default: ${seconds} }\nconcurrency: ${concurrency}\ntriggers:\n  api: { enabled: true }\n`,
    "main.py": `import time\ndef main(seconds):\n    began = time.time()\n    time.sleep(seconds)\n    return {"times": [began, time.time()]}\n`,
  });
}

function send(workflow: Workflow, headers: Record<string, string> = {}, inputs: object = {}): Promise<Answer> {
  return service.call(`/workflows/${workflow.workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": workflow.apiKey, "content-type": "application/json", ...headers },
    body: JSON.stringify(inputs),
  });
}

/** Waits until an execution of the workflow runs. */
async function waitUntilRunning({ workflowId }: Workflow): Promise<void> {
  const token = (await readFile(join(place.dataDir, "keys/operator-token"), "utf8")).trim();
  for (const isRunning = (each: Listed) => each.workflowId === workflowId && each.status === "running"; ; ) {
    const { body } = await service.call("/executions", { headers: { authorization: `Bearer ${token}` } });
    if ((body["executions"] as Listed[]).some(isRunning)) return;
    await sleep(50);
  }
}

interface Listed {
  readonly workflowId: string;
  readonly status: string;
}

function look(workflow: Workflow, executionId: unknown): Promise<Answer> {
  return service.call(`/run-logs/${String(executionId)}`, { headers: { "x-api-key": workflow.apiKey } });
}

async function waitForSuccess(workflow: Workflow, executionId: unknown): Promise<Answer> {
  for (const deadline = Date.now() + LATER_MS; ; await sleep(100)) {
    const answer = await look(workflow, executionId);
    if (answer.body["status"] === "success") return answer;
    expect(["queued", "running"]).toContain(answer.body["status"]);
    if (Date.now() > deadline) throw new Error(`It did not succeed in time: ${answer.text}`);
  }
}

/** Kills the service without a word and starts it again. */
async function restart(): Promise<void> {
  await service.stop("SIGKILL");
  service = await place.start();
}

test("start, when it is ready, prints its banner last, with what the browser will warn of", async () => {
  await until(() => service.output().includes("Ctrl-C stops everything."));
  const [before = "", banner = ""] = service.output().split("  Treadle is ready.");
  expect(before).toContain('"event":"service.ready"');
  expect(banner).toContain("Your browser will warn once");
  expect(banner).toContain("bin/treadle trust");
  expect(banner.slice(0, banner.indexOf("Ctrl-C"))).not.toContain('"event"');
});

test("waiting executions, when the service is killed and started again, run one after the other in their order", async () => {
  const workflow = await aSleeper(0.2, "{ max: 1 }");
  const later = { prefer: "respond-async" };
  // So long that it still has the only place when the others come, and when the service is killed.
  const answers = [await send(workflow, later, { seconds: 8 })];
  for (let count = 1; count < 4; count += 1) answers.push(await send(workflow, later));
  expect(answers.map((answer) => answer.body["queuePosition"])).toEqual([undefined, 1, 2, 3]);
  await restart();
  const times: [number, number][] = [];
  for (const { body } of answers) {
    const ended = await waitForSuccess(workflow, body["executionId"]);
    const { times: url } = ended.body["outputs"] as { times: string };
    const file = await service.call(new URL(url).pathname.replace(/^\/api/, ""), {
      headers: { "x-api-key": workflow.apiKey },
    });
    times.push(JSON.parse(file.text) as [number, number]);
  }
  for (const [index, [began]] of times.entries()) expect(began).toBeGreaterThan(times[index - 1]?.[1] ?? 0);
}, 300_000);

test("a place that gets free is taken at once, without anybody looking for it", async () => {
  const workflow = await aSleeper(0.01, "{ max: 1 }");
  await send(workflow);
  const before = performance.now();
  const answers = await Promise.all(Array.from({ length: 10 }, () => send(workflow)));
  expect(answers.map((answer) => answer.status)).toEqual(Array.from({ length: 10 }, () => 200));
  // Looking happens every 10 seconds, and they run one after the other.
  expect(performance.now() - before).toBeLessThan(40_000);
});

test("a call with a key, when the service is killed while it waits, is answered when it is sent again", async () => {
  const workflow = await aSleeper(6, "{ max: 10 }");
  const headers = { "idempotency-key": "once" };
  const lost = send(workflow, headers);
  lost.catch(() => undefined);
  await waitUntilRunning(workflow);
  await restart();
  await expect(lost).rejects.toThrow(/closed|reset/i);
  const again = await send(workflow, headers);
  expect([again.status, again.body["status"], again.headers["idempotent-replayed"]]).toEqual([200, "success", "true"]);
  const { executions } = (await treadle(place.dataDir, ["executions", "list", "--json"])).json() as {
    executions: { workflowId: string }[];
  };
  expect(executions.filter((execution) => execution.workflowId === workflow.workflowId)).toHaveLength(1);
}, 300_000);

test("200 identical calls at once, under one key and the default limits, get one answer and cost once", async () => {
  const workflow = await aSleeper(0.1, "{ max: 10 }");
  const credits = async () =>
    (await treadle(place.dataDir, ["credits", "show", "--json"])).json() as { balance: number; reserved: number };
  const before = await credits();
  const answers = await Promise.all(Array.from({ length: 200 }, () => send(workflow, { "idempotency-key": "same" })));
  expect(new Set(answers.map((answer) => `${answer.status} ${answer.text}`)).size).toBe(1);
  const [first] = answers as [Answer];
  const { cost, status } = first.body as { cost: { total: number }; status: string };
  expect(status).toBe("success");
  const after = await credits();
  expect([Number((before.balance - after.balance).toFixed(6)), after.reserved]).toEqual([cost.total, 0]);
});

test("call, asked for events, tells what a program prints while it runs, and its result", async () => {
  const folder = await aFolder({
    "config.yaml": "triggers:\n  api: { enabled: true }\n",
    "main.py": `import time\ndef main():\n    print("began", flush=True)\n    time.sleep(1)\n    print("done")\n    return {"answer": 42}\n`,
  });
  const published = await treadle(place.dataDir, ["publish", folder, "--json"]);
  const answer = await send(published.json() as unknown as Workflow, { accept: "text/event-stream" });
  const events = answer.text.split("\n\n").filter((event) => event !== "");
  const lines = events.filter((event) => event.startsWith("id: "));
  expect(lines.map((event) => /"text":"([^"]*)"/.exec(event)?.[1])).toEqual(["began", "done"]);
  expect(events[0]).toMatch(/^event: status\n/);
  expect(JSON.parse(/^event: result\ndata: (.*)$/.exec(events.at(-1) ?? "")?.[1] ?? "")).toMatchObject({
    status: "success",
    executionId: answer.headers["x-execution-id"],
    outputs: { answer: expect.stringContaining(`/files/`) },
  });
});

test("publish, of code that does not compile, is refused by the whole service, as config.yaml would be", async () => {
  const folder = await aFolder({ "config.yaml": "name: Broken\n", "main.py": "def main():\n    print((1)\n" });
  const refused = await treadle(place.dataDir, ["publish", folder]);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/^main\.py:2:10 This is not Python 3\.\d+: /),
  ]);
});

test("a run with retry.delay, whose attempts fail and take too long, waits by timers of Temporal and succeeds at last", async () => {
  const before = await balanceOf();
  const flaky = await publish({
    "config.yaml":
      "limits: { timeout: 1s }\nretry: { max_attempts: 3, delay: 1s, backoff: 2, on: [failed, timed_out] }\ntriggers:\n  api: { enabled: true }\n",
    "main.py":
      "import time, treadle\ndef main():\n    if treadle.run.attempt == 1: raise ValueError('not yet')\n    if treadle.run.attempt == 2: time.sleep(60)\n    return {}\n",
  });
  const { body } = await send(flaky);
  expect(body).toMatchObject({ status: "success" });
  const record = await readRecord(String(body["executionId"]));
  const { attempts } = record;
  expect(attempts.map(({ status }) => status)).toEqual(["failed", "timed_out", "success"]);
  const waitsMs = [1, 2].map(
    (at) => Date.parse(attempts[at]?.startedAt ?? "") - Date.parse(attempts[at - 1]?.endedAt ?? ""),
  );
  expect(waitsMs[0]).toBeGreaterThanOrEqual(1_000);
  expect(waitsMs[1]).toBeGreaterThanOrEqual(2_000);
  const types = await place.readEvents(String(body["executionId"]));
  expect(types.filter((type) => type === "EVENT_TYPE_TIMER_FIRED")).not.toEqual([]);
  const after = await balanceOf();
  expect([after.reserved, before.balance - after.balance]).toEqual([0, expect.closeTo(record.cost.total, 6)]);
});

test("cancel, while a run waits an hour for its next attempt, ends it at once and charges what the first one used", async () => {
  const before = await balanceOf();
  const failing = await publish({
    "config.yaml": "retry: { max_attempts: 2, delay: 1h }\ntriggers:\n  api: { enabled: true }\n",
    "main.py": "def main():\n    raise ValueError('not yet')\n",
  });
  const accepted = await send(failing, { prefer: "respond-async" });
  const executionId = String(accepted.body["executionId"]);
  let record = await readRecord(executionId);
  for (; record.nextAttemptAt === null; record = await readRecord(executionId)) await sleep(50);
  expect(record.status).toBe("running");
  expect((Date.parse(record.nextAttemptAt) - Date.now()) / 60_000).toBeCloseTo(60, -1);
  // Long enough for its workflow to have begun, which is what waits.
  await sleep(2_500);
  await service.call(`/run-logs/${executionId}/cancel`, { method: "POST", headers: { "x-api-key": failing.apiKey } });
  for (const deadline = Date.now() + 15_000; record.status === "running"; record = await readRecord(executionId)) {
    expect(Date.now()).toBeLessThan(deadline);
    await sleep(50);
  }
  expect(record).toMatchObject({ status: "cancelled", nextAttemptAt: null, attempts: [{ status: "failed" }] });
  expect(record.cost.total).toBeGreaterThan(0);
  const after = await balanceOf();
  expect([after.reserved, before.balance - after.balance]).toEqual([0, expect.closeTo(record.cost.total, 6)]);
});
