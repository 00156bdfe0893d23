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

async function readStat(pid: number): Promise<{ parent: number; name: string; cpuSeconds: number } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const name = text.slice(text.indexOf("(") + 1, text.lastIndexOf(")"));
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  // Fields 14 to 17 of proc(5): own and reaped children's user and system time.
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return { parent: Number(fields[1]), name, cpuSeconds: ticks / TICKS_PER_SECOND };
}

/**
 * A process and all below it, with the CPU seconds each has used so far, by program name. `ticks` counts children that
 * have ended, too; `living` is exact, for processes that are still there.
 */
export async function readTree(root: number, count: "ticks" | "living" = "ticks"): Promise<Map<string, number>> {
  const stats = new Map<number, NonNullable<Awaited<ReturnType<typeof readStat>>>>();
  for (const entry of await readdir("/proc")) {
    const stat = /^\d+$/.test(entry) ? await readStat(Number(entry)) : undefined;
    if (stat) stats.set(Number(entry), stat);
  }
  const byName = new Map<string, number>();
  for (const [pid, stat] of stats) {
    let ancestor: number | undefined = pid;
    while (ancestor !== undefined && ancestor !== root && ancestor > 1) ancestor = stats.get(ancestor)?.parent;
    if (ancestor !== root) continue;
    const seconds = count === "ticks" ? stat.cpuSeconds : await readRunSeconds(pid);
    byName.set(stat.name, (byName.get(stat.name) ?? 0) + seconds);
  }
  return byName;
}

export async function readResidentBytes(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1]) * 1024;
}
