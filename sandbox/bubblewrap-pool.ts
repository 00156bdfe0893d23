import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { withTimeout } from "../system/with-timeout.ts";
import { INSIDE } from "./bubblewrap.ts";
import { type Cgroup, createCgroup } from "./cgroup.ts";
import type { CgroupFolders } from "./cgroup-folders.ts";
import { toBoxCommand } from "./gvisor/box.ts";
import type { NetworkSlot } from "./network/network.ts";
import type { Runtime, SandboxSettings } from "./request.ts";
import { RUNNER_PROGRAM } from "./runner-folder.ts";
import { architectureOf, buildSeccompFilter } from "./seccomp.ts";
import { behindGate, openGate, type SandboxUser } from "./users/sandbox-user.ts";

export const CONTROL_FD = 3;
const ARGUMENTS_FD = 4;
const FILTER_FD = 5;
/** gVisor has a filter of its own, and needs to know what to run. */
export const BUNDLE_FD = FILTER_FD;
/** The first bubblewrap's arguments come by descriptor too, so that it starts nothing before it is in its cgroup. */
const STAGE_ARGUMENTS_FD = 6;
const GATE_FD = 7;
/** No user site, no environment variables, no `site`, no bytecode files: the runner does what is needed of it. */
export const INTERPRETER_FLAGS = ["-I", "-S", "-B"];
/** Two, so that the next execution need not wait for the spare of the one before. */
const SPARES = 2;
/** Refilling at once would take the processor from the execution that just left. */
const REFILL_AFTER_MS = 30;

/**
 * A first bubblewrap, which only makes the empty network namespace that the second one then keeps. The kernel makes
 * those while it clears away no other. In line with an execution it costs 4 ms, and 30 when one has just ended.
 */
const NETWORK_STAGE = ["--unshare-user", "--unshare-net", "--die-with-parent", "--dev-bind", "/", "/"];
const TRIAL = [
  "--unshare-all",
  "--share-net",
  "--unshare-user",
  "--disable-userns",
  "--ro-bind",
  "/",
  "/",
  "--proc",
  "/proc",
  "--dev",
  "/dev",
];
const TRIAL_TIMEOUT_MS = 10_000;
const DISCARD_TIMEOUT_MS = 2_000;

/** A bubblewrap process that waits for its arguments, in the cgroup of the one execution it will be used for. */
export interface Prestarted {
  readonly child: ChildProcess;
  readonly cgroup: Cgroup | undefined;
  readonly user: SandboxUser;
  /** Whether it is in an empty network namespace of its own already, so that its sandbox must not make one. */
  readonly hasNetworkNamespace: boolean;
  /** Hands over the arguments, and what they expect in `BUNDLE_FD`; from here on it is an execution like any other. */
  setOut(args: readonly string[], bundle?: string): void;
}

export interface BubblewrapPool {
  take(): Promise<Prestarted>;
  /** One that nobody kept ready: for another interpreter, or in a network of its own. */
  start(runtime: Runtime, slot?: NetworkSlot): Promise<Prestarted>;
  /** Ends the spares. Nothing can be taken any more. */
  close(): Promise<void>;
}

/**
 * Keeps a few bubblewrap processes started ahead. They have done nothing yet and know nothing of any execution, so each
 * sandbox is as fresh as ever. That saves the start of a process and the move into a cgroup (5 to 15 ms). They neither
 * keep the event loop alive nor outlive it: without us their arguments end, and they exit.
 */
export function createBubblewrapPool(
  settings: SandboxSettings,
  { cgroups, takeUser }: { readonly cgroups: CgroupFolders | undefined; readonly takeUser: () => SandboxUser },
): BubblewrapPool {
  const spares: Promise<Prestarted>[] = [];
  let refill: NodeJS.Timeout | undefined;
  let closed = false;
  const staged = canStage(settings);
  const startSpare = async () =>
    startAhead(settings, { cgroups, user: takeUser(), network: (await staged) ? "empty" : "later" });

  const fill = () => {
    while (!closed && spares.length < (settings.spares ?? SPARES)) {
      const spare = startSpare();
      spare.catch(() => undefined); // The call that takes it gets the error.
      spares.push(spare);
    }
  };
  return {
    async take() {
      if (closed) throw new Error("The sandbox is closed.");
      clearTimeout(refill);
      refill = setTimeout(fill, REFILL_AFTER_MS).unref();
      let prestarted = await (spares.shift() ?? startSpare());
      while (!isAlive(prestarted.child)) {
        await prestarted.cgroup?.remove().catch(() => undefined); // Swept at the next start; the execution needs another one.
        prestarted = await (spares.shift() ?? startSpare());
      }
      keepAlive(prestarted.child, true);
      return prestarted;
    },
    async start(runtime, slot) {
      const network = slot ?? ((await staged) ? "empty" : "later");
      const prestarted = await startAhead({ ...settings, ...runtime }, { cgroups, user: takeUser(), network });
      keepAlive(prestarted.child, true);
      return prestarted;
    },
    async close() {
      closed = true;
      clearTimeout(refill);
      for (const spare of await Promise.allSettled(spares)) {
        if (spare.status === "fulfilled") await discard(spare.value);
      }
    },
  };
}

/**
 * Ends a waiting process that will not be used after all. Its descriptors are closed rather than its processes killed.
 * Without arguments to read it has nothing to run and exits, also when it was only just being made.
 */
export async function discard({ child, cgroup, user }: Prestarted): Promise<void> {
  if (isAlive(child)) {
    keepAlive(child, true);
    const exit = once(child, "exit");
    for (const stream of child.stdio) stream?.destroy();
    await withTimeout(exit, DISCARD_TIMEOUT_MS, () => void child.kill("SIGKILL"));
    await exit;
  }
  await cgroup?.remove();
  user.release();
}

function isAlive(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

let startedBefore = 0;

/** Its network namespace: one that is there already, an empty one made now, or one that the sandbox makes itself. */
type PrestartedNetwork = NetworkSlot | "empty" | "later";

async function startAhead(
  settings: SandboxSettings,
  around: {
    readonly cgroups: CgroupFolders | undefined;
    readonly user: SandboxUser;
    readonly network: PrestartedNetwork;
  },
): Promise<Prestarted> {
  const { cgroups, user, network } = around;
  const before = await user.enter(typeof network === "object" ? network : undefined);
  const cgroup = cgroups && createCgroup(cgroups, `treadle-${process.pid}-${++startedBefore}`);
  const child = start(settings, { before, needsGate: user.needsGate, isStaged: network === "empty" });
  const failure = new Promise<Error>((resolve) => child.once("error", resolve));
  if (child.pid === undefined) {
    await cgroup?.remove();
    user.release();
    throw new Error(`${settings.bwrapPath} could not be started.`, { cause: await failure });
  }
  await cgroup?.attach(child.pid);
  const stages = child.stdio as readonly (Readable | Writable | null | undefined)[];
  if (user.needsGate) openGate(stages[GATE_FD]);
  if (settings.gvisor === undefined) {
    const filter = buildSeccompFilter(architectureOf(process.arch), { countsMemory: cgroup !== undefined });
    writeFilter(stages[FILTER_FD], filter);
  }
  if (network === "empty") writeArguments(stages[STAGE_ARGUMENTS_FD], NETWORK_STAGE);
  keepAlive(child, false);
  return {
    child,
    cgroup,
    user,
    hasNetworkNamespace: network !== "later",
    setOut(args, bundle) {
      writeArguments(stages[ARGUMENTS_FD], args);
      if (bundle !== undefined) writeFilter(stages[BUNDLE_FD], Buffer.from(bundle));
    },
  };
}

function start(
  settings: SandboxSettings,
  how: { readonly before: readonly string[]; readonly needsGate: boolean; readonly isStaged: boolean },
): ChildProcess {
  const { before, needsGate, isStaged } = how;
  const filtered = ["--seccomp", String(FILTER_FD), "--", ...toRunnerCommand(settings)];
  const inside = settings.gvisor === undefined ? filtered : ["--", ...toBoxCommand(settings.limits.processes)];
  const command = ["--args", String(ARGUMENTS_FD), ...inside];
  const stage = isStaged ? [settings.bwrapPath, "--args", String(STAGE_ARGUMENTS_FD), "--"] : [];
  const line = [...before, ...stage, settings.bwrapPath, ...command];
  const [path = "", ...args] = needsGate ? behindGate(GATE_FD, line) : line;
  const wants = (isWanted: boolean) => (isWanted ? "pipe" : "ignore");
  const stdio = ["ignore", "pipe", "pipe", "pipe", "pipe", "pipe", wants(isStaged), wants(needsGate)] as const;
  // A Ctrl-C in the terminal is for the service alone, which gives programs some seconds to end by themselves.
  return spawn(path, args, { stdio: [...stdio], env: {}, cwd: "/", detached: true, ...settings.runAs });
}

/** The interpreter with the runner, as it is started inside of a sandbox. */
export function toRunnerCommand({ interpreter }: Pick<SandboxSettings, "interpreter">): string[] {
  return [interpreter.path, ...INTERPRETER_FLAGS, `${INSIDE.runner}/${RUNNER_PROGRAM}`, String(CONTROL_FD)];
}

/** Whether bubblewrap works inside bubblewrap: not under every AppArmor profile (Ubuntu 24.04's own forbids it). */
function canStage({ bwrapPath, runAs }: SandboxSettings): Promise<boolean> {
  const options = { env: {}, cwd: "/", timeout: TRIAL_TIMEOUT_MS, ...runAs };
  const command = [...NETWORK_STAGE, "--", bwrapPath, ...TRIAL, "--", "/usr/bin/env", "true"];
  return new Promise((resolve) => execFile(bwrapPath, command, options, (error) => resolve(error === null)));
}

/** By descriptor: no sandbox has the file to take a lease on, which would stop the next one to be made. */
export function writeFilter(stream: Readable | Writable | null | undefined, filter: Buffer): void {
  const pipe = stream as Writable;
  pipe.on("error", () => undefined); // It died; its exit shows that.
  pipe.end(filter);
}

function writeArguments(stream: Readable | Writable | null | undefined, args: readonly string[]): void {
  const pipe = stream as Writable;
  pipe.on("error", () => undefined); // It died; its exit shows that.
  pipe.end(args.map((argument) => `${argument}\0`).join(""));
}

function keepAlive(child: ChildProcess, wanted: boolean): void {
  if (wanted) child.ref();
  else child.unref();
  for (const stream of child.stdio) {
    if (!stream || !("unref" in stream)) continue;
    if (wanted) (stream as Socket).ref();
    else (stream as Socket).unref();
  }
}
