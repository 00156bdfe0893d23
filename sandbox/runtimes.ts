import { type Interpreter, minorVersionOf } from "./interpreter.ts";
import type { Runtime } from "./request.ts";
import { prepareRunnerFolder, type RunnerFolderSources } from "./runner-folder.ts";

/** Runners for interpreters beside the standard one: bytecode is of one minor version. */
export interface Runtimes {
  /** Undefined for the standard interpreter, whose runtime is the sandbox's own. */
  prepare(interpreter: Interpreter): Promise<Runtime | undefined>;
}

/** Makes each runner folder when it is first asked for, beside that of the standard interpreter. */
export function createRuntimes(standard: Interpreter, sources: Omit<RunnerFolderSources, "interpreterPath">): Runtimes {
  const known = new Map<string, Promise<Runtime>>();

  async function make(interpreter: Interpreter): Promise<Runtime> {
    const runnerDir = `${sources.targetDir}-${minorVersionOf(interpreter)}`;
    await prepareRunnerFolder({ ...sources, targetDir: runnerDir, interpreterPath: interpreter.path });
    return { interpreter, runnerDir };
  }

  return {
    async prepare(interpreter) {
      if (interpreter.path === standard.path) return undefined;
      const runtime = known.get(interpreter.path) ?? make(interpreter);
      known.set(interpreter.path, runtime);
      runtime.catch(() => known.delete(interpreter.path)); // the next one tries again
      return runtime;
    },
  };
}
