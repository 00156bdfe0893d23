import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";

/** `USER_HZ` of every Linux a Node.js binary runs on. */
const TICKS_PER_SECOND = 100;

/** Time on a core of all living threads, to the nanosecond: clock ticks misjudge a process that wakes for microseconds. */
async function readRunSeconds(pid: number): Promise<number> {
  let seconds = 0;
  for (const task of await readdir(`/proc/${pid}/task`).catch(() => [])) {
    const text = await readFile(`/proc/${pid}/task/${task}/schedstat`, "utf8").catch(() => "0");
    seconds += Number(text.split(" ")[0]) / 1e9;
  }
  return seconds;
}

interface Stat {
  readonly parent: number;
  readonly name: string;
  /** Of the process and of its children that have ended. */
  readonly cpuSeconds: number;
  readonly endedSeconds: number;
}

async function readStat(pid: number): Promise<Stat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const name = text.slice(text.indexOf("(") + 1, text.lastIndexOf(")"));
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  // Fields 14 to 17 of proc(5): own and reaped children's user and system time.
  const [own, ended] = [fields.slice(11, 13), fields.slice(13, 15)].map(
    (times) => times.reduce((sum, field) => sum + Number(field), 0) / TICKS_PER_SECOND,
  ) as [number, number];
  return { parent: Number(fields[1]), name, cpuSeconds: own + ended, endedSeconds: ended };
}

/**
 * A process and all below it, with the CPU seconds each has used so far, by program name. `ticks` counts children that
 * have ended with the program that started them; `living` is exact, and has all that have ended under a name of their own,
 * but for those of PostgreSQL.
 */
export async function readTree(root: number, count: "ticks" | "living" = "ticks"): Promise<Map<string, number>> {
  const stats = new Map<number, Stat>();
  for (const entry of await readdir("/proc")) {
    const stat = /^\d+$/.test(entry) ? await readStat(Number(entry)) : undefined;
    if (stat) stats.set(Number(entry), stat);
  }
  const byName = new Map<string, number>();
  const add = (name: string, seconds: number) => byName.set(name, (byName.get(name) ?? 0) + seconds);
  for (const [pid, stat] of stats) {
    let ancestor: number | undefined = pid;
    while (ancestor !== undefined && ancestor !== root && ancestor > 1) ancestor = stats.get(ancestor)?.parent;
    if (ancestor !== root) continue;
    add(stat.name, count === "ticks" ? stat.cpuSeconds : await readRunSeconds(pid));
    // PostgreSQL is many processes of one name, and its sessions come and go. What other parents have started are programs.
    if (count === "living") add(stat.name === "postgres" ? stat.name : "(ended)", stat.endedSeconds);
  }
  return byName;
}

export async function readResidentBytes(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1]) * 1024;
}

/**
 * Returns the proportional set size of processes in bytes: what several have, such as the buffers of PostgreSQL, counts once. Nothing of
 * one that has ended or must not be read.
 */
export function readProportionalBytes(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + readPss(pid), 0);
}

function readPss(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "latin1"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
