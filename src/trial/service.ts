import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import type { Environment } from "../config.ts";
import type { ReadyFile } from "../start/ready-file.ts";

/** What is measured is how quick calls are, not how many are let through. */
const OWN = {
  TREADLE_PORT: "0",
  TREADLE_LOG_LEVEL: "warn",
  TREADLE_RATE_LIMIT_PER_MINUTE: "0",
  TREADLE_ACCOUNT_RATE_LIMIT_PER_MINUTE: "0",
};
const START_MAX_MS = 900_000;
/** Of what a service said that did not start, a person reads no more. */
const SAID_CHARACTERS_MAX = 2_000;

export interface Answer {
  readonly status: number;
  readonly ms: number;
  readonly body: Record<string, unknown>;
  /** The header Server-Timing. */
  readonly timing: string;
}

export interface Published {
  readonly workflowId: string;
  readonly apiKey: string;
}

/** A service of its own, as a child of this process. */
export interface TrialService {
  readonly ready: ReadyFile;
  readonly dataDir: string;
  /** Milliseconds from spawning to `ready.json`. */
  readonly startMs: number;
  /** Trusts the service's certificate. */
  readonly agent: Agent;
  execute(example: string, inputs: object): Promise<Answer>;
  call(workflow: Published, inputs: object): Promise<Answer>;
  stop(): Promise<void>;
}

/**
 * Starts a service as a user does, or another program that ends up in `runStart`, and waits until it is ready. Throws, with
 * what a quiet one said last, when it ends before.
 */
export async function startTrial(options: {
  checkout: string;
  dataDir: string;
  env: Environment;
  /** Settings that differ from those of `env`, and from what a trial has. */
  settings?: Readonly<Record<string, string>> | undefined;
  /** Script and arguments in place of `bin/treadle start`. */
  program?: readonly string[] | undefined;
  /** Whether what it says is kept from the terminal. */
  isQuiet?: boolean;
  /** Stops it before it is ready. */
  signal?: AbortSignal;
}): Promise<TrialService> {
  const { checkout, dataDir, isQuiet = false, signal } = options;
  const startedAt = performance.now();
  const program = options.program ?? [join(checkout, "bin/treadle"), "start"];
  const child = spawn(process.execPath, program, {
    cwd: checkout,
    env: { ...options.env, ...OWN, TREADLE_DATA_DIR: dataDir, ...options.settings },
    stdio: ["ignore", isQuiet ? "ignore" : "inherit", isQuiet ? "pipe" : "inherit"],
  });
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-SAID_CHARACTERS_MAX)));
  const stop = async (): Promise<void> => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    if (child.exitCode === null && child.kill("SIGTERM")) await ended;
  };
  const ready = await waitUntilReady(child, dataDir, signal).catch(async (error: Error) => {
    await stop();
    throw new Error(`${error.message} ${said.trim()}`.trim());
  });
  const startMs = performance.now() - startedAt;
  const agent = new Agent({ connect: { ca: await readFile(ready.caFile, "utf8") } });
  const call = createCall(ready.apiUrl, agent);
  return {
    ready,
    dataDir,
    startMs,
    agent,
    call,
    async execute(example, inputs) {
      const workflow = ready.workflows[example];
      if (workflow === undefined) throw new Error(`The example ${example} was not published.`);
      return call(workflow, inputs);
    },
    async stop() {
      await agent.close();
      await stop();
    },
  };
}

function createCall(apiUrl: string, agent: Agent) {
  return async (workflow: Published, inputs: object): Promise<Answer> => {
    const before = performance.now();
    const answer = await request(`${apiUrl}/workflows/${workflow.workflowId}/execute`, {
      method: "POST",
      dispatcher: agent,
      headers: { "x-api-key": workflow.apiKey, "content-type": "application/json" },
      body: JSON.stringify(inputs),
    });
    const body = (await answer.body.json()) as Record<string, unknown>;
    const timing = String(answer.headers["server-timing"] ?? "");
    return { status: answer.statusCode, ms: performance.now() - before, body, timing };
  };
}

async function waitUntilReady(
  child: ChildProcess,
  dataDir: string,
  signal: AbortSignal | undefined,
): Promise<ReadyFile> {
  const path = join(dataDir, "ready.json");
  const deadline = Date.now() + START_MAX_MS;
  while (Date.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(
        `The service ended with ${child.signalCode ?? `exit code ${child.exitCode}`} before it was ready.`,
      );
    const text = await readFile(path, "utf8").catch(() => undefined);
    if (text !== undefined) {
      const ready = JSON.parse(text) as ReadyFile;
      if (ready.pid === child.pid) return ready;
    }
    await sleep(20, undefined, { signal });
  }
  throw new Error("The service was not ready in time.");
}
