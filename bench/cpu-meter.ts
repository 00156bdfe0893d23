import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

/**
 * Puts this process, and so everything it starts from now on, into a cgroup that counts its time on the cores. Forks of a
 * lane are reaped by the kernel, so that no process's own account has them. Answers a function that reads milliseconds, or
 * undefined where there is no cgroup of version 1 to write to.
 */
export function openCpuMeter(): (() => number) | undefined {
  const folder = `/sys/fs/cgroup/cpuacct/treadle-bench-${process.pid}`;
  try {
    mkdirSync(folder);
    writeFileSync(`${folder}/cgroup.procs`, String(process.pid), { flag: "r+" });
  } catch {
    return undefined;
  }
  return () => Number(readFileSync(`${folder}/cpuacct.usage`, "latin1")) / 1e6;
}
