import { type ChildProcess, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import type { Writable } from "node:stream";
import { writeFilter } from "../sandbox/bubblewrap-pool.ts";
import { type Cgroup, createCgroup } from "../sandbox/cgroup.ts";
import { findCgroupFolders } from "../sandbox/cgroup-folders.ts";
import { architectureOf, buildSeccompFilter } from "../sandbox/seccomp.ts";
import type { SandboxUser } from "../sandbox/users/sandbox-user.ts";
import { type Confinement, FILTER_FD, type Program } from "./confinement.ts";
import { type FolderLimits, type FolderSize, measureFolder } from "./folder-size.ts";

/** What compilers of honest packages stay below. */
const LIMITS = { memoryBytes: 4 * 1024 ** 3, processes: 512 };
/** Starts nothing before its signal to go, so that everything it starts is under the limits. */
const WAIT = ["-c", 'read -r go && exec "$@" </dev/null', "sh"];
let startedBefore = 0;

/** Far above what sources of packages have. */
const TREE_BOUNDS = { depthMax: 200, pathBytesMax: 4_000 };

/** A program of `confineForeignCode` that has begun, under limits of its own where this machine has cgroups. */
export interface ForeignCode {
  readonly child: ChildProcess;
  /** Measures the folder it writes to, where there is one to measure. */
  readonly measure: ((limits: FolderLimits) => Promise<FolderSize>) | undefined;
  /** Ends what is left of it, and makes what it wrote ours. */
  release(): Promise<void>;
}

/**
 * Starts code of strangers, as a kernel user of its own where there are some. `dir`, with all that is in it, is that
 * user's until the release. It gets the seccomp filter that executions get.
 */
export async function startForeignCode(program: Program, confinement: Confinement, dir: string): Promise<ForeignCode> {
  const user = confinement.users?.take();
  const giveBack = async () => {
    await user?.reach.takeBack(dir);
    user?.release();
  };
  try {
    await user?.reach.give(dir);
    const started = await start(program, confinement, user);
    return {
      child: started.child,
      measure: (limits) =>
        confinement.users ? measureForeign(confinement.users, dir, limits) : measureFolder(dir, limits),
      release: async () => {
        await started.release();
        await giveBack();
      },
    };
  } catch (error) {
    await giveBack();
    throw error;
  }
}

/** Folders that only their owner may look into are measured like others. */
async function measureForeign(
  users: NonNullable<Confinement["users"]>,
  dir: string,
  { entriesMax }: FolderLimits,
): Promise<FolderSize> {
  const { bytes, files, excess } = await users.measure(dir, { entriesMax, ...TREE_BOUNDS });
  return { bytes, entries: excess === undefined ? files : Number.POSITIVE_INFINITY };
}

/** Starts a program behind a gate, which it passes when it is under its limits. */
async function start(
  program: Program,
  { runAs }: Confinement,
  user: SandboxUser | undefined,
): Promise<Pick<ForeignCode, "child" | "release">> {
  const architecture = architectureOf(process.arch);
  const folders = findCgroupFolders();
  const cgroup = folders && createCgroup(folders, `treadle-${process.pid}-b${++startedBefore}`);
  const child = spawn("/bin/sh", [...WAIT, ...(user ? await user.enter() : []), program.command, ...program.args], {
    stdio: ["pipe", "pipe", "pipe", "pipe"], // the last is `FILTER_FD`
    env: program.env,
    cwd: "/",
    ...runAs,
  });
  const failure = new Promise<Error>((resolve) => child.on("error", resolve));
  try {
    if (child.pid === undefined) throw await failure;
    writeFilter(child.stdio[FILTER_FD], buildSeccompFilter(architecture, { countsMemory: cgroup !== undefined }));
    await limit(child, child.pid, cgroup);
  } catch (error) {
    child.kill("SIGKILL");
    await cgroup?.remove();
    throw error;
  }
  return {
    child,
    async release() {
      cgroup?.kill();
      await cgroup?.remove();
    },
  };
}

/** Puts it under the limits, and then lets it begin. */
async function limit(child: ChildProcess, pid: number, cgroup: Cgroup | undefined): Promise<void> {
  const gate = child.stdin as Writable;
  gate.on("error", () => undefined); // It ended; the call that waits for it gets that.
  cgroup?.limit({ ...LIMITS, cpu: Math.max(1, availableParallelism() / 2) }, "long"); // the rest is for executions
  await cgroup?.attach(pid);
  gate.end("go\n");
}
