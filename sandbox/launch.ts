import { spawn } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { INSIDE, toBubblewrapArguments, toVariables } from "./bubblewrap.ts";
import { CONTROL_FD, INTERPRETER_FLAGS, type Prestarted } from "./bubblewrap-pool.ts";
import type { Cgroup } from "./cgroup.ts";
import type { PlacedInputs, User } from "./input-files.ts";
import { endProcess, followChild, type Launched } from "./launched.ts";
import type { NetworkSlot } from "./network/network.ts";
import { listChildren } from "./process-tree.ts";
import type { SandboxRequest, SandboxSettings } from "./request.ts";
import { RUNNER_PROGRAM } from "./runner-folder.ts";
import { createDirectReach } from "./users/reach.ts";

/** What an execution writes to on the host's disk. */
export interface ProgramFolders {
  readonly outputsDir: string;
  /** The disk of its scratch folders; undefined where they are in memory. */
  readonly scratchDir: string | undefined;
  /** Whether one of them is a disk that a waiting bubblewrap may not see: it has mounts of its own already. */
  readonly isMountedLate: boolean;
}

/** Lets a waiting bubblewrap go on: it makes the sandbox of this execution and starts the interpreter with the runner. */
export function launchInBubblewrap(
  prestarted: Prestarted,
  settings: SandboxSettings,
  request: SandboxRequest,
  inputs: PlacedInputs,
  { outputsDir, scratchDir }: ProgramFolders,
  slot?: NetworkSlot,
): Launched {
  const { child, cgroup, user } = prestarted;
  cgroup?.limit(request.limits, "new");
  prestarted.setOut(
    toBubblewrapArguments({
      runnerDir: settings.runnerDir,
      interpreterPaths: settings.interpreter.bindPaths,
      commitDir: request.commitDir,
      environmentDir: request.environmentDir,
      cpu: request.limits.cpu,
      outputsDir,
      inputs: inputs.mounts,
      hasFileInputs: hasFileInputs(request),
      scratchBytes: scratchDir === undefined ? request.limits.scratchBytes : request.limits.memoryBytes,
      scratchDir,
      resolvConf: slot?.resolvConf,
      hosts: slot?.hosts,
      hasNetworkNamespace: prestarted.hasNetworkNamespace,
    }),
  );
  return {
    // The death of process 1 of the pid namespace is the end of all in it.
    ...followChild(child, { listProcesses: () => listLine(child.pid), killRest: () => undefined }),
    path: "cold",
    exitOf: "sandbox",
    isReady: false,
    reach: user.reach,
    outputsDir,
    scratchDir,
    async release() {
      slot?.release(); // Its connections are ended by the death of what had them, and that came before.
      await cgroup?.remove();
      await user.reach.takeBack(outputsDir);
      user.release();
    },
    cgroup,
    paths: {
      workDir: INSIDE.work,
      commitDir: INSIDE.commit,
      environmentDir: request.environmentDir && INSIDE.environment,
    },
    rootDirOf: (pid) => `/proc/${pid}/root`,
    readConnections: slot?.readConnections,
  };
}

/** Starts the interpreter with the runner under process limits only: no other protection for the host. */
export async function launchUnprotected(
  settings: SandboxSettings,
  request: SandboxRequest,
  inputs: PlacedInputs,
  { user, cgroup }: { readonly user: User; readonly cgroup: Cgroup | undefined },
): Promise<Launched> {
  const workDir = join(request.spoolDir, "work");
  for (const { from, to } of inputs.mounts) {
    await mkdir(dirname(join(workDir, to)), { recursive: true });
    await symlink(from, join(workDir, to));
  }
  await mkdir(join(workDir, "inputs"), { recursive: true });
  // A link: in its own folder the program could put another one in place of `outputs`, which we would then collect.
  await symlink(join(request.spoolDir, "outputs"), join(workDir, "outputs"));
  const program = [...INTERPRETER_FLAGS, join(settings.runnerDir, RUNNER_PROGRAM), String(CONTROL_FD)];
  const child = spawn(settings.interpreter.path, program, {
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    env: toVariables({ ...settings, home: workDir, environmentDir: request.environmentDir }, request.limits.cpu),
    cwd: workDir,
    detached: true, // A process group of its own, which is what can be ended as a whole.
    uid: user.uid,
    gid: user.gid,
  });
  const failure = new Promise<Error>((resolve) => child.once("error", resolve));
  if (child.pid === undefined) {
    await cgroup?.remove();
    throw new Error(`${settings.interpreter.path} could not be started.`, { cause: await failure });
  }
  cgroup?.limit(request.limits, "new");
  // The runner starts nothing before it is asked to, so that everything it starts is in the cgroup too.
  await cgroup?.attach(child.pid);
  const killRest = () => {
    cgroup?.kill();
    if (child.pid !== undefined) endProcess(-child.pid);
  };
  return {
    ...followChild(child, { listProcesses: () => (child.pid === undefined ? [] : [child.pid]), killRest }),
    path: "cold",
    exitOf: "program",
    isReady: false,
    reach: createDirectReach(user),
    outputsDir: join(request.spoolDir, "outputs"),
    release: async () => cgroup?.remove(),
    cgroup,
    paths: { workDir, commitDir: request.commitDir, environmentDir: request.environmentDir },
    rootDirOf: undefined,
  };
}

/** Returns whether the commit declares inputs that are files, given or not. */
export function hasFileInputs({ kinds }: Pick<SandboxRequest, "kinds">): boolean {
  return Object.values(kinds).some((kind) => kind === "file" || kind === "file_list");
}

/** The bubblewraps outside, bubblewrap as process 1 of the sandbox, and the runner, which has no children yet. */
function listLine(outermost: number | undefined): number[] {
  const line: number[] = [];
  for (let pid = outermost; pid !== undefined; pid = listChildren(pid)[0]) line.push(pid);
  return line;
}
