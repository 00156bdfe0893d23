import { execFile } from "node:child_process";
import { createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Agent } from "undici";
import { PROGRAM } from "./checkout.ts";
import { findLeftEnds } from "./left-ends.ts";
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

/** A process of the service. */
export interface Member {
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where it says whether it is ready. */
  readonly url: string;
  /** Whether its data folder says so, too, as that of a process that takes calls must. */
  readonly saysSo: boolean;
}

/** The service under fire: each of its processes is started as a user starts it, and again whenever it has ended. */
export interface Service {
  readonly apiUrl: string;
  /** What trusts its certificate, which is there once it has been ready. */
  agent(): Promise<Agent>;
  /** Each member's process and all below it, at the member's place; empty while there is none. */
  trees(): Process[][];
  /** Resolves when all are up. */
  ready(): Promise<void>;
  isReady(): boolean;
  isMemberReady(index: number): boolean;
  /** Publishes a folder as a new workflow, of the first account unless another is named. */
  publish(folder: string, account?: string): Promise<Published>;
  createAccount(name: string, credits: number): Promise<void>;
  operatorToken(): Promise<string>;
  /** SIGTERM; answers what is left of it when its time is over. Members are started again, one after the other, unless it is the last stop. */
  stop(options: { last: boolean }): Promise<Process[]>;
  /** Every process that was ever seen below it. */
  everSeen(): Process[];
  close(): Promise<void>;
}

/** Starts it and keeps it running until the last stop. The first member makes what the others share. */
export async function keepService(options: {
  readonly members: readonly Member[];
  /** Where calls go. */
  readonly url: string;
  readonly logFile: string;
  readonly record: ClientRecord;
}): Promise<Service> {
  const { members, url, record } = options;
  const [first] = members;
  if (first === undefined) throw new RangeError("A service has at least one process.");
  const log = createWriteStream(options.logFile, { flags: "a" });
  let trusting: Agent | undefined;
  const agent = async (): Promise<Agent> =>
    (trusting ??= new Agent({ connect: { ca: await readFile(join(first.dataDir, "tls/ca.pem"), "utf8") } }));
  const keep = (member: Member, after: Promise<unknown>) =>
    keepRunning({
      start: (isFirst) => startProcess({ ...member, log, agent, isFirst }),
      onEnded: () => findLeftEnds(member.dataDir).forEach(record.write),
      record,
      after,
    });
  const own = keep(first, Promise.resolve());
  const runs = [own, ...members.slice(1).map((member) => keep(member, own.firstUp))];
  const command = async (args: readonly string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [PROGRAM, ...args], { env: first.env })).stdout;
  const isReady = (): boolean => runs.every((each) => each.isReady());
  const signalRoots = (name: NodeJS.Signals, trees: readonly (readonly Process[])[]): void => {
    for (const [root] of trees) if (root !== undefined) process.kill(root.pid, name);
  };
  const until = async (holds: () => boolean): Promise<void> => {
    const deadline = Date.now() + READY_MAX_MS;
    while (!holds()) {
      if (Date.now() > deadline) throw new Error(`The service was not ready in time; see ${options.logFile}.`);
      await sleep(LOOK_MS / 10);
    }
  };
  const trees = (): Process[][] => runs.map((each) => each.tree());

  return {
    apiUrl: `${url}/api`,
    agent,
    trees,
    isReady,
    isMemberReady: (index) => runs[index]?.isReady() === true,
    everSeen: () => runs.flatMap((each) => each.everSeen()),
    ready: () => until(isReady),
    async publish(folder, account) {
      const to = account === undefined ? [] : ["--account", account];
      return JSON.parse(await command(["publish", folder, ...to, "--json"])) as Published;
    },
    createAccount: async (name, credits) =>
      void (await command(["accounts", "create", name, "--credits", String(credits), "--json"])),
    operatorToken: async () => (await readFile(join(first.dataDir, "keys/operator-token"), "utf8")).trim(),
    async stop({ last }) {
      if (last) {
        const before = trees();
        for (const each of runs) each.startNoMore();
        signalRoots("SIGTERM", before);
        return waitForDeath(before.flat(), STOP_MAX_MS);
      }
      const left: Process[] = [];
      for (const [index, each] of runs.entries()) {
        await until(() => index === 0 || runs[index - 1]?.isReady() === true);
        const before = each.tree();
        signalRoots("SIGTERM", [before]);
        left.push(...(await waitForDeath(before, STOP_MAX_MS)));
      }
      return left;
    },
    async close() {
      for (const each of runs) each.startNoMore();
      signalRoots("SIGKILL", trees());
      await Promise.all(runs.map((each) => each.over));
      await trusting?.destroy();
      log.end();
    },
  };
}

/** One start after the other, whatever ended the one before. Notes each, and what a process left behind. */
function keepRunning({
  start,
  onEnded,
  record,
  after,
}: {
  start: (isFirst: boolean) => ServiceProcess;
  onEnded: () => void;
  record: ClientRecord;
  /** What the first start waits for. */
  after: Promise<unknown>;
}) {
  const seen = new Map<string, Process>();
  const waits: Promise<void>[] = [];
  let current: ServiceProcess | undefined;
  let readyPid: number | undefined;
  let isLast = false;
  let tellFirst: () => void = () => undefined;
  const firstUp = new Promise<void>((resolve) => (tellFirst = resolve));
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
    await after;
    while (!isLast) {
      const started = (current = start(current === undefined));
      note("started", `process ${started.pid}`);
      const noted = started.up.then((isUp) => {
        if (isUp === undefined) return;
        readyPid = started.pid;
        tellFirst();
        note(isUp, `process ${started.pid}`);
      });
      note("ended", `process ${started.pid}: ${await started.ended}`);
      onEnded();
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
    firstUp,
    startNoMore(): void {
      isLast = true;
      tellFirst(); // Those that wait for it need not start any more.
    },
    over: run(),
  };
}
