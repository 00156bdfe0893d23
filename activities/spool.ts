import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { PythonOutcome } from "../domain/execution.ts";
import { type ExecutionId, isExecutionId } from "../domain/ids.ts";
import { ignoreMissing } from "../system/ignore-missing.ts";
import { type RemoveTree, removeFew, removeTree } from "../system/trees/remove-tree.ts";

/** One output of an execution as it waits in the spool. */
export interface SpooledOutput {
  readonly name: string;
  readonly fileName: string;
  readonly path: string;
  readonly bytes: number;
  /** Set where it is small enough to wait in the result: then there is no file at `path`. */
  readonly content?: Buffer | undefined;
}

export interface SpooledResult {
  readonly outputs: readonly SpooledOutput[];
  /** Undefined when the program wrote nothing, or little. */
  readonly logPath: string | undefined;
  /** All of it, where it is short enough to wait in the result. */
  readonly logText?: string | undefined;
  readonly logBytes: number;
  /** Whose outputs they are. Undefined in a result that an earlier version wrote. */
  readonly attempt?: number;
  /** How many attempts before it lost their outputs with their host. */
  readonly outputsLost?: number;
  /** How the program ended, by itself. It counts where the process dies before the record has it. */
  readonly outcome?: PythonOutcome | undefined;
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
  const readResult = (executionId: ExecutionId): SpooledResult | undefined => {
    try {
      return fromText(readFileSync(resultOf(executionId), "utf8"));
    } catch (error) {
      // The machine lost its power before the disk had all of it.
      return error instanceof SyntaxError ? undefined : ignoreMissing(error as NodeJS.ErrnoException);
    }
  };
  return {
    logPathOf,

    /** Returns what there is of a log, from a byte on and so many bytes at most; undefined where nothing was written. */
    async readLog(
      executionId: ExecutionId,
      start = 0,
      bytesMax = Number.POSITIVE_INFINITY,
    ): Promise<Readable | undefined> {
      const file = await open(logPathOf(executionId)).catch(ignoreMissing);
      if (file !== undefined) return file.createReadStream({ start, end: start + bytesMax - 1 });
      const log = readResult(executionId)?.logText;
      return log === undefined ? undefined : Readable.from([Buffer.from(log).subarray(start, start + bytesMax)]);
    },

    /** Returns whether there is anything of a log. */
    hasLog: (executionId: ExecutionId): boolean =>
      existsSync(logPathOf(executionId)) || readResult(executionId)?.logText !== undefined,

    /** Returns a folder for an attempt. Of an earlier attempt only the log is still there, which this one goes on with. */
    async open(executionId: ExecutionId): Promise<string> {
      const folder = folderOf(executionId);
      if (mkdirSync(folder, { recursive: true, mode: FOLDER_MODE }) !== undefined) return folder;
      const log = existsSync(logPathOf(executionId)) ? undefined : readResult(executionId)?.logText;
      if (log !== undefined) writeAtOnce(logPathOf(executionId), log);
      for (const name of await readdir(folder)) if (name !== LOG_FILE) await remove(join(folder, name));
      const left = (await readdir(folder)).filter((name) => name !== LOG_FILE);
      if (left.length > 0) throw new Error(`${folder} holds files of an earlier attempt, which must not be found.`);
      return folder;
    },

    /** Returns whether an attempt before this one filled the disk until the service went down with it. */
    hasFilledDisk: (executionId: ExecutionId): boolean => existsSync(join(folderOf(executionId), FILLED_DISK_FILE)),

    /** Written whole or not at all: its presence means the attempt's outputs are complete. */
    async writeResult(executionId: ExecutionId, result: SpooledResult): Promise<void> {
      writeAtOnce(resultOf(executionId), toText(result));
    },

    readResult: async (executionId: ExecutionId): Promise<SpooledResult | undefined> => readResult(executionId),

    /**
     * Returns the attempt whose program ended here, and how; undefined where an output is missing, or has not all its bytes. That is so
     * when the machine lost its power before the disk had them.
     */
    findEnd(executionId: ExecutionId): { readonly attempt: number; readonly outcome: PythonOutcome } | undefined {
      const { attempt, outcome, outputs } = readResult(executionId) ?? { outputs: [] };
      if (attempt === undefined || outcome === undefined) return undefined;
      const isWhole = ({ content, path, bytes }: SpooledOutput): boolean =>
        content !== undefined || lstatSync(path, { throwIfNoEntry: false })?.size === bytes;
      return outputs.every(isWhole) ? { attempt, outcome } : undefined;
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

/** Writes a file whole or not at all, also when this process is killed meanwhile. */
function writeAtOnce(path: string, text: string): void {
  writeFileSync(`${path}.tmp`, text, { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}

function toText({ outputs, ...result }: SpooledResult): string {
  const asTexts = outputs.map(({ content, ...output }) => ({ ...output, content: content?.toString("base64") }));
  return JSON.stringify({ ...result, outputs: asTexts });
}

function fromText(text: string): SpooledResult {
  const { outputs, ...result } = JSON.parse(text) as Omit<SpooledResult, "outputs"> & {
    readonly outputs: readonly (Omit<SpooledOutput, "content"> & { readonly content?: string })[];
  };
  const asBytes = outputs.map(({ content, ...output }) =>
    content === undefined ? output : { ...output, content: Buffer.from(content, "base64") },
  );
  return { ...result, outputs: asBytes };
}
