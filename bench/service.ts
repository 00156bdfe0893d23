import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Agent, request } from "undici";
import type { ReadyFile } from "../src/start/ready-file.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** What is measured is how quick calls are, not how many are let through. */
const UNLIMITED = { TREADLE_RATE_LIMIT_PER_MINUTE: "0", TREADLE_ACCOUNT_RATE_LIMIT_PER_MINUTE: "0" };
const START_MAX_MS = 900_000;

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

export interface BenchService {
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

/** A folder for the data of a measurement that the sandbox's user can pass through, too. */
export async function makeDataDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "treadle-bench-data-"));
  await chmod(dir, 0o755);
  return join(dir, "data");
}

/** Publishes a workflow of one input with the command line; `more` are lines of its config.yaml and of its requirements. */
export async function publish(
  dataDir: string,
  input: string,
  code: string,
  more: { readonly config?: string; readonly requirements?: string } = {},
): Promise<Published> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-workflow-"));
  const config = `inputs:\n  ${input}\ntriggers:\n  api: { enabled: true }\n${more.config ?? ""}`;
  await writeFile(join(folder, "config.yaml"), config);
  if (more.requirements !== undefined) await writeFile(join(folder, "requirements.txt"), more.requirements);
  await writeFile(join(folder, "main.py"), code);
  const args = [join(ROOT, "bin/treadle"), "publish", folder, "--json"];
  const env = { ...process.env, TREADLE_DATA_DIR: dataDir };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  await rm(folder, { recursive: true });
  return JSON.parse(stdout) as Published;
}

/** Starts the service as a user does, or another program that ends up in `runStart`, and waits until it is ready. */
export async function startService(options: {
  dataDir: string;
  program?: string[];
  /** Settings that differ. */
  env?: Readonly<Record<string, string>>;
}): Promise<BenchService> {
  const startedAt = performance.now();
  const [script = "", ...rest] = options.program ?? [join(ROOT, "bin/treadle"), "start"];
  const child = spawn(process.execPath, [script, ...rest], {
    cwd: ROOT,
    env: {
      ...process.env,
      TREADLE_DATA_DIR: options.dataDir,
      TREADLE_PORT: "0",
      TREADLE_LOG_LEVEL: "warn",
      ...UNLIMITED,
      ...options.env,
    },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const ready = await waitUntilReady(child, options.dataDir);
  const startMs = performance.now() - startedAt;
  const agent = new Agent({ connect: { ca: await readFile(ready.caFile, "utf8") } });
  const call = async (workflow: Published, inputs: object): Promise<Answer> => {
    const before = performance.now();
    const answer = await request(`${ready.apiUrl}/workflows/${workflow.workflowId}/execute`, {
      method: "POST",
      dispatcher: agent,
      headers: { "x-api-key": workflow.apiKey, "content-type": "application/json" },
      body: JSON.stringify(inputs),
    });
    const body = (await answer.body.json()) as Record<string, unknown>;
    const timing = String(answer.headers["server-timing"] ?? "");
    return { status: answer.statusCode, ms: performance.now() - before, body, timing };
  };
  return {
    ready,
    dataDir: options.dataDir,
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
      child.kill("SIGTERM");
      await new Promise((resolve) => (child.exitCode === null ? child.once("exit", resolve) : resolve(undefined)));
    },
  };
}

async function waitUntilReady(child: ChildProcess, dataDir: string): Promise<ReadyFile> {
  const path = join(dataDir, "ready.json");
  const deadline = Date.now() + START_MAX_MS;
  while (Date.now() < deadline) {
    if (child.exitCode !== null)
      throw new Error(`The service ended with exit code ${child.exitCode} before it was ready.`);
    const text = await readFile(path, "utf8").catch(() => undefined);
    if (text !== undefined) {
      const ready = JSON.parse(text) as ReadyFile;
      if (ready.pid === child.pid) return ready;
    }
    await sleep(20);
  }
  throw new Error("The service was not ready in time.");
}

export async function removeDataDir(dataDir: string): Promise<void> {
  await rm(join(dataDir, ".."), { recursive: true, force: true });
}
