import { chmodSync, existsSync, linkSync, mkdirSync, opendirSync, readdirSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { dirname, join, relative } from "node:path";
import type { RemoveTree } from "../../system/trees/remove-tree.ts";
import { INSIDE, type LaneFolders } from "../bubblewrap.ts";
import type { Cgroup } from "../cgroup.ts";
import type { PlacedInputs } from "../input-files.ts";
import { hasFileInputs } from "../launch.ts";
import { DEATH_TIMEOUT_MS, type Exit, endProcess, type Launched } from "../launched.ts";
import type { NetworkLink } from "../network/network.ts";
import { isRunning, waitForNamespaceEnd } from "../process-tree.ts";
import type { LaneRequest } from "../request.ts";
import type { RunDisk } from "../run-disks.ts";
import type { PipeEnd, Reach } from "../users/reach.ts";
import type { ForkProcesses } from "./guard.ts";
import type { ForkDescriptors } from "./zygote.ts";

const RESULT_BYTES_MAX = 32;
const SEALED = "sealed\n";
const CODE = /^sealed\n(\d+)\n/;

/** A fork that waits for its request: a sandbox of its own that has done nothing yet. */
export interface Fork {
  readonly processes: ForkProcesses;
  readonly folders: ForkFolders;
  readonly streams: ForkStreams;
  readonly result: ForkResult;
  readonly link: NetworkLink | undefined;
}

interface ForkStreams {
  readonly stdout: Socket;
  readonly stderr: Socket;
  readonly control: Socket;
  readonly request: Socket;
  readonly result: Socket;
}

/** What a fork mounts of the lane's folders: `outputs`, which only the sandbox's user may enter, and `inputs` where there are any. */
export interface ForkFolders {
  readonly outputs: string;
  readonly inputs: string | undefined;
}

/** The folders of a lane. Inputs stay on the disk of the storage, from where they are linked; outputs go to the lane's own disk, if it has one. */
export function makeLaneFolders(laneDir: string, request: LaneRequest, disk: RunDisk | undefined): LaneFolders {
  const [outputs, inputs] = [disk?.dir ?? join(laneDir, "outputs"), join(laneDir, "inputs")];
  mkdirSync(laneDir, { mode: 0o711 });
  if (disk === undefined) mkdirSync(outputs, { mode: 0o711 });
  if (!hasFileInputs(request)) return { outputs, inputs: undefined };
  mkdirSync(inputs, { mode: 0o711 });
  return { outputs, inputs };
}

/** New folders for the fork `number`. `runner/_treadle_fork.py` knows their names. */
export async function makeForkFolders(
  lane: LaneFolders,
  number: number,
  reach: Pick<Reach, "own">,
): Promise<ForkFolders> {
  const outputs = join(lane.outputs, String(number));
  mkdirSync(outputs, { mode: 0o700 });
  await reach.own(outputs);
  const inputs = lane.inputs && join(lane.inputs, String(number));
  if (inputs !== undefined) makeListable(inputs);
  return { outputs, inputs };
}

/** Whether the folders hold anything that is not expected there. Code of packages could write to them before a fork has its request. */
export function holdsStrangers({ outputs, inputs }: LaneFolders, expected: readonly string[]): boolean {
  return [outputs, inputs].some((folder) => folder !== undefined && hasOthers(folder, expected));
}

/** Returns whether there is nothing yet in the folders of a fork. */
export async function areEmpty({ outputs, inputs }: ForkFolders, reach: Pick<Reach, "isEmpty">): Promise<boolean> {
  return (await reach.isEmpty(outputs)) && (inputs === undefined || (await reach.isEmpty(inputs)));
}

/** Without reading more than one name too many: there may be a million. */
function hasOthers(folder: string, expected: readonly string[]): boolean {
  const entries = opendirSync(folder);
  try {
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
      if (!expected.includes(entry.name)) return true;
    }
    return false;
  } finally {
    entries.closeSync();
  }
}

/**
 * Opens the host's ends of a fork's pipes, and has its first process close itself to all other processes of the fork. To
 * be called when everything has been looked at. Throws when it does not have them.
 */
export async function openFork(
  processes: ForkProcesses,
  descriptors: ForkDescriptors,
  around: { readonly folders: ForkFolders; readonly reach: Reach; readonly link: NetworkLink | undefined },
): Promise<Fork> {
  const { folders, reach, link } = around;
  const { stdout, stderr, control, request, result } = descriptors;
  const ofUser = (descriptor: number, end: PipeEnd["end"] = "read") => ({ pid: processes.user, descriptor, end });
  const [out, err, said, status, line, seal] = await reach.openEnds([
    ofUser(stdout),
    ofUser(stderr),
    ofUser(control),
    ofUser(result),
    ofUser(request, "write"),
    { pid: processes.first, descriptor: descriptors.seal, end: "write" },
  ]);
  const streams = { stdout: out, stderr: err, control: said, result: status, request: line } as ForkStreams;
  for (const stream of [...Object.values(streams), seal] as Socket[]) stream.on("error", () => undefined); // Its result shows that.
  const fork = { processes, folders, streams, result: readResult(streams.result), link };
  seal?.end(".");
  await fork.result.sealed;
  for (const stream of Object.values(streams) as Socket[]) stream.unref();
  return fork;
}

/** Gives a waiting fork its inputs. The next message to it is its request. */
export async function launchFork(
  fork: Fork,
  inputs: PlacedInputs,
  around: {
    readonly cgroup: Cgroup | undefined;
    readonly environmentDir: string | null;
    readonly reach: Reach;
  },
): Promise<Omit<Launched, "release">> {
  const { processes, folders, streams } = fork;
  for (const { from, to } of inputs.mounts) await placeInput(from, join(folders.inputs ?? "", relative("inputs", to)));
  for (const stream of [streams.control, streams.result]) stream.ref();
  const oomKillsBefore = around.cgroup?.countOomKills() ?? 0;
  const { exit } = fork.result;
  let hasExited = false;
  void exit.then(() => (hasExited = true));
  return {
    path: "lane",
    exitOf: "sandbox",
    isReady: true,
    cgroup: around.cgroup && {
      boundsProcessor: around.cgroup.boundsProcessor,
      countOomKills: () => (around.cgroup?.countOomKills() ?? 0) - oomKillsBefore,
      holds: () => true, // The whole lane is in it.
      setShare: around.cgroup.setShare,
    },
    stdout: streams.stdout,
    stderr: streams.stderr,
    control: streams.control,
    sendRequest: (line) => void streams.request.end(line),
    hangUp: () => streams.request.destroy(),
    reach: around.reach,
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

/** A folder of ours that the sandbox's user can list, with any umask. */
function makeListable(folder: string): void {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
}

/** A hard link where the file system allows it. The fork sees the folder read-only. */
async function placeInput(from: string, to: string): Promise<void> {
  makeListable(dirname(to));
  try {
    linkSync(from, to);
  } catch {
    await copyFile(from, to);
  }
}

/** Makes the outputs of all forks of a lane ours. Every process of the lane must be dead. */
export async function takeBackForks({ outputs }: LaneFolders, reach: Pick<Reach, "takeBack">): Promise<void> {
  if (!existsSync(outputs)) return; // What failed to be cleared is tried again, and may have gone in part.
  for (const name of readdirSync(outputs)) await reach.takeBack(join(outputs, name));
}

/** Removes what is left of its outputs, and its inputs. Every process of the fork must be dead. */
export async function clearFork(
  { folders, streams }: Fork,
  { outputs, inputs, reach }: { readonly outputs: RemoveTree; readonly inputs: RemoveTree; readonly reach: Reach },
): Promise<void> {
  await reach.takeBack(folders.outputs);
  if (existsSync(folders.outputs)) await outputs(folders.outputs); // Most are moved as they are.
  if (folders.inputs !== undefined) await inputs(folders.inputs);
  for (const stream of Object.values(streams) as Socket[]) stream.destroy();
}

/** What process 1 says. Nothing about the end means that it was killed itself. */
interface ForkResult {
  /** Rejects when it ended before. */
  readonly sealed: Promise<void>;
  readonly exit: Promise<Exit>;
}

function readResult(stream: Socket): ForkResult {
  let text = "";
  let exit: (exit: Exit) => void = () => undefined;
  const sealed = new Promise<void>((resolve, reject) => {
    stream.on("data", (chunk: Buffer) => {
      text = (text + chunk.toString("latin1")).slice(0, RESULT_BYTES_MAX);
      if (text.startsWith(SEALED)) resolve();
      const code = CODE.exec(text)?.[1];
      if (code !== undefined) exit({ code: Number(code), signal: null, atMs: performance.now() });
    });
    stream.once("close", () => {
      reject(new Error("A lane's fork ended before it had anything to do."));
      exit({ code: null, signal: "SIGKILL", atMs: performance.now() });
    });
  });
  return { sealed, exit: new Promise((resolve) => (exit = resolve)) };
}
