import { readdirSync } from "node:fs";
import { setTimeout as sleep, setImmediate as yieldOnce } from "node:timers/promises";
import { readKernelFile } from "./kernel-files.ts";

/** A process as `/proc` shows it. The start time sets it apart from a later process of the same id. */
export interface KnownProcess {
  readonly pid: number;
  readonly startTime: string;
}

/** A namespace is gone within half a millisecond as a rule, and a timer would take longer than that. */
const IMPATIENT_MS = 2;
const DEATH_POLL_MS = 2;
/** Looking again at once kept the core from the ending process for up to 6 ms in every third execution, on two cores. */
const NAP_MS = 0.05;
const NAP = new Int32Array(new SharedArrayBuffer(4));
const KIB = 1024;
/** USER_HZ, which is 100 on every Linux. */
const MS_PER_TICK = 10;
/** From `include/linux/sched.h`. */
const PF_EXITING = 0x4;

/** The process, or undefined when it is gone, a zombie included: nothing of a zombie runs any more. */
export function findProcess(pid: number): KnownProcess | undefined {
  const fields = readStat(pid);
  if (fields === undefined || fields.state === "Z" || fields.state === "X") return undefined;
  return { pid, startTime: fields.startTime };
}

export function isRunning(process: KnownProcess): boolean {
  return findProcess(process.pid)?.startTime === process.startTime;
}

/** Whether a process has begun to exit (PF_EXITING of `include/linux/sched.h`) or is gone: it runs no code of its own any more. */
export function isExiting(process: KnownProcess): boolean {
  const fields = readStat(process.pid);
  return fields === undefined || fields.startTime !== process.startTime || (fields.flags & PF_EXITING) !== 0;
}

/** Returns whether there is a process of this id that is no zombie and has not begun to exit. */
export function runsCode(pid: number): boolean {
  const fields = readStat(pid);
  if (fields === undefined || fields.state === "Z" || fields.state === "X") return false;
  return (fields.flags & PF_EXITING) === 0;
}

/** Waits until none of the processes runs. Throws after `timeoutMs`. */
export async function waitForDeath(processes: readonly KnownProcess[], timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (const process of processes) {
    await waitUntil(() => !isRunning(process), deadline, `Process ${process.pid} of a sandbox could not be ended.`);
  }
}

/**
 * Waits until nothing of a pid namespace runs. Its first process has begun to exit, so it makes no more processes, and
 * has none left. That the kernel takes the namespace apart afterwards, for milliseconds, is nobody's wait.
 */
export async function waitForNamespaceEnd(first: KnownProcess, timeoutMs: number): Promise<void> {
  const isOver = () => isExiting(first) && (!isRunning(first) || listChildren(first.pid).length === 0);
  await waitUntil(isOver, performance.now() + timeoutMs, `Process ${first.pid} of a lane could not be ended.`);
}

async function waitUntil(isTrue: () => boolean, deadline: number, otherwise: string): Promise<void> {
  const impatientUntil = performance.now() + IMPATIENT_MS;
  while (!isTrue()) {
    const now = performance.now();
    if (now > deadline) throw new Error(otherwise);
    if (now < impatientUntil) {
      nap();
      await yieldOnce();
    } else await sleep(DEATH_POLL_MS);
  }
}

/** Blocks this thread for a moment, so that the process it waits for can have its core. */
function nap(): void {
  Atomics.wait(NAP, 0, 0, NAP_MS);
}

/** The direct children of a process, whichever of its threads started them. */
export function listChildren(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readKernelFile(`/proc/${pid}/task/${thread}/children`).split(" ").filter(Boolean).map(Number),
    );
  } catch {
    return scanForChildren(pid);
  }
}

/** The process and everything below it. */
export function listTree(root: number): number[] {
  const found = [root];
  for (let index = 0; index < found.length; index++) {
    const pid = found[index];
    if (pid !== undefined) found.push(...listChildren(pid).filter((child) => !found.includes(child)));
  }
  return found;
}

/** Processor time of one process, in steps of 10 ms. */
export interface ProcessorTime {
  readonly ownMs: number;
  /** Of those of its children that have ended and that it has waited for, and theirs. */
  readonly childrenMs: number;
}

/** Returns what a process has used so far; undefined when it is gone. */
export function readProcessorTime(pid: number): ProcessorTime | undefined {
  return readStat(pid);
}

/** Processor time of the processes and of those of their children that have ended. */
export function measureProcessorMs(pids: readonly number[]): number {
  return pids.reduce((total, pid) => {
    const { ownMs = 0, childrenMs = 0 } = readProcessorTime(pid) ?? {};
    return total + ownMs + childrenMs;
  }, 0);
}

/** Anonymous and shared memory of the processes, and their page tables; pages of files are the machine's, not theirs. */
export function measureMemoryBytes(pids: readonly number[]): number {
  return pids.reduce((total, pid) => total + residentBytes(pid), 0);
}

function residentBytes(pid: number): number {
  const status = readProc(`/proc/${pid}/status`);
  const kib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0);
  return (kib("RssAnon") + kib("RssShmem") + kib("VmPTE")) * KIB;
}

/** For kernels without `/proc/…/children`. */
function scanForChildren(parent: number): number[] {
  const pids = readdirOrNothing("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => readStat(pid)?.parent === parent);
}

interface ProcessStat extends ProcessorTime {
  readonly state: string;
  readonly parent: number;
  readonly flags: number;
  readonly startTime: string;
}

/** The command name in `stat` is in parentheses and may hold anything, so fields are counted from the last one. */
function readStat(pid: number): ProcessStat | undefined {
  const text = readProc(`/proc/${pid}/stat`);
  if (text === "") return undefined;
  const [state = "", parent = "", ...rest] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const toMs = (from: number) => (Number(rest[from]) + Number(rest[from + 1])) * MS_PER_TICK;
  const times = { ownMs: toMs(9), childrenMs: toMs(11) };
  return { state, parent: Number(parent), flags: Number(rest[4]), startTime: rest[17] ?? "", ...times };
}

function readProc(path: string): string {
  try {
    return readKernelFile(path);
  } catch {
    return ""; // The process ended meanwhile.
  }
}

function readdirOrNothing(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
