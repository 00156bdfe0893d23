import { type ChildProcess, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import type { Writable } from "node:stream";
import { type Cgroup, createCgroup } from "../sandbox/cgroup.ts";
import { findCgroupFolders } from "../sandbox/cgroup-folders.ts";
import { writeFilter } from "../sandbox/parking.ts";
import { architectureOf, buildSeccompFilter } from "../sandbox/seccomp.ts";
import { FILTER_FD, type Program, type User } from "./confinement.ts";

/** What compilers of honest packages stay below. */
const LIMITS = { memoryBytes: 4 * 1024 ** 3, processes: 512 };
/** Starts nothing before it is told to, so that everything it starts is under the limits. */
const WAIT = ["-c", 'read -r go && exec "$@" </dev/null', "sh"];
let startedBefore = 0;

/** A program of `confineForeignCode` that has begun, under limits of its own where this machine has cgroups. */
export interface ForeignCode {
  readonly child: ChildProcess;
  /** Ends what is left of it. */
  release(): Promise<void>;
}

/** Starts what strangers have written; it gets the seccomp filter that executions get. */
export async function startForeignCode(program: Program, runAs: User | undefined): Promise<ForeignCode> {
  const architecture = architectureOf(process.arch);
  const folders = findCgroupFolders();
  const cgroup = folders && createCgroup(folders, `treadle-${process.pid}-b${++startedBefore}`);
  const child = spawn("/bin/sh", [...WAIT, program.command, ...program.args], {
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
  gate.on("error", () => undefined); // It ended; whoever waits for it hears of that.
  cgroup?.limit({ ...LIMITS, cpu: Math.max(1, availableParallelism() / 2) }); // the rest is for executions
  await cgroup?.attach(pid);
  gate.end("go\n");
}
