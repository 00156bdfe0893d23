import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { Agent, request as httpsRequest } from "node:https";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type BenchService, makeDataDir, type Published, removeDataDir, startService } from "./service.ts";

/**
 * What a call costs while it waits: memory of the process beyond that of its open connection, and how long the event loop
 * stands still, with as many calls waiting as may. Then: what the next caller hears, and whether callers that leave give
 * their places back. One execution runs, the others wait for their turn.
 */
const CALLS = Number(process.env.TREADLE_BENCH_WAITERS ?? 5_000);
const STEADY_SECONDS = 15;
/** All in one moment would measure how fast the service reads 5,000 requests, not what waiting costs. */
const ARRIVING_PER_SECOND = 250;
const LEAVING_PER_SECOND = 500;
const TICK_MS = 20;
const KIB = 1024;
const GOALS = "at 5,000: at most 30 KiB a waiting call, no stall over 100 ms, the next call answered 503";
const MANIFEST = "concurrency: { max: 1 }\nlimits: { timeout: 1h, cpu: 0.1 }\ntriggers:\n  api: { enabled: true }\n";

interface Report {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  readonly stallMs: number;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const program = fileURLToPath(new URL("./waiters-program.js", import.meta.url));
const dataDir = await makeDataDir();
const folder = await mkdtemp(join(tmpdir(), "treadle-bench-waiters-"));
const reportPath = join(folder, "reports");
// The service may run as another user.
await chmod(folder, 0o755);
await writeFile(reportPath, "");
await chmod(reportPath, 0o666);
Object.assign(process.env, {
  TREADLE_WAITING_CALLS_MAX: String(CALLS * 1.25),
  TREADLE_WAIT_MAX_SECONDS: "3600",
  TREADLE_RATE_LIMIT_PER_MINUTE: "0",
  TREADLE_ACCOUNT_RATE_LIMIT_PER_MINUTE: "0",
});
const service = await startService({ dataDir, program: ["--expose-gc", program, reportPath] });
try {
  await measure(service);
} finally {
  await service.stop();
  await removeDataDir(dataDir);
  await rm(folder, { recursive: true, force: true });
}

async function measure({ ready }: BenchService): Promise<void> {
  const workflow = await publish();
  const ca = await readFile(ready.caFile, "utf8");
  const agent = new Agent({ ca, keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: CALLS + 10 });
  const call = (path: string, method: string, signal?: AbortSignal): Promise<number> =>
    send(`${ready.apiUrl}${path}`, { agent, method, apiKey: workflow.apiKey, signal });
  const execute = `/workflows/${workflow.workflowId}/execute`;

  const bare = await ask(ready.pid);
  for (let opened = 0; opened < CALLS; opened += 100)
    await Promise.all(
      Array.from({ length: CALLS }, (_, at) => at)
        .slice(opened, opened + 100)
        .map(() => call("/nothing", "GET")),
    );
  // Every caller on a connection of its own, open before it calls.
  await Promise.all(Array.from({ length: CALLS }, () => call("/nothing", "GET")));
  const connected = await ask(ready.pid);
  const answers: Promise<unknown>[] = [];
  const callers: AbortController[] = [];
  await pace(ARRIVING_PER_SECOND, () => {
    const caller = new AbortController();
    callers.push(caller);
    answers.push(call(execute, "POST", caller.signal).catch(() => "left" as const));
  });
  await waitFor(ready, (count) => count === CALLS);
  const arriving = await ask(ready.pid);
  await sleep(STEADY_SECONDS * 1000);
  const waiting = await ask(ready.pid);
  const next = await call(execute, "POST");
  await pace(LEAVING_PER_SECOND, () => callers.pop()?.abort());
  await Promise.all(answers);
  await waitFor(ready, (count) => count === 0);
  const left = await ask(ready.pid);

  const kib = (bytes: number): string => (bytes / CALLS / KIB).toFixed(1);
  say(`${availableParallelism()} cores, ${CALLS} calls`);
  say(
    `a waiting call: ${kib(waiting.rss - connected.rss)} KiB resident, ${kib(waiting.heapUsed - connected.heapUsed)} KiB heap`,
  );
  say(`its open TLS connection, before it calls: ${kib(connected.rss - bare.rss)} KiB resident`);
  say(
    `longest stall: ${waiting.stallMs.toFixed(0)} ms in ${STEADY_SECONDS} s of waiting; ${arriving.stallMs.toFixed(0)} ms while they arrive, ${ARRIVING_PER_SECOND} a second; ${left.stallMs.toFixed(0)} ms while they leave, ${LEAVING_PER_SECOND} a second`,
  );
  say(`the next call: ${next}; after all had left, ${kib(left.heapUsed - bare.heapUsed)} KiB of heap a call remain`);
  say(`goals: ${GOALS}`);
  agent.destroy();
}

/** Does something `CALLS` times, spread over the time that takes. */
async function pace(perSecond: number, act: () => void): Promise<void> {
  const startedAt = performance.now();
  for (let done = 0; done < CALLS; await sleep(TICK_MS)) {
    const due = Math.min(CALLS, ((performance.now() - startedAt) / 1000) * perSecond);
    for (; done < due; done += 1) act();
  }
}

/** Publishes the workflow whose executions wait for each other. */
async function publish(): Promise<Published> {
  await writeFile(join(folder, "config.yaml"), MANIFEST);
  await writeFile(join(folder, "main.py"), "def main():\n    return {}\n");
  const treadle = fileURLToPath(new URL("../../bin/treadle", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [treadle, "publish", folder, "--json"], {
    env: { ...process.env, TREADLE_DATA_DIR: dataDir },
  });
  return JSON.parse(stdout) as Published;
}

/** The status of the answer, its body read. */
function send(
  url: string,
  call: { agent: Agent; method: string; apiKey: string; signal: AbortSignal | undefined },
): Promise<number> {
  const { agent, method, apiKey, signal } = call;
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(
      url,
      {
        agent,
        method,
        headers: { "x-api-key": apiKey, "content-type": "application/json" },
        ...(signal === undefined ? {} : { signal }),
      },
      (response) => response.resume().once("end", () => resolve(response.statusCode ?? 0)),
    );
    sent.once("error", reject);
    sent.end(method === "POST" ? "{}" : undefined);
  });
}

/** Asks the service for its memory after a collection, and for the longest stall since it was asked last. */
async function ask(pid: number): Promise<Report> {
  const before = (await readFile(reportPath, "utf8")).length;
  process.kill(pid, "SIGUSR2");
  for (let tries = 0; tries < 600; tries += 1) {
    await sleep(50);
    const text = (await readFile(reportPath, "utf8")).slice(before);
    if (text.endsWith("\n")) return JSON.parse(text) as Report;
  }
  throw new Error("The service did not report.");
}

/** Until the service says that so many calls wait. */
async function waitFor(ready: BenchService["ready"], isReached: (count: number) => boolean): Promise<void> {
  const agent = new Agent({ ca: await readFile(ready.caFile, "utf8") });
  for (;;) {
    const text = await new Promise<string>((resolve, reject) => {
      httpsRequest(`${ready.url}/metrics`, { agent }, (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (body += chunk));
        response.on("end", () => resolve(body));
      })
        .on("error", reject)
        .end();
    });
    if (isReached(Number(/^treadle_waiting_calls (\d+)$/m.exec(text)?.[1]))) return agent.destroy();
    await sleep(200);
  }
}
