import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";

const OWN = `/sys/fs/cgroup/cpuacct/treadle-bench-${process.pid}`;

let metersMade = 0;

/**
 * Puts this process, and so everything it starts from now on, into a cgroup that counts its time on the cores. Forks of a
 * lane are reaped by the kernel, so that no process's own account has them. Answers a function that reads milliseconds, or
 * undefined where there is no cgroup of version 1 to write to.
 */
export function openCpuMeter(): (() => number) | undefined {
  return enter(OWN) ? () => readMs(OWN) : undefined;
}

/** A meter of what `start` starts, below that of `openCpuMeter`, which still counts it, too. */
export async function meterStart<Started>(
  start: () => Promise<Started>,
): Promise<{ started: Started; readMs: (() => number) | undefined; close: () => void }> {
  const folder = `${OWN}/${metersMade++}`;
  // A new process is in the cgroup of the one that starts it, so this one goes there and comes back.
  const isCounted = enter(folder);
  try {
    const result = await start();
    return {
      started: result,
      readMs: isCounted ? () => readMs(folder) : undefined,
      close: () => {
        if (isCounted) remove(folder);
      },
    };
  } finally {
    if (isCounted) enter(OWN);
  }
}

function enter(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/cgroup.procs`, String(process.pid), { flag: "r+" });
    return true;
  } catch {
    return false;
  }
}

/** The kernel keeps a cgroup while a process is in it; an empty one costs nothing. */
function remove(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EBUSY") throw error;
  }
}

function readMs(folder: string): number {
  return Number(readFileSync(`${folder}/cpuacct.usage`, "latin1")) / 1e6;
}
