import { execFile } from "node:child_process";
import { createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Agent } from "undici";
import { PROGRAM } from "./checkout.ts";
import { listTree, type Process, waitForDeath } from "./processes.ts";
import type { ClientRecord, ServiceLine } from "./record.ts";
import { type ServiceProcess, startProcess } from "./service-process.ts";

/** A first start makes a database and, where there is none yet, fetches servers. */
const READY_MAX_MS = 600_000;
/** `docs/operating.md`: 10 seconds; the rest is for a machine that is busy. */
const STOP_MAX_MS = 15_000;
/** A killed service leaves nothing running after this time. */
const ORPHANS_MAX_MS = 20_000;
const LOOK_MS = 250;
const AGAIN_MS = 500;

export interface Published {
  readonly workflowId: string;
  readonly apiKey: string;
  readonly commitId: string;
}

/** The service under fire: started as a user starts it, and again whenever it has ended. */
export interface Service {
  readonly apiUrl: string;
  /** What trusts its certificate, which is there once it has been ready. */
  agent(): Promise<Agent>;
  /** The process of the service and all below it; empty while there is none. */
  tree(): Process[];
  /** Resolves when it is up and takes calls. */
  ready(): Promise<void>;
  isReady(): boolean;
  /** Publishes a folder as a new workflow, of the first account unless another is named. */
  publish(folder: string, account?: string): Promise<Published>;
  createAccount(name: string, credits: number): Promise<void>;
  operatorToken(): Promise<string>;
  /** SIGTERM; answers what is left of it when its time is over. It is started again, unless it is the last stop. */
  stop(options: { last: boolean }): Promise<Process[]>;
  /** Every process that was ever seen below it. */
  everSeen(): Process[];
  close(): Promise<void>;
}

/** Starts it and keeps it running until the last stop. Its port is chosen once, so that its address stays. */
export async function keepService(options: {
  dataDir: string;
  logFile: string;
  env: Readonly<Record<string, string | undefined>>;
  record: ClientRecord;
}): Promise<Service> {
  const { dataDir } = options;
  const port = await freePort();
  const url = `https://localhost:${port}`;
  const env = { ...options.env, TREADLE_DATA_DIR: dataDir, TREADLE_PORT: String(port) };
  const log = createWriteStream(options.logFile, { flags: "a" });
  let trusting: Agent | undefined;
  const agent = async (): Promise<Agent> =>
    (trusting ??= new Agent({ connect: { ca: await readFile(join(dataDir, "tls/ca.pem"), "utf8") } }));
  const start = (isFirst: boolean) => startProcess({ dataDir, url, env, log, agent, isFirst });
  const runs = keepRunning({ start, record: options.record });
  const command = async (args: readonly string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [PROGRAM, ...args], { env })).stdout;
  const { tree, isReady } = runs;

  return {
    ...{ apiUrl: `${url}/api`, agent, tree, isReady, everSeen: runs.everSeen },
    async ready() {
      const deadline = Date.now() + READY_MAX_MS;
      while (!isReady()) {
        if (Date.now() > deadline) throw new Error(`The service was not ready in time; see ${options.logFile}.`);
        await sleep(LOOK_MS / 10);
      }
    },
    async publish(folder, account) {
      const to = account === undefined ? [] : ["--account", account];
      return JSON.parse(await command(["publish", folder, ...to, "--json"])) as Published;
    },
    createAccount: async (name, credits) =>
      void (await command(["accounts", "create", name, "--credits", String(credits), "--json"])),
    operatorToken: async () => (await readFile(join(dataDir, "keys/operator-token"), "utf8")).trim(),
    async stop({ last }) {
      const before = tree();
      if (last) runs.startNoMore();
      for (const { pid } of before.slice(0, 1)) process.kill(pid, "SIGTERM");
      return waitForDeath(before, STOP_MAX_MS);
    },
    async close() {
      runs.startNoMore();
      for (const { pid } of tree().slice(0, 1)) process.kill(pid, "SIGKILL");
      await runs.over;
      await trusting?.destroy();
      log.end();
    },
  };
}

/** One start after the other, whatever ended the one before. Notes each, and what a process left behind. */
function keepRunning({ start, record }: { start: (isFirst: boolean) => ServiceProcess; record: ClientRecord }) {
  const seen = new Map<string, Process>();
  const waits: Promise<void>[] = [];
  let current: ServiceProcess | undefined;
  let readyPid: number | undefined;
  let isLast = false;
  const note = (event: ServiceLine["event"], text: string): void =>
    record.write({ type: "service", at: Date.now(), event, note: text });
  const tree = (): Process[] => (current?.pid === undefined || current.hasEnded() ? [] : listTree(current.pid));
  const look = (): void => tree().forEach((each) => seen.set(`${each.pid} ${each.startTime}`, each));
  const looking = setInterval(look, LOOK_MS);

  async function noteOrphans(): Promise<void> {
    const left = await waitForDeath([...seen.values()], ORPHANS_MAX_MS, () => tree());
    for (const { pid, command } of left) note("left_behind", `process ${pid}: ${command.join(" ")}`);
  }

  async function run(): Promise<void> {
    while (!isLast) {
      const started = (current = start(current === undefined));
      note("started", `process ${started.pid}`);
      const noted = started.up.then((isUp) => {
        if (isUp === undefined) return;
        readyPid = started.pid;
        note(isUp, `process ${started.pid}`);
      });
      note("ended", `process ${started.pid}: ${await started.ended}`);
      await noted;
      waits.push(noteOrphans());
      if (!isLast) await sleep(AGAIN_MS);
    }
    await Promise.all(waits);
    clearInterval(looking);
  }

  return {
    tree,
    /** That it was killed is known to the system before it is to us. */
    isReady: () => readyPid !== undefined && readyPid === tree()[0]?.pid,
    everSeen: () => [...seen.values()],
    startNoMore(): void {
      isLast = true;
    },
    over: run(),
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("No port is free.");
  return address.port;
}
