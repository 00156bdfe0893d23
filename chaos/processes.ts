import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** A process as `/proc` shows it. Its start time tells it from a later one of the same id. */
export interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly startTime: string;
  /** The command line, a word each. */
  readonly command: readonly string[];
}

const KILLED_WITHIN_MS = 2_000;

/** The process, or undefined when it is gone or only waits to be collected. */
export function findProcess(pid: number): Process | undefined {
  const stat = read(`/proc/${pid}/stat`);
  const [state = "Z", parent = "", ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (stat === "" || state === "Z" || state === "X") return undefined;
  const command = read(`/proc/${pid}/cmdline`).split("\0").filter(Boolean);
  return { pid, parent: Number(parent), startTime: rest[17] ?? "", command };
}

export function isAlive({ pid, startTime }: Pick<Process, "pid" | "startTime">): boolean {
  return findProcess(pid)?.startTime === startTime;
}

/** The process and everything below it. */
export function listTree(root: number): Process[] {
  const found: Process[] = [];
  const pids = [root];
  for (const pid of pids) {
    const process = findProcess(pid);
    if (process === undefined) continue;
    found.push(process);
    pids.push(...listChildren(pid).filter((child) => !pids.includes(child)));
  }
  return found;
}

function listChildren(pid: number): number[] {
  return list(`/proc/${pid}/task`).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(" ").filter(Boolean).map(Number),
  );
}

/** Sends a signal to exactly this process. False when it is gone, or another has its id by now. */
export function signal(target: Process, name: NodeJS.Signals): boolean {
  if (!isAlive(target)) return false;
  try {
    process.kill(target.pid, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/** SIGKILL; resolves when the process is gone, or false when there was none. */
export async function killProcess(target: Process): Promise<boolean> {
  if (!signal(target, "SIGKILL")) return false;
  await waitForDeath([target], KILLED_WITHIN_MS);
  return true;
}

/** Waits until none of them lives, but for those in `spared`; answers those that still do when the time is over. */
export async function waitForDeath(
  processes: readonly Process[],
  timeoutMs: number,
  spared: () => readonly Process[] = () => [],
): Promise<Process[]> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const others = spared();
    const alive = processes.filter((each) => isAlive(each) && !others.some(({ pid }) => pid === each.pid));
    if (alive.length === 0 || Date.now() > deadline) return alive;
    await sleep(50);
  }
}

export function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return ""; // It ended meanwhile.
  }
}

export function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
