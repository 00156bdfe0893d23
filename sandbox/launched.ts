import type { ChildProcess } from "node:child_process";
import type { Duplex, Readable } from "node:stream";
import type { Cgroup } from "./cgroup.ts";
import type { Metered } from "./network/network.ts";
import { isRunning, type KnownProcess, listTree, waitForDeath } from "./process-tree.ts";
import type { Reach } from "./users/reach.ts";

/**
 * Killed processes end in milliseconds. Freeing gigabytes, or a disk that stands still, takes seconds. That counts as work of
 * their cgroup. Processes that held 240,000 watches of the kernel took more than 10 s where 60 others wanted two processors.
 * An attempt that is given up is free, so nobody should bring that about.
 */
export const DEATH_TIMEOUT_MS = 60_000;

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** By `performance.now()`. */
  readonly atMs: number;
}

/** A sandbox whose runner is starting, or is ready. */
export interface Launched {
  readonly path: "cold" | "lane";
  /** Undefined when nothing but the runner limits its memory. */
  readonly cgroup: Pick<Cgroup, "countOomKills" | "holds" | "boundsProcessor" | "setShare"> | undefined;
  /** The user's own, when the runner is ready already; else what is said before it is. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** What the runner says. */
  readonly control: Readable;
  /** Gives the runner its request: one line. */
  sendRequest(line: string): void;
  /** A runner that has no request yet ends then, and everything around it. */
  hangUp(): void;
  /** The runner waits for its request: no event will announce it. */
  readonly isReady: boolean;
  /** Measures the memory of its processes, where neither its cgroup nor their sum shows what the program holds. */
  readonly measureMemory?: (pids: readonly number[]) => Promise<number>;
  /** What it connected to, where it has a network. To be asked before its release. */
  readonly readConnections?: Metered["readConnections"] | undefined;
  /** What may be done with its processes and files from outside. */
  readonly reach: Reach;
  /** Where outputs grow, on the host. */
  readonly outputsDir: string;
  /** The disk of its working folder and `/tmp`, on the host; undefined where they are in memory. */
  readonly scratchDir?: string | undefined;
  /** Set when nothing else is written to the file system of `outputsDir`. */
  readonly hasOwnDisk?: boolean;
  /** Paths as the runner sees them. */
  readonly paths: { readonly workDir: string; readonly commitDir: string; readonly environmentDir: string | null };
  /** The root of the sandbox's file system as the host reaches it, given the pid of a process inside. */
  readonly rootDirOf: ((pid: number) => string) | undefined;
  /** The processes that must be gone before the execution is over, outermost first, and the runner itself last. */
  listProcesses(): number[];
  /** Whose end `waitForExit` returns: the sandbox's, which no program can bring about by a signal, or the program's own. */
  readonly exitOf: "sandbox" | "program";
  /** Rejects when it never started. */
  waitForExit(): Promise<Exit>;
  hasExited(): boolean;
  /** Ends everything of it. `known` are its processes, as far as they are known. */
  kill(known: readonly KnownProcess[]): void;
  /** Resolves when nothing of it runs any more. Throws when it could not be ended. */
  waitForDeath(known: readonly KnownProcess[]): Promise<void>;
  /**
   * Gives back its parts, once all of it is dead and its outputs were taken out of `outputsDir`; what is left there
   * goes. `isWell` is false when something went wrong that is not the user's.
   */
  release(isWell: boolean): Promise<void>;
}

/** What supervision needs of a sandbox that is a child of ours. `killRest` ends what the death of the outermost process does not. */
export function followChild(
  child: ChildProcess,
  { listProcesses, killRest }: { listProcesses: () => number[]; killRest: () => void },
): Pick<
  Launched,
  | "stdout"
  | "stderr"
  | "control"
  | "sendRequest"
  | "hangUp"
  | "listProcesses"
  | "waitForExit"
  | "hasExited"
  | "kill"
  | "waitForDeath"
> {
  const [, stdout, stderr] = child.stdio;
  const control = child.stdio[3] as Duplex;
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  return {
    stdout: stdout as Readable,
    stderr: stderr as Readable,
    control,
    sendRequest: (line) => void control.write(line),
    hangUp: () => control.destroy(),
    listProcesses,
    hasExited,
    waitForExit: () =>
      new Promise((resolve, reject) => {
        const onExit = (code: number | null, signal: NodeJS.Signals | null) =>
          resolve({ code, signal, atMs: performance.now() });
        if (hasExited()) onExit(child.exitCode, child.signalCode);
        child.once("exit", onExit);
        child.once("error", (error) =>
          reject(new Error("The sandbox's program could not be started.", { cause: error })),
        );
      }),
    kill(known) {
      // The outermost process is halted first, so that it cannot start what we have not seen.
      const alive = !hasExited();
      if (alive) child.kill("SIGSTOP");
      const seen = known.length > 0 || !alive ? known.filter(isRunning).map(({ pid }) => pid) : listProcesses();
      if (alive) child.kill("SIGKILL");
      for (const pid of seen) endProcess(pid);
      killRest();
    },
    waitForDeath: (known) => waitForDeath(known, DEATH_TIMEOUT_MS),
  };
}

/**
 * Ends a process and everything below it. bubblewrap's own option for that (`--die-with-parent`) is not enough. Its
 * second process waits for a message of the first before it takes the option over. It waits for ever when the first is
 * killed before that.
 */
export function endTree(root: ChildProcess): void {
  if (root.pid === undefined || !root.kill("SIGSTOP")) return;
  for (const pid of listTree(root.pid)) endProcess(pid);
}

/** SIGKILL; a process that is gone already is fine. */
export function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}
