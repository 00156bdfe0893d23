import { statfsSync } from "node:fs";
import type { DiskShare } from "./disk-room.ts";
import { type HiddenFiles, measureHidden } from "./hidden-files.ts";
import { createMemoryMeter, type MemoryMeter } from "./memory-meter.ts";
import type { OutputExcess, OutputLimits } from "./outputs.ts";
import { listTree, measureMemoryBytes, measureProcessorMs } from "./process-tree.ts";
import type { ProcessorMeter } from "./processor-meter.ts";
import { measureDisk } from "./run-disks.ts";
import type { Reach } from "./users/reach.ts";

/** Between two looks; what a program can do in that time is what these limits can be exceeded by. */
const LOOK_EVERY_MS = 100;
/** Files that were deleted while open, and memory where no cgroup counts it, are looked at every other time. */
const THOROUGH_EVERY = 2;
/** Each file takes kernel memory that no limit of bytes counts, and time to measure and to delete. */
const SCRATCH_FILES_MAX = 100_000;
/** What a file system takes beside the contents, for folders and places of blocks. Contents are counted to the byte at the end. */
const OVERHEAD_SHARE = 1 / 64;

export type Excess = OutputExcess | "memory" | "machine_memory" | "processor" | "scratch_files" | "disk";

export interface WatchedTree {
  readonly outputsDir: string;
  readonly reach: Pick<Reach, "measureOutputs" | "statDescriptors">;
  /** Nothing else is written to the file system of `outputsDir`: what is used of it, this execution has written. */
  readonly hasOwnDisk: boolean;
  /** The process above all others of the execution, as the host sees it. */
  readonly rootPid: number;
  /** The root of the sandbox's file system, for its scratch folders; undefined without one. */
  readonly rootDir: string | undefined;
  /** Those in memory. */
  readonly scratchDirs: readonly string[];
  /** The disk of the others, where there is one. */
  readonly scratchDisk?: string | undefined;
  readonly limits: OutputLimits;
  /** Undefined when a cgroup limits the memory. */
  readonly memoryBytesMax: number | undefined;
  /** How much the processes hold, when that is not the sum of what each holds. */
  readonly measureMemory: ((pids: readonly number[]) => Promise<number>) | undefined;
  /** Undefined when a cgroup limits the processor time. */
  readonly processor: { readonly meter: ProcessorMeter; readonly msMax: number } | undefined;
  /** Its part of the disk that outputs are on; without it nobody looks whether that is full. */
  readonly disk?: DiskShare | undefined;
}

/** What the processes hold and have used. */
export interface Use {
  /** Of the largest, and of files in memory: processes that share their memory would count it several times. */
  readonly memoryBytes: number;
  readonly processorMs: number;
}

/**
 * Looks at what no kernel limit bounds until stopped, and calls `onExcess` once. `onUse` gets what every thorough look saw: the
 * first comes after a fifth of a second.
 */
export function startWatchdog(
  tree: WatchedTree,
  onExcess: (excess: Excess) => void,
  onUse: (use: Use) => void,
): () => void {
  const usedBefore = tree.hasOwnDisk ? readUsedBytes(tree.outputsDir) : 0;
  let looks = 0;
  const { rootPid, rootDir, memoryBytesMax: bytesMax } = tree;
  const hasOwnNetwork = rootDir !== undefined;
  const memory = bytesMax === undefined ? undefined : createMemoryMeter({ rootPid, hasOwnNetwork, bytesMax });
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  /** As the last thorough look found them. */
  const hidden: Known = { bytes: 0, mayHide: false };

  const look = async () => {
    const thorough = ++looks % THOROUGH_EVERY === 0;
    const excess = await findExcess(tree, { thorough, usedBefore, hidden, memory, onUse });
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

type Known = { -readonly [Name in keyof HiddenFiles]: HiddenFiles[Name] };

interface Look {
  readonly thorough: boolean;
  readonly usedBefore: number;
  readonly hidden: Known;
  readonly memory: MemoryMeter | undefined;
  readonly onUse: (use: Use) => void;
}

async function findExcess(
  tree: WatchedTree,
  { thorough, usedBefore, hidden, memory, onUse }: Look,
): Promise<Excess | undefined> {
  const { outputBytesMax, outputFilesMax } = tree.limits;
  const seen = await tree.reach.measureOutputs(tree.outputsDir, tree.limits);
  if (seen.excess !== undefined) return seen.excess;
  if (seen.files > outputFilesMax) return "output_files";
  const pids = thorough ? listTree(tree.rootPid) : [];
  // What is used of a disk of its own is all that the program holds, with a name or without.
  if (tree.hasOwnDisk) hidden.bytes = Math.max(0, readUsedBytes(tree.outputsDir) - usedBefore - seen.bytes);
  else if (thorough) Object.assign(hidden, await measureHidden(pids, tree.outputsDir, tree.reach));
  const bytes = seen.bytes + hidden.bytes;
  if (bytes > outputBytesMax * (1 + OVERHEAD_SHARE)) return "output_bytes";
  const scratchBytes = tree.scratchDisk === undefined ? 0 : measureDisk(tree.scratchDisk);
  const held = { bytes: bytes + scratchBytes, scratchBytes, mayHide: hidden.mayHide };
  if (tree.disk?.note(held) === true) return "disk";
  if (!thorough) return undefined;

  const processorMs = tree.processor?.meter.look(pids) ?? measureProcessorMs(pids);
  const scratch = measureScratch(tree);
  const measured = await tree.measureMemory?.(pids);
  const each = measured === undefined ? pids.map((pid) => measureMemoryBytes([pid])) : [measured];
  const ownBytes = each.reduce((sum, bytes) => sum + bytes, 0);
  onUse({ memoryBytes: Math.max(0, ...each) + scratch.bytes, processorMs });
  if (tree.processor !== undefined && processorMs > tree.processor.msMax) return "processor";
  if (scratch.files > SCRATCH_FILES_MAX) return "scratch_files";
  return memory?.findExcess(scratch.bytes, ownBytes);
}

/** All that is written to a file system, with a name or without, also what waits in memory to be written. */
function readUsedBytes(dir: string): number {
  const { blocks, bfree, bsize } = statfsSync(dir);
  return (blocks - bfree) * bsize;
}

/** Measures what the scratch folders hold. tmpfs bounds their bytes, but not how many empty files are made. */
export function measureScratch({ rootDir, scratchDirs }: Pick<WatchedTree, "rootDir" | "scratchDirs">): {
  bytes: number;
  files: number;
} {
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

function statfsOrNothing(path: string) {
  try {
    return statfsSync(path);
  } catch {
    return undefined;
  }
}
