import { readdirSync, statfsSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { createMemoryMeter, type MemoryMeter } from "./memory-meter.ts";
import { measureOutputs, type OutputLimits } from "./outputs.ts";
import { listTree } from "./process-tree.ts";

/** Between two looks; what a program can do in that time is what these limits can be exceeded by. */
const LOOK_EVERY_MS = 100;
/** Files that were deleted while open, and memory where no cgroup counts it, are looked at every other time. */
const THOROUGH_EVERY = 2;
const SCRATCH_FILES_MAX = 100_000;
/** The service's own database lives on the spool's disk as likely as not. */
const FREE_DISK_BYTES_MIN = 256 * 1024 * 1024;

export type Excess = "memory" | "machine_memory" | "output_bytes" | "output_files" | "scratch_files" | "disk";

export interface WatchedTree {
  readonly outputsDir: string;
  /** Nothing else is written to the file system of `outputsDir`: what is used of it, this execution has written. */
  readonly hasOwnDisk: boolean;
  /** On the disk that is shared with the service. */
  readonly spoolDir: string;
  /** The process above all others of the execution, as the host sees it. */
  readonly rootPid: number;
  /** The root of the sandbox's file system, for its scratch folders; undefined without one. */
  readonly rootDir: string | undefined;
  readonly scratchDirs: readonly string[];
  readonly limits: OutputLimits;
  /** Undefined when a cgroup limits the memory. */
  readonly memoryBytesMax: number | undefined;
}

/** Looks at what no kernel limit bounds until stopped, and calls `onExcess` once. */
export function startWatchdog(tree: WatchedTree, onExcess: (excess: Excess) => void): () => void {
  const usedBefore = tree.hasOwnDisk ? readUsedBytes(tree.outputsDir) : 0;
  let looks = 0;
  const { rootPid, rootDir, memoryBytesMax: bytesMax } = tree;
  const hasOwnNetwork = rootDir !== undefined;
  const memory = bytesMax === undefined ? undefined : createMemoryMeter({ rootPid, hasOwnNetwork, bytesMax });
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const look = async () => {
    const thorough = ++looks % THOROUGH_EVERY === 0;
    const excess = await findExcess(tree, { thorough, usedBefore, memory });
    if (stopped) return;
    if (excess !== undefined) return onExcess(excess);
    timer = setTimeout(next, LOOK_EVERY_MS);
  };
  // A tree that ends while it is looked at gives errors of every kind; a look that failed is tried again.
  const next = () => void look().catch(() => (timer = stopped ? undefined : setTimeout(next, LOOK_EVERY_MS)));
  timer = setTimeout(next, LOOK_EVERY_MS);
  return () => {
    stopped = true;
    clearTimeout(timer);
    memory?.stop();
  };
}

async function findExcess(
  tree: WatchedTree,
  { thorough, usedBefore, memory }: { thorough: boolean; usedBefore: number; memory: MemoryMeter | undefined },
): Promise<Excess | undefined> {
  const seen = await measureOutputs(tree.outputsDir, tree.limits);
  if (seen.files > tree.limits.outputFilesMax) return "output_files";
  if (seen.bytes > tree.limits.outputBytesMax) return "output_bytes";
  if (tree.hasOwnDisk && readUsedBytes(tree.outputsDir) - usedBefore > tree.limits.outputBytesMax)
    return "output_bytes";
  const { bavail, bsize } = await statfs(tree.spoolDir);
  if (seen.bytes > FREE_DISK_BYTES_MIN / 4 && bavail * bsize < FREE_DISK_BYTES_MIN) return "disk";
  if (!thorough) return undefined;

  const pids = listTree(tree.rootPid);
  if (!tree.hasOwnDisk && seen.bytes + measureHidden(pids, tree.outputsDir) > tree.limits.outputBytesMax)
    return "output_bytes";
  const scratch = measureScratch(tree);
  if (scratch.files > SCRATCH_FILES_MAX) return "scratch_files";
  return memory?.findExcess(pids, scratch.bytes);
}

/** All that is written to a file system, with a name or without, also what waits in memory to be written. */
function readUsedBytes(dir: string): number {
  const { blocks, bfree, bsize } = statfsSync(dir);
  return (blocks - bfree) * bsize;
}

/** Bytes of files on the outputs' disk that have no name any more and live on in somebody's descriptors. */
function measureHidden(pids: readonly number[], outputsDir: string): number {
  const device = statSync(outputsDir).dev;
  const counted = new Map<number, number>();
  for (const pid of pids) {
    for (const descriptor of readdirOrNothing(`/proc/${pid}/fd`)) {
      const stats = statOrNothing(`/proc/${pid}/fd/${descriptor}`);
      if (stats?.isFile() && stats.nlink === 0 && stats.dev === device) counted.set(stats.ino, stats.blocks * 512);
    }
  }
  return [...counted.values()].reduce((total, bytes) => total + bytes, 0);
}

/** What the scratch folders hold. tmpfs bounds their bytes, but not how many empty files are made. */
function measureScratch({ rootDir, scratchDirs }: WatchedTree): { bytes: number; files: number } {
  let bytes = 0;
  let files = 0;
  if (rootDir === undefined) return { bytes, files };
  for (const folder of scratchDirs) {
    const stats = statfsOrNothing(rootDir + folder);
    if (stats === undefined) continue;
    bytes += (stats.blocks - stats.bfree) * stats.bsize;
    files += stats.files - stats.ffree;
  }
  return { bytes, files };
}

function readdirOrNothing(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function statfsOrNothing(path: string) {
  try {
    return statfsSync(path);
  } catch {
    return undefined;
  }
}

function statOrNothing(path: string) {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
