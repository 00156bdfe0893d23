import { existsSync, mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { type ExecutionId, isExecutionId } from "../domain/ids.ts";
import { type RemoveTree, removeFew, removeTree } from "../system/trees/remove-tree.ts";

/** One output of an execution as it waits in the spool. */
export interface SpooledOutput {
  readonly name: string;
  readonly fileName: string;
  readonly path: string;
  readonly bytes: number;
}

export interface SpooledResult {
  readonly outputs: readonly SpooledOutput[];
  /** Undefined when the program wrote nothing. */
  readonly logPath: string | undefined;
  readonly logBytes: number;
  /** Whose outputs they are. Undefined in a result that an earlier version wrote. */
  readonly attempt?: number;
  /** How many attempts before it lost their outputs with their host. */
  readonly outputsLost?: number;
}

/**
 * Where outputs and log of executions wait on this host until storage has them. One folder an execution. Small file
 * operations for each execution are synchronous on purpose: a round trip to another thread takes many times as long as
 * the call. Large deletions stay asynchronous.
 */
export type Spool = ReturnType<typeof createSpool>;

const LOG_FILE = "log.ndjson";
/** Where the sandbox leaves what a program wrote. */
const OUTPUTS = "outputs";
export const RESULT_FILE = "result.json";
/** In the folder of an execution whose outputs filled the disk, and whose end nobody could record. */
export const FILLED_DISK_FILE = "filled-disk";

/** The sandbox's user passes through, and nobody lists it. */
const FOLDER_MODE = 0o711;

export function createSpool(dir: string, remove: RemoveTree = removeTree) {
  const folderOf = (executionId: ExecutionId): string => join(dir, executionId);
  const resultOf = (executionId: ExecutionId): string => join(folderOf(executionId), RESULT_FILE);
  const logPathOf = (executionId: ExecutionId): string => join(folderOf(executionId), LOG_FILE);
  return {
    logPathOf,

    /** Returns what there is of a log, from a byte on and so many bytes at most; undefined where nothing was written. */
    readLog: async (executionId: ExecutionId, start = 0, bytesMax?: number): Promise<Readable | undefined> => {
      try {
        const end = bytesMax === undefined ? Number.POSITIVE_INFINITY : start + bytesMax - 1;
        return (await open(logPathOf(executionId))).createReadStream({ start, end });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },

    /** Returns a folder for an attempt. Of an earlier attempt only the log is still there, which this one goes on with. */
    async open(executionId: ExecutionId): Promise<string> {
      const folder = folderOf(executionId);
      if (mkdirSync(folder, { recursive: true, mode: FOLDER_MODE }) !== undefined) return folder;
      for (const name of await readdir(folder)) if (name !== LOG_FILE) await remove(join(folder, name));
      const left = (await readdir(folder)).filter((name) => name !== LOG_FILE);
      if (left.length > 0) throw new Error(`${folder} holds files of an earlier attempt, which must not be found.`);
      return folder;
    },

    /** Returns whether an attempt before this one filled the disk until the service went down with it. */
    hasFilledDisk: (executionId: ExecutionId): boolean => existsSync(join(folderOf(executionId), FILLED_DISK_FILE)),

    /** Written whole or not at all: its presence means the attempt's outputs are complete. */
    async writeResult(executionId: ExecutionId, result: SpooledResult): Promise<void> {
      const path = resultOf(executionId);
      writeFileSync(`${path}.tmp`, JSON.stringify(result), { mode: 0o600 });
      renameSync(`${path}.tmp`, path);
    },

    async readResult(executionId: ExecutionId): Promise<SpooledResult | undefined> {
      try {
        return JSON.parse(readFileSync(resultOf(executionId), "utf8")) as SpooledResult;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },

    async remove(executionId: ExecutionId): Promise<void> {
      const folder = folderOf(executionId);
      try {
        // First: it says that all outputs are there.
        unlinkSync(resultOf(executionId));
        // That is all of most executions. `remove` takes some thirty trips to the thread pool, and one to the helper of sandboxes' users.
        if (removeFew(join(folder, OUTPUTS)) && removeFew(folder)) return;
      } catch {
        // It was never written, or went before.
      }
      await remove(folder);
    },

    /** Executions that still have a folder here. */
    async list(): Promise<ExecutionId[]> {
      return (await readdir(dir)).filter(isExecutionId);
    },
  };
}
