import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Agent, type Dispatcher, request } from "undici";
import type { ReadyFile } from "../../src/start/ready-file.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FILTERS = fileURLToPath(new URL("./within-filters.py", import.meta.url));
/** The first start of a data folder builds the packages of `sales-report`, where that is wanted. */
const START_MAX_MS = 600_000;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Record<string, unknown>;
  readonly text: string;
}

/** A service that runs, to those who call it. */
export interface CalledService {
  readonly ready: ReadyFile;
  call(path: string, options?: Omit<Partial<Dispatcher.RequestOptions>, "path">): Promise<Answer>;
  /** Resolves when the answer has begun, with what has come so far and what it is in the end. */
  begin(
    path: string,
    options?: Omit<Partial<Dispatcher.RequestOptions>, "path">,
  ): Promise<{ soFar: () => string; text: Promise<string> }>;
  /** Executes an example with JSON inputs. */
  execute(example: string, inputs: object): Promise<Answer>;
}

export interface TestService extends CalledService {
  readonly child: ChildProcess;
  readonly startMs: number;
  /** Everything it printed so far. */
  output(): string;
  /** Sends a signal and waits for the end; answers how long that took. */
  stop(signal?: NodeJS.Signals): Promise<number>;
}

/** A folder for data whose parents everybody can pass, as a user's would be. The caller removes it. */
export async function aDataDir(): Promise<{ dataDir: string; remove: () => Promise<void> }> {
  const parent = await mkdtemp(join(tmpdir(), "treadle-e2e-"));
  await chmod(parent, 0o755);
  return { dataDir: join(parent, "data"), remove: () => rm(parent, { recursive: true, force: true }) };
}

/**
 * Starts the service as a user does, in a process of its own, and waits for its `ready.json`. Of the examples it publishes
 * `hello` alone unless told otherwise: another has packages, which are built anew for each data folder.
 */
export async function startService(options: {
  dataDir: string;
  env?: Record<string, string>;
  /** What `ulimit -n` says where it is started: no process of it gets more. */
  openFilesMax?: number;
  /** With filters of system calls around it and no new privileges, as a container has them. */
  withinFilters?: boolean;
  /** Put before its command: enters the namespaces that it is to run in. What calls it has to be there, too. */
  within?: readonly string[];
  /** The checkout to start it from; this one unless given. */
  checkout?: string;
  /** The Node.js to start it with; this process's own unless given. */
  node?: string;
  /** By `npm start`, which is then `child`. */
  byNpm?: boolean;
  /** In a process group of its own, which SIGINT then reaches whole: as Ctrl-C in a terminal. */
  ownGroup?: boolean;
}): Promise<TestService> {
  const startedAt = performance.now();
  const {
    checkout = ROOT,
    openFilesMax,
    within = [],
    withinFilters = false,
    node = process.execPath,
    byNpm = false,
    ownGroup = false,
  } = options;
  const command = [
    ...within,
    ...(openFilesMax === undefined ? [] : ["prlimit", `--nofile=${openFilesMax}:${openFilesMax}`]),
    ...(withinFilters ? ["python3", FILTERS] : []),
    ...(byNpm ? ["npm", "start"] : [node, join(checkout, "bin/treadle"), "start"]),
  ];
  const child = spawn(command[0] as string, command.slice(1), {
    cwd: checkout,
    env: {
      ...process.env,
      TREADLE_PORT: "0",
      TREADLE_DATA_DIR: options.dataDir,
      TREADLE_EXAMPLES: "hello",
      ...options.env,
    },
    stdio: ["ignore", "pipe", "pipe"],
    detached: ownGroup,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      output += text;
    });
  }
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const ready = await waitUntilReady(child, options.dataDir, () => output);
  const startMs = performance.now() - startedAt;
  const { hangUp, ...called } = await callService(ready);
  return {
    ...called,
    child,
    startMs,
    output: () => output,
    async stop(signal = "SIGTERM") {
      const before = performance.now();
      if (signal === "SIGINT" && ownGroup) process.kill(-(child.pid as number), signal);
      else child.kill(signal);
      await ended;
      const tookMs = performance.now() - before;
      await hangUp();
      return tookMs;
    },
  };
}

/** Calls a service over connections that end with `hangUp`. */
export async function callService(ready: ReadyFile): Promise<CalledService & { hangUp: () => Promise<void> }> {
  const agent = new Agent({ connect: { ca: await readFile(ready.caFile, "utf8") }, headersTimeout: 0, bodyTimeout: 0 });
  const begin = async (path: string, given: Omit<Partial<Dispatcher.RequestOptions>, "path"> = {}) => {
    const url = path.startsWith("https:") ? path : `${ready.apiUrl}${path}`;
    const { statusCode: status, headers, body } = await request(url, { ...given, dispatcher: agent });
    let seen = "";
    const text = (async () => {
      for await (const part of body.setEncoding("utf8")) seen += part;
      return seen;
    })();
    return { status, headers, soFar: () => seen, text };
  };
  const call: CalledService["call"] = async (path, given) => {
    const { status, headers, ...answer } = await begin(path, given);
    const text = await answer.text;
    const isJson = String(headers["content-type"] ?? "").includes("application/json");
    const body = isJson ? (JSON.parse(text) as Record<string, unknown>) : {};
    return { status, headers, body, text };
  };
  return {
    ready,
    call,
    begin,
    execute(example, inputs) {
      const { workflowId, apiKey } = exampleOf(ready, example);
      return call(`/workflows/${workflowId}/execute`, {
        method: "POST",
        headers: { "x-api-key": apiKey, "content-type": "application/json" },
        body: JSON.stringify(inputs),
      });
    },
    hangUp: () => agent.destroy(),
  };
}

export function exampleOf(ready: ReadyFile, name: string): { workflowId: string; apiKey: string } {
  const workflow = ready.workflows[name];
  if (workflow === undefined) throw new Error(`The example ${name} was not published.`);
  return workflow;
}

async function waitUntilReady(child: ChildProcess, dataDir: string, output: () => string): Promise<ReadyFile> {
  const deadline = Date.now() + START_MAX_MS;
  while (Date.now() < deadline) {
    if (child.exitCode !== null)
      throw new Error(`The service ended with ${child.exitCode} before it was ready:\n${output()}`);
    const text = await readFile(join(dataDir, "ready.json"), "utf8").catch(() => undefined);
    const ready = text === undefined ? undefined : (JSON.parse(text) as ReadyFile);
    if (ready !== undefined && (await listTree(child.pid as number)).includes(ready.pid)) return ready;
    await sleep(50);
  }
  throw new Error(`The service was not ready in time:\n${output()}`);
}

/** The processes below a process, itself included, that are still there. */
export async function listTree(root: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, "utf8").catch(() => undefined);
    if (stat !== undefined) parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
  }
  const found = [root];
  for (const pid of found) for (const [child, parent] of parents) if (parent === pid) found.push(child);
  return found;
}

export async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  return stat !== undefined && !/\) Z /.test(stat);
}
