import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { processExists } from "../system/process-exists.ts";
import type { CgroupFolders } from "./cgroup-folders.ts";
import { readKernelFile } from "./kernel-files.ts";

/** The kernel's own default of `cpu.max`. A shorter period would interrupt programs more often. */
const CPU_PERIOD_US = 100_000;
/** With 5 ms between them it is a second: a dead process leaves its cgroup a moment after it was waited for. */
const REMOVE_ATTEMPTS = 200;
/**
 * The share of a busy processor that a program gets beside a thread of the service, PostgreSQL or Temporal: an eighth.
 * So none of these waits for programs that only compute. A new program gets a quarter, so that a short one does not wait for
 * those that compute for long. A processor that is free is all the programs'. Of 1,024 shares in version 1, of a weight
 * of 100 in version 2.
 */
const SHARES = { long: { shares: 128, weight: 12 }, new: { shares: 256, weight: 25 } } as const;
/** Two bubblewraps outside of the sandbox, and one as its process 1. */
const LAUNCHER_PROCESSES = 3;

/** Whether a program has just begun, or goes on for longer than short ones do. */
export type Share = keyof typeof SHARES;

export interface CgroupLimits {
  readonly memoryBytes: number;
  readonly processes: number;
  readonly cpu: number;
}

/** The cgroup of one execution. */
export interface Cgroup {
  limit(limits: CgroupLimits, share: Share): void;
  /** Sets another share of busy processors than it was limited with. Writes nothing where it has that share. */
  setShare(share: Share): void;
  /** Whether its processes get no more of the processors than their limit, besides their memory. */
  readonly boundsProcessor: boolean;
  /**
   * Puts a process under the limits, and with it everything it starts from now on. The kernel may take 10 ms over it
   * (it waits for an RCU grace period). So this is not done on the event loop, nor while a caller waits.
   */
  attach(pid: number): Promise<void>;
  /** Returns whether the process is under every one of the limits. */
  holds(pid: number): boolean;
  /** Memory of all in it that the kernel cannot simply drop: without pages of files, with those in memory only. */
  measureBytes(): number;
  /**
   * Returns a text that differs from the last one when anything of it has run since. It is the kernel's count of periods
   * in which it did, or of processor time. Undefined where its processor is not bounded.
   */
  readActivity(): string | undefined;
  /** How many processes the kernel killed because the memory was used up. */
  countOomKills(): number;
  /** Ends every process in it; those may still be dying when it returns. */
  kill(): void;
  /** Removes it once its processes are gone. Leaves it behind after a second; the next start sweeps. */
  remove(): Promise<void>;
}

/** A new cgroup, without limits yet. `folders` is what `findCgroupFolders` answered. */
export function createCgroup(folders: CgroupFolders, name: string): Cgroup {
  const parents = [folders.memory, folders.pids, folders.cpu].filter((parent) => parent !== undefined);
  const paths = [...new Set(parents)].map((parent) => join(parent, name));
  for (const path of paths) mkdirSync(path);
  const memoryPath = join(folders.memory, name);
  let shareOfNow: Share | undefined;
  const listPids = (path: string) => readKernelFile(join(path, "cgroup.procs")).split("\n").filter(Boolean);
  return {
    boundsProcessor: folders.cpu !== undefined,
    limit(limits, share) {
      shareOfNow = share;
      for (const [parent, file, value, optional] of toSettings(folders, limits, share)) {
        if (parent !== undefined) writeSetting(join(parent, name, file), value, optional === true);
      }
    },
    setShare(share) {
      if (share === shareOfNow || folders.cpu === undefined) return;
      shareOfNow = share;
      const [file, value] = toShareSetting(folders, share);
      writeSetting(join(folders.cpu, name, file), value, true); // A program that has just ended may have taken it along.
    },
    async attach(pid) {
      for (const path of paths) await writeFile(join(path, "cgroup.procs"), String(pid), { flag: "r+" });
    },
    holds: (pid) => paths.every((path) => listPids(path).includes(String(pid))),
    measureBytes() {
      const [used, cached] = folders.version === 2 ? ["memory.current", "file"] : ["memory.usage_in_bytes", "cache"];
      const stat = readKernelFile(join(memoryPath, "memory.stat"));
      const find = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(stat)?.[1] ?? 0);
      return Number(readKernelFile(join(memoryPath, used))) - find(cached) + find("shmem");
    },
    readActivity: () => folders.cpu && readKernelFile(join(folders.cpu, name, "cpu.stat")),
    countOomKills() {
      const text = readKernelFile(join(memoryPath, folders.version === 2 ? "memory.events" : "memory.oom_control"));
      return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
    },
    kill() {
      const killFile = join(memoryPath, "cgroup.kill");
      if (existsSync(killFile)) return writeFileSync(killFile, "1"); // Version 2 since Linux 5.14.
      for (const pid of listPids(memoryPath)) endProcess(Number(pid));
    },
    async remove() {
      for (const path of paths) {
        for (let attempt = 0; attempt < REMOVE_ATTEMPTS && !removeEmpty(path); attempt++) await sleep(5);
      }
    },
  };
}

type Setting = readonly [parent: string | undefined, file: string, value: string, optional?: boolean];

function toSettings(folders: CgroupFolders, limits: CgroupLimits, share: Share): Setting[] {
  const { memory, pids, cpu } = folders;
  const bytes = String(limits.memoryBytes);
  const processes: Setting = [pids, "pids.max", String(limits.processes + LAUNCHER_PROCESSES)];
  const quotaUs = Math.max(1_000, Math.round(limits.cpu * CPU_PERIOD_US));
  if (folders.version === 2) {
    const quota: Setting = [cpu, "cpu.max", `${quotaUs} ${CPU_PERIOD_US}`];
    const swap: Setting = [memory, "memory.swap.max", "0", true];
    return [[memory, "memory.max", bytes], swap, processes, quota, [cpu, ...toShareSetting(folders, share)]];
  }
  const swap: Setting = [memory, "memory.memsw.limit_in_bytes", bytes, true];
  // Version 1 counts these buffers apart from all other memory, and would leave them without a bound.
  const connections: Setting = [memory, "memory.kmem.tcp.limit_in_bytes", bytes, true];
  const period: Setting = [cpu, "cpu.cfs_period_us", String(CPU_PERIOD_US)];
  return [
    [memory, "memory.limit_in_bytes", bytes],
    swap,
    connections,
    processes,
    period,
    [cpu, "cpu.cfs_quota_us", String(quotaUs)],
    [cpu, ...toShareSetting(folders, share)],
  ];
}

function toShareSetting({ version }: CgroupFolders, share: Share): readonly [file: string, value: string] {
  const { shares, weight } = SHARES[share];
  return version === 2 ? ["cpu.weight", String(weight)] : ["cpu.shares", String(shares)];
}

/** Removes what a service that was killed left in `folders`: names are `treadle-<service pid>-<number>`, with a letter before the number for lanes, builds and unprotected ones. */
export function sweepCgroups(folders: CgroupFolders): void {
  for (const parent of new Set([folders.memory, folders.pids, folders.cpu])) {
    if (parent === undefined) continue;
    for (const entry of readdirSync(parent)) {
      const pid = /^treadle-(\d+)-[bul]?\d+$/.exec(entry)?.[1];
      if (pid !== undefined && !processExists(Number(pid))) removeEmpty(join(parent, entry));
    }
  }
}

function writeSetting(path: string, value: string, optional: boolean): void {
  try {
    writeFileSync(path, value, { flag: "r+" });
  } catch (error) {
    if (!optional) throw error; // Swap accounting is compiled out of some kernels.
  }
}

function removeEmpty(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}
