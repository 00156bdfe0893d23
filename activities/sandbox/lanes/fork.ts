import { chownSync, linkSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { dirname, join, relative } from "node:path";
import { INSIDE } from "../bubblewrap.ts";
import type { Cgroup } from "../cgroup.ts";
import type { PlacedInputs, User } from "../input-files.ts";
import { DEATH_TIMEOUT_MS, type Exit, endProcess, type Launched } from "../launched.ts";
import { isRunning, waitForNamespaceEnd } from "../process-tree.ts";
import { openEnds } from "../streams.ts";
import type { ForkProcesses } from "./guard.ts";
import type { ForkDescriptors } from "./zygote.ts";

const VERDICT_BYTES_MAX = 16;

/** A fork that waits for its request: a sandbox of its own that has done nothing yet. */
export interface Fork {
  readonly processes: ForkProcesses;
  readonly folders: ForkFolders;
  readonly streams: ForkStreams;
}

interface ForkStreams {
  readonly stdout: Socket;
  readonly stderr: Socket;
  readonly control: Socket;
  readonly request: Socket;
  readonly verdict: Socket;
}

/** What a fork mounts of the lane's folder: `outputs`, which only the sandbox's user may enter, and `inputs` where there are any. */
export interface ForkFolders {
  readonly outputs: string;
  readonly inputs: string | undefined;
}

/** New folders for the fork `number`. `runner/_treadle_fork.py` knows their names. */
export function makeForkFolders(laneDir: string, number: number, hasFiles: boolean, user: User): ForkFolders {
  const outputs = join(laneDir, `${number}-outputs`);
  mkdirSync(outputs, { mode: 0o700 });
  chownSync(outputs, user.uid, user.gid);
  const inputs = hasFiles ? join(laneDir, `${number}-inputs`) : undefined;
  if (inputs !== undefined) mkdirSync(inputs, { mode: 0o755 });
  return { outputs, inputs };
}

/** Opens the host's ends of a fork's pipes. Throws when it does not have them. */
export function openFork(processes: ForkProcesses, descriptors: ForkDescriptors, folders: ForkFolders): Fork {
  const { stdout, stderr, control, request, verdict } = descriptors;
  const [out, err, said, status] = openEnds(processes.user, [stdout, stderr, control, verdict], "read");
  const [line] = openEnds(processes.user, [request], "write");
  const streams = { stdout: out, stderr: err, control: said, verdict: status, request: line } as ForkStreams;
  for (const stream of Object.values(streams) as Socket[]) {
    stream.on("error", () => undefined); // It died; its verdict tells.
    stream.unref();
  }
  return { processes, folders, streams };
}

/** Gives a waiting fork its inputs. What it is told next is its request. */
export async function launchFork(
  fork: Fork,
  inputs: PlacedInputs,
  around: {
    readonly cgroup: Cgroup | undefined;
    readonly environmentDir: string | null;
  },
): Promise<Omit<Launched, "release">> {
  const { processes, folders, streams } = fork;
  for (const { from, to } of inputs.mounts) await placeInput(from, join(folders.inputs ?? "", relative("inputs", to)));
  for (const stream of [streams.control, streams.verdict]) stream.ref();
  const oomKillsBefore = around.cgroup?.countOomKills() ?? 0;
  const exit = readVerdict(streams.verdict);
  let hasExited = false;
  void exit.then(() => (hasExited = true));
  return {
    path: "lane",
    isReady: true,
    cgroup: around.cgroup && {
      countOomKills: () => (around.cgroup?.countOomKills() ?? 0) - oomKillsBefore,
      holds: () => true, // The whole lane is in it.
    },
    stdout: streams.stdout,
    stderr: streams.stderr,
    control: streams.control,
    sendRequest: (line) => void streams.request.end(line),
    hangUp: () => streams.request.destroy(),
    outputsDir: folders.outputs,
    paths: {
      workDir: INSIDE.work,
      commitDir: INSIDE.commit,
      environmentDir: around.environmentDir && INSIDE.environment,
    },
    rootDirOf: (pid) => `/proc/${pid}/root`,
    listProcesses: () => [processes.first, processes.user],
    waitForExit: () => exit,
    hasExited: () => hasExited,
    // With the first process of its pid namespace, all of them end.
    waitForDeath: async ([first]) => first && waitForNamespaceEnd(first, DEATH_TIMEOUT_MS),
    kill: (known) => known.filter(isRunning).forEach(({ pid }) => endProcess(pid)),
  };
}

/** A hard link where the file system allows it. The fork sees the folder read-only. */
async function placeInput(from: string, to: string): Promise<void> {
  mkdirSync(dirname(to), { recursive: true, mode: 0o755 });
  try {
    linkSync(from, to);
  } catch {
    await copyFile(from, to);
  }
}

/** Moves the outputs to where the cold path has them, and removes the inputs. Every process of the fork must be dead. */
export function clearFork({ folders, streams }: Fork, outputsDir: string | undefined): void {
  if (outputsDir === undefined) rmSync(folders.outputs, { recursive: true, force: true });
  else renameSync(folders.outputs, outputsDir);
  if (folders.inputs !== undefined) rmSync(folders.inputs, { recursive: true, force: true });
  for (const stream of Object.values(streams) as Socket[]) stream.destroy();
}

/** Process 1 writes how the user's process ended, and ends. Nothing written means that it was killed itself. */
function readVerdict(verdict: Socket): Promise<Exit> {
  return new Promise((resolve) => {
    let text = "";
    const decide = () => {
      const code = /^\d+\n/.test(text) ? Number.parseInt(text, 10) : null;
      resolve({ code, signal: code === null ? "SIGKILL" : null, atMs: performance.now() });
    };
    verdict.on("data", (chunk: Buffer) => {
      text = (text + chunk.toString("latin1")).slice(0, VERDICT_BYTES_MAX);
      if (text.includes("\n")) decide();
    });
    verdict.once("close", decide);
  });
}
