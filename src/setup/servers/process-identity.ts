import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

// Of /proc/<pid>/stat, counted from 1: see proc(5).
const STATE_FIELD = 3;
const START_TIME_FIELD = 22;
const POLL_MS = 100;

/**
 * Whether a process of this pid runs, of any user. One that has ended and only waits to be collected (a zombie) does
 * not.
 */
export async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const state = (await readStatFields(pid))?.[0] ?? (await askPs(pid, "stat="));
  return !/^[ZX]/.test(state);
}

/**
 * When this process began, in words that no later process of the same pid repeats; empty where the system does not
 * say. Pids are small and come back quickly in containers: a pid alone does not name a process.
 */
export async function readStartTime(pid: number): Promise<string> {
  return (await readStatFields(pid))?.[START_TIME_FIELD - STATE_FIELD] ?? askPs(pid, "lstart=");
}

/** The command line of a process, words separated by spaces; empty when it is gone or a zombie. */
export async function readCommandLine(pid: number): Promise<string> {
  const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => undefined);
  return line === undefined ? askPs(pid, "command=") : line.replaceAll("\0", " ").trim();
}

/**
 * Ends a server that an earlier, killed service left running. It is only touched when its command line holds `mark`
 * (the path of its data), as its pid may long belong to another program. The watcher of `superviseChild` normally ends
 * it within a second. `signals` go one by one to a server that is still there `patienceMs` later.
 */
export async function endLeftover(
  pid: number,
  options: { mark: string; patienceMs: number; signals: readonly NodeJS.Signals[]; report: (line: string) => void },
): Promise<void> {
  const isOurs = async () => (await isRunning(pid)) && (await readCommandLine(pid)).includes(options.mark);
  if (!(await isOurs())) return;
  options.report(`A server of an earlier start (process ${pid}) is still running; waiting for its end.`);
  for (const signal of [undefined, ...options.signals]) {
    if (signal !== undefined && (await isOurs())) process.kill(pid, signal);
    const deadline = Date.now() + options.patienceMs;
    while (Date.now() < deadline) {
      if (!(await isOurs())) return;
      await sleep(POLL_MS);
    }
  }
  throw new Error(
    `Process ${pid}, a server left over from an earlier start, does not end. End it (kill -9 ${pid}) and start again.`,
  );
}

/** The fields from the state on; undefined where there is no /proc, or no such process. */
async function readStatFields(pid: number): Promise<string[] | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" "); // the name, in parentheses, may hold spaces
}

async function askPs(pid: number, column: string): Promise<string> {
  const answer = await promisify(execFile)("ps", ["-o", column, "-p", String(pid)]).catch(() => ({ stdout: "" }));
  return answer.stdout.trim();
}
