import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Duplex, Readable } from "node:stream";
import { INSIDE, toBubblewrapArguments, toVariables } from "./bubblewrap.ts";
import type { Cgroup } from "./cgroup.ts";
import type { PlacedInputs, User } from "./input-files.ts";
import { CONTROL_FD, INTERPRETER_FLAGS, type Parked } from "./parking.ts";
import { listChildren } from "./process-tree.ts";
import type { SandboxRequest, SandboxSettings } from "./request.ts";
import { RUNNER_PROGRAM } from "./runner-folder.ts";

/** A sandbox whose runner is starting. */
export interface Launched {
  readonly child: ChildProcess;
  readonly cgroup: Cgroup | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly control: Duplex;
  /** Paths as the runner sees them. */
  readonly paths: { readonly workDir: string; readonly commitDir: string; readonly environmentDir: string | null };
  /** The root of the sandbox's file system as the host reaches it, given the pid of a process inside. */
  readonly rootDirOf: ((pid: number) => string) | undefined;
  /** The processes that must be gone before the execution is over, outermost first, and the runner itself last. */
  listProcesses(): number[];
}

/** Lets a parked bubblewrap go on: it makes the sandbox of this execution and starts the interpreter with the runner. */
export function launchInBubblewrap(
  parked: Parked,
  settings: SandboxSettings,
  request: SandboxRequest,
  inputs: PlacedInputs,
): Launched {
  const { child, cgroup } = parked;
  cgroup?.limit(request.limits);
  parked.setOut(
    toBubblewrapArguments({
      runnerDir: settings.runnerDir,
      interpreterPaths: settings.interpreter.bindPaths,
      commitDir: request.commitDir,
      environmentDir: request.environmentDir,
      outputsDir: join(request.spoolDir, "outputs"),
      inputs: inputs.mounts,
      scratchBytes: request.limits.scratchBytes,
      hasNetworkNamespace: parked.hasNetworkNamespace,
    }),
  );
  return {
    ...toStreams(child),
    cgroup,
    paths: {
      workDir: INSIDE.work,
      commitDir: INSIDE.commit,
      environmentDir: request.environmentDir && INSIDE.environment,
    },
    rootDirOf: (pid) => `/proc/${pid}/root`,
    listProcesses: () => listLine(child.pid),
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
  await symlink(join(request.spoolDir, "outputs"), join(workDir, "outputs"));
  const program = [...INTERPRETER_FLAGS, join(settings.runnerDir, RUNNER_PROGRAM), String(CONTROL_FD)];
  const child = spawn(settings.interpreter.path, program, {
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    env: toVariables(workDir, request.environmentDir),
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
  cgroup?.limit(request.limits);
  // The runner starts nothing before it is asked to, so that everything it starts is in the cgroup too.
  await cgroup?.attach(child.pid);
  return {
    ...toStreams(child),
    cgroup,
    paths: { workDir, commitDir: request.commitDir, environmentDir: request.environmentDir },
    rootDirOf: undefined,
    listProcesses: () => (child.pid === undefined ? [] : [child.pid]),
  };
}

/** The bubblewraps outside, bubblewrap as process 1 of the sandbox, and the runner, which has no children yet. */
function listLine(outermost: number | undefined): number[] {
  const line: number[] = [];
  for (let pid = outermost; pid !== undefined; pid = listChildren(pid)[0]) line.push(pid);
  return line;
}

function toStreams(child: ChildProcess): Pick<Launched, "child" | "stdout" | "stderr" | "control"> {
  const [, stdout, stderr, control] = child.stdio;
  return { child, stdout: stdout as Readable, stderr: stderr as Readable, control: control as Duplex };
}
