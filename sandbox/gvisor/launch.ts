import { INSIDE } from "../bubblewrap.ts";
import { BUNDLE_FD, type Prestarted, toRunnerCommand } from "../bubblewrap-pool.ts";
import type { PlacedInputs } from "../input-files.ts";
import { hasFileInputs } from "../launch.ts";
import { followChild, type Launched } from "../launched.ts";
import { listChildren } from "../process-tree.ts";
import type { SandboxLimits, SandboxRequest, SandboxSettings } from "../request.ts";
import { toBoxArguments, toHostThreads } from "./box.ts";
import { toBundle } from "./bundle.ts";
import { measureGvisor } from "./memory.ts";

/** gVisor's own memory, which is counted with the program's: 60 MB for a program that does little, more for many files and processes. */
export const OVERHEAD_BYTES = 128 * 1024 * 1024;

/** Lets a waiting bubblewrap go on: it starts gVisor in it, and gVisor the interpreter with the runner. There is no network. */
export function launchInGvisor(
  prestarted: Prestarted,
  settings: SandboxSettings & { readonly gvisor: NonNullable<SandboxSettings["gvisor"]> },
  request: SandboxRequest,
  inputs: PlacedInputs,
  outputsDir: string,
): Launched {
  const { child, cgroup, user } = prestarted;
  const { limits, environmentDir } = request;
  const parts = {
    environmentDir,
    cpu: limits.cpu,
    hasFileInputs: hasFileInputs(request),
    scratchBytes: limits.scratchBytes,
  };
  cgroup?.limit({ ...toHostLimits(limits), cpu: limits.cpu }, "new");
  const folders = {
    ...parts,
    runnerDir: settings.runnerDir,
    interpreterPaths: settings.interpreter.bindPaths,
    commitDir: request.commitDir,
    outputsDir,
    inputs: inputs.mounts,
    resolvConf: undefined,
    hosts: undefined,
    hasNetworkNamespace: prestarted.hasNetworkNamespace,
  };
  const bundle = toBundle({ ...parts, command: toRunnerCommand(settings), processes: limits.processes });
  prestarted.setOut(
    toBoxArguments(folders, { runscPath: settings.gvisor.runscPath, bundle: BUNDLE_FD }),
    JSON.stringify(bundle),
  );
  return {
    ...followChild(child, { listProcesses: () => listOutside(child.pid), killRest: () => undefined }),
    path: "cold",
    exitOf: "sandbox",
    isReady: false,
    // Pipes of a program are gVisor's: the host has no descriptor that leads to them.
    reach: { ...user.reach, openEnds: () => Promise.reject(new Error("gVisor shares no pipes.")) },
    outputsDir,
    async release() {
      await cgroup?.remove();
      await user.reach.takeBack(outputsDir);
      user.release();
    },
    cgroup,
    measureMemory: async (pids) => {
      const { program, all } = await measureGvisor(pids, outputsDir, user.reach);
      return Math.max(program, all - OVERHEAD_BYTES);
    },
    paths: {
      workDir: INSIDE.work,
      commitDir: INSIDE.commit,
      environmentDir: environmentDir && INSIDE.environment,
    },
    rootDirOf: undefined,
  };
}

/** What the host allows gVisor and the program together. Processes of the program are gVisor's to count, threads of both the host's. */
function toHostLimits({ memoryBytes, processes }: SandboxLimits) {
  return { memoryBytes: memoryBytes + OVERHEAD_BYTES, processes: toHostThreads(processes) };
}

/**
 * The bubblewraps, and the shell that starts `runsc` and has more children than that. SIGTERM to the shell is one to the
 * program.
 */
function listOutside(outermost: number | undefined): number[] {
  const line: number[] = [];
  for (let next = outermost === undefined ? [] : [outermost]; next.length === 1; next = listChildren(next[0] as number))
    line.push(...next);
  return line;
}
