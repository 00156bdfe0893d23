import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { withTimeout } from "../../system/with-timeout.ts";
import { INSIDE, type LaneFolders, toLaneArguments } from "../bubblewrap.ts";
import { CONTROL_FD, INTERPRETER_FLAGS, writeFilter } from "../bubblewrap-pool.ts";
import type { Cgroup } from "../cgroup.ts";
import { hasFileInputs } from "../launch.ts";
import { endProcess } from "../launched.ts";
import type { NetworkPlace } from "../network/network.ts";
import { findProcess, listChildren, listTree, measureMemoryBytes, waitForDeath } from "../process-tree.ts";
import { type LaneRequest, type SandboxSettings, SIGNALS_MAX, toDataBytes, wantsNetwork } from "../request.ts";
import { ZYGOTE_PROGRAM } from "../runner-folder.ts";
import { architectureOf, buildForkFilter, buildSeccompFilter } from "../seccomp.ts";
import { behindGate, openGate, type SandboxUser } from "../users/sandbox-user.ts";

const ARGUMENTS_FD = 4;
const FILTER_FD = 5;
const GATE_FD = 6;
/** The zygote's own lines are short. Foreign code can write here as well, and must not fill the service's memory. */
const LINE_BYTES_MAX = 4_096;
const SAID_MAX = 2_000;
/** Killed processes end in milliseconds, unless the disk they write to stands still. */
const DEATH_TIMEOUT_MS = 5_000;
/** The zygote, what bubblewrap puts around it and a fork's first process, beside the processes that an execution may have. */
export const OWN_PROCESSES = 8;
/** A fork has a hundred open while it is made; the limit of its execution is set behind that. */
const OPEN_FILES_MIN = 256;
/** Forks copy the commit before they have the limits of their execution; 20 MB, with room. */
const COMMIT_BYTES_MAX = 64 * 1024 * 1024;
/** Each of the scratch folders of a fork; the cold path counts all of them together, from outside. */
const SCRATCH_INODES = 32_768;

/** What a zygote says, all of it untrusted: packages run in the same process. */
export type ZygoteEvent =
  | { readonly type: "warm" }
  | { readonly type: "unfit"; readonly reason: string }
  | { readonly type: "forked"; readonly descriptors: ForkDescriptors };

/** Descriptors of the fork's user process, whose other ends the host opens; `seal` is one of its first process. */
export interface ForkDescriptors {
  readonly stdout: number;
  readonly stderr: number;
  readonly control: number;
  readonly request: number;
  readonly result: number;
  readonly seal: number;
}

/** A zygote in its sandbox, as a process of ours. */
export interface Zygote {
  /** The next thing it says. Rejects when it ends, or says nothing in time. */
  next(timeoutMs: number): Promise<ZygoteEvent>;
  /** Its process id for the host. */
  findPid(): number;
  /** Requests a fork, whose folder in the lane's is `number`. */
  fork(number: number): void;
  /** Memory of everything in the lane, in bytes. */
  measureMemoryBytes(): number;
  /** What it printed: nothing, as a rule. */
  said(): string;
  readonly ended: Promise<void>;
  /** Ends it and all of its forks. */
  end(): Promise<void>;
}

export async function startZygote(
  settings: SandboxSettings,
  request: LaneRequest,
  around: {
    readonly folders: LaneFolders;
    readonly cgroup: Cgroup | undefined;
    readonly user: SandboxUser;
    /** Where its forks are to have networks. */
    readonly place: NetworkPlace | undefined;
  },
): Promise<Zygote> {
  const { folders, cgroup, user, place } = around;
  const child = spawnBubblewrap(settings, { before: await user.enter(place), needsGate: user.needsGate });
  const failure = new Promise<Error>((resolve) => child.once("error", resolve));
  if (child.pid === undefined) throw new Error(`${settings.bwrapPath} could not be started.`, { cause: await failure });
  cgroup?.limit(request.limits, "long");
  await cgroup?.attach(child.pid);
  const stdio = child.stdio as readonly (Socket | null | undefined)[];
  if (user.needsGate) openGate(stdio[GATE_FD]);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const [events, control] = [createEventQueue(ended), stdio[CONTROL_FD] as Socket];
  let said = "";
  for (const stream of [child.stdout, child.stderr] as Readable[]) {
    stream.on("data", (chunk: Buffer) => (said = (said + chunk.toString("utf8")).slice(0, SAID_MAX)));
    stream.on("error", () => undefined);
  }
  control.on("data", createLineReader(events.add));
  control.on("error", () => undefined); // It ended; its exit event is handled elsewhere.
  const args = toLaneArguments({
    runnerDir: settings.runnerDir,
    interpreterPaths: settings.interpreter.bindPaths,
    commitDir: request.commitDir,
    environmentDir: request.environmentDir,
    cpu: request.limits.cpu,
    resolvConf: place?.resolvConf,
    hosts: place?.hosts,
    ...folders,
  });
  const countsMemory = cgroup !== undefined;
  const filter = { countsMemory, forks: true, forkNetworks: place !== undefined };
  writeFilter(stdio[FILTER_FD], buildSeccompFilter(architectureOf(process.arch), filter));
  const argumentsPipe = stdio[ARGUMENTS_FD] as Writable;
  argumentsPipe.on("error", () => undefined);
  argumentsPipe.end(args.map((argument) => `${argument}\0`).join(""));
  control.write(toRequestLine(request, cgroup !== undefined));
  for (const handle of [child, ...stdio]) handle?.unref(); // A lane that waits keeps nobody from ending.
  return {
    next: events.next,
    findPid: () => findInnermost(child.pid as number),
    fork: (number) => void control.write(`{"fork":${number}}\n`),
    measureMemoryBytes: () => measureMemoryBytes(listTree(child.pid as number)),
    said: () => said,
    ended,
    async end() {
      const tree = [child.pid as number, ...listChildren(child.pid as number)].flatMap((pid) => findProcess(pid) ?? []);
      for (const { pid } of tree) endProcess(pid);
      await waitForDeath(tree, DEATH_TIMEOUT_MS);
      for (const stream of stdio) stream?.destroy();
    },
  };
}

function spawnBubblewrap(
  { bwrapPath, interpreter, runAs }: SandboxSettings,
  { before, needsGate }: { readonly before: readonly string[]; readonly needsGate: boolean },
): ChildProcess {
  const program = [interpreter.path, ...INTERPRETER_FLAGS, `${INSIDE.runner}/${ZYGOTE_PROGRAM}`, String(CONTROL_FD)];
  const command = ["--args", String(ARGUMENTS_FD), "--seccomp", String(FILTER_FD), "--", ...program];
  const line = [...before, bwrapPath, ...command];
  const [path = "", ...args] = needsGate ? behindGate(GATE_FD, line) : line;
  const stdio = ["ignore", "pipe", "pipe", "pipe", "pipe", "pipe", needsGate ? "pipe" : "ignore"] as const;
  // A Ctrl-C in the terminal is for the service alone, which ends this in its turn.
  return spawn(path, args, { stdio: [...stdio], env: {}, cwd: "/", detached: true, ...runAs });
}

/** One line of JSON, as `runner/protocol.md` describes it. */
function toRequestLine(request: LaneRequest, hasCgroup: boolean): string {
  const { limits } = request;
  const line = {
    commitDir: INSIDE.commit,
    environmentDir: request.environmentDir && INSIDE.environment,
    entrypoint: request.entrypoint,
    workDir: INSIDE.work,
    laneDir: INSIDE.lane,
    inputsDir: INSIDE.laneInputs,
    scratchDirs: INSIDE.scratch,
    scratchBytes: limits.scratchBytes,
    scratchInodes: SCRATCH_INODES,
    hasFiles: hasFileInputs(request),
    variables: request.laneVariables?.fixed ?? {},
    perRun: request.laneVariables?.perRun ?? [],
    network: wantsNetwork(request),
    filter: buildForkFilter(architectureOf(process.arch)).toString("hex"),
    // Packages are code, too: while they are imported they get what an execution gets, and no more.
    rlimits: {
      NPROC: limits.processes + OWN_PROCESSES,
      NOFILE: Math.max(limits.openFiles, OPEN_FILES_MIN),
      FSIZE: Math.max(limits.fileBytesMax, limits.scratchBytes, COMMIT_BYTES_MAX),
      CORE: 0,
      SIGPENDING: SIGNALS_MAX,
      ...(hasCgroup ? {} : { DATA: toDataBytes(limits) }),
    },
  };
  return `${JSON.stringify(line)}\n`;
}

function findInnermost(outermost: number): number {
  const [child] = listChildren(outermost);
  if (child === undefined) throw new Error("The lane's sandbox is empty.");
  return child;
}

function createEventQueue(ended: Promise<void>) {
  const waiting: ZygoteEvent[] = [];
  let taker: ((event: ZygoteEvent) => void) | undefined;
  return {
    add(event: ZygoteEvent) {
      if (taker === undefined) waiting.push(event);
      else taker(event);
      taker = undefined;
    },
    async next(timeoutMs: number): Promise<ZygoteEvent> {
      const first = waiting.shift();
      if (first !== undefined) return first;
      const next = Promise.race([new Promise<ZygoteEvent>((resolve) => (taker = resolve)), ended]);
      const event = await withTimeout(next, timeoutMs, () => undefined);
      taker = undefined;
      if (event === undefined) throw new Error("The lane's zygote ended, or did not answer.");
      return event;
    },
  };
}

/** Lines that are malformed or too long are dropped: nobody waits for them. */
function createLineReader(onEvent: (event: ZygoteEvent) => void): (chunk: Buffer) => void {
  let rest = "";
  return (chunk) => {
    const lines = (rest + chunk.toString("utf8")).split("\n");
    rest = (lines.pop() ?? "").slice(0, LINE_BYTES_MAX);
    for (const line of lines) {
      const event = parseEvent(line);
      if (event !== undefined) onEvent(event);
    }
  };
}

function parseEvent(line: string): ZygoteEvent | undefined {
  let value: Readonly<Record<string, unknown>> | null;
  try {
    value = JSON.parse(line) as typeof value;
  } catch {
    return undefined;
  }
  if (value?.type === "warm") return { type: "warm" };
  if (value?.type === "unfit") return { type: "unfit", reason: String(value.reason).slice(0, 500) };
  if (value?.type !== "forked") return undefined;
  const { stdout, stderr, control, request, result, seal } = value;
  const all = [stdout, stderr, control, request, result, seal];
  const areDescriptors = all.every((each) => Number.isInteger(each) && (each as number) > 2 && (each as number) < 1e6);
  return areDescriptors
    ? { type: "forked", descriptors: { stdout, stderr, control, request, result, seal } as ForkDescriptors }
    : undefined;
}
