import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ExecutionId, isExecutionId } from "../domain/ids.ts";

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
}

/** Where outputs and log of executions wait on this host until storage has them. One folder an execution. */
export type Spool = ReturnType<typeof createSpool>;

export function createSpool(dir: string) {
  const folderOf = (executionId: ExecutionId): string => join(dir, executionId);
  const resultOf = (executionId: ExecutionId): string => join(folderOf(executionId), "result.json");
  return {
    logPathOf: (executionId: ExecutionId): string => join(folderOf(executionId), "log.ndjson"),

    /** An empty folder for an attempt; what an earlier attempt left is gone. */
    async open(executionId: ExecutionId): Promise<string> {
      const folder = folderOf(executionId);
      await rm(folder, { recursive: true, force: true });
      await mkdir(folder, { recursive: true, mode: 0o711 });
      return folder;
    },

    /** Written whole or not at all: its presence means the attempt's outputs are complete. */
    async writeResult(executionId: ExecutionId, result: SpooledResult): Promise<void> {
      const path = resultOf(executionId);
      await writeFile(`${path}.tmp`, JSON.stringify(result), { mode: 0o600 });
      await rename(`${path}.tmp`, path);
    },

    async readResult(executionId: ExecutionId): Promise<SpooledResult | undefined> {
      try {
        return JSON.parse(await readFile(resultOf(executionId), "utf8")) as SpooledResult;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },

    async remove(executionId: ExecutionId): Promise<void> {
      await rm(folderOf(executionId), { recursive: true, force: true });
    },

    /** Executions that still have a folder here. */
    async list(): Promise<ExecutionId[]> {
      return (await readdir(dir)).filter(isExecutionId);
    },
  };
}
