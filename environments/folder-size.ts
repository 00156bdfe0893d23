import { type Dirent, lstatSync, opendirSync } from "node:fs";
import { join } from "node:path";
import { createThreads, type Task, toTask } from "../system/threads/threads.ts";

/** Far above the seconds that the largest environment takes on a slow disk. */
const TIMEOUT_MS = 10 * 60_000;
const OWNER = "folders";

/** Hundreds of thousands of files take seconds, so that is never done on the event loop. One thread: they share a disk. */
const threads = createThreads({ threadsMax: 1 });

/** What a folder holds, counted over all levels. */
export interface FolderSize {
  readonly bytes: number;
  readonly entries: number;
}

export interface FolderLimits {
  readonly bytesMax: number;
  /** Files and folders. */
  readonly entriesMax: number;
}

/**
 * Returns the size of a folder that may be changing under us; what vanishes meanwhile counts as nothing. Stops where
 * `limits` are exceeded. Counts on a thread beside the event loop.
 */
export function measureFolder(path: string, limits?: FolderLimits): Promise<FolderSize> {
  return runOnFolder(MEASURE, { path, limits });
}

/** Runs what goes through all files of a folder beside the event loop. */
export function runOnFolder<Input, Output>(task: Task<Input, Output>, input: Input): Promise<Output> {
  return threads.run(task, input, { owner: OWNER, timeoutMs: TIMEOUT_MS });
}

/** Counts on the thread that it is called on. A path too long to be asked for is more than any limit. */
export function addUpFolder({ path, limits }: { path: string; limits?: FolderLimits | undefined }): FolderSize {
  const { bytesMax = Number.POSITIVE_INFINITY, entriesMax = Number.POSITIVE_INFINITY } = limits ?? {};
  const open = [path];
  let bytes = 0;
  let entries = 0;
  try {
    for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
      for (const entry of readEntries(folder)) {
        entries += 1;
        const inside = join(folder, entry.name);
        if (entry.isDirectory()) open.push(inside);
        else bytes += orNothing(() => lstatSync(inside).size) ?? 0;
        if (bytes > bytesMax || entries > entriesMax) return { bytes, entries };
      }
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENAMETOOLONG") throw error;
    return { bytes, entries: Number.POSITIVE_INFINITY };
  }
  return { bytes, entries };
}

/** Some at a time: the names of a folder with a million files would fill the thread's memory. */
function* readEntries(path: string): Generator<Dirent> {
  const folder = orNothing(() => opendirSync(path, { bufferSize: 1_000 }));
  if (folder === undefined) return;
  try {
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) yield entry;
  } finally {
    folder.closeSync();
  }
}

const NOT_THERE = new Set(["ENOENT", "ENOTDIR", "EACCES"]);

function orNothing<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (NOT_THERE.has((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

const MEASURE = toTask(import.meta.url, addUpFolder);
