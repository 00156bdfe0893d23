import { type ChildProcess, spawn } from "node:child_process";
import { lstat, mkdir, readdir, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { messageOf } from "../../domain/message-of.ts";
import { measureDisk, type RunDisks, scratchDiskBytes } from "../../sandbox/run-disks.ts";
import { withTimeout } from "../../system/with-timeout.ts";
import { OUTPUT_FILES_MAX, type Settings, slotCountOf } from "../config.ts";
import { listPrograms } from "./programs.ts";
import { KEEPER_SCRIPT } from "./run-disks-script.ts";
import type { RunAs } from "./servers/child.ts";
import type { RunCommand } from "./servers/command.ts";
import { SYSTEM_PATH } from "./user.ts";

const MIB = 1024 * 1024;
/** What the watchdog needs to speak before the kernel does (ten looks a second), and the file system's own tables. */
const SLACK_BYTES = 128 * MIB;
/** Files, folders, and what else has an inode, for each output file that is allowed: beyond that the kernel refuses. */
const INODES_PER_FILE = 2;
const INODES_SPARE = 512;
const CLOSE_TIMEOUT_MS = 5_000;
const RENEW_TIMEOUT_MS = 30_000;
const UMOUNT_TIMEOUT_MS = 10_000;
/** What deleted files may keep of the data folder's disk, on each disk. */
const KEPT_BYTES_MAX = 16 * MIB;
const PROGRAMS = ["mkfs.ext4", "debugfs", "mount", "umount", "truncate", "fstrim"];

export interface RunDisksSize {
  /** How many executions may begin cold at a time. */
  readonly cold: number;
  /** How many lanes there may be. */
  readonly lanes: number;
  readonly outputBytesMax: number;
  readonly outputFilesMax: number;
}

/** Each is a mount, which every new sandbox copies and drops again. */
const DISKS_MAX = 512;
/** Two more of each, for the tests of the sandbox itself while others are in use. */
const SPARES = 2;

/** As many disks as programs may run at a time on this service; none where it runs none, or runs them without a sandbox. */
export function runDisksSizeOf(settings: Settings): RunDisksSize {
  const runsNone = settings.TREADLE_ROLE === "api" || settings.TREADLE_ISOLATION === "none";
  return {
    cold: runsNone ? 0 : slotCountOf(settings) + SPARES,
    lanes: runsNone || settings.TREADLE_LANES_MAX === 0 ? 0 : settings.TREADLE_LANES_MAX + SPARES,
    outputBytesMax: settings.TREADLE_OUTPUT_BYTES_MAX,
    outputFilesMax: OUTPUT_FILES_MAX,
  };
}

/** What programs write to: disks of their own, or `problem` says why there are none. `close` takes them away. */
export type PreparedRunDisks =
  | (RunDisks & { readonly problem: undefined; close(): Promise<void> })
  | { readonly problem: string; close(): Promise<void> };

/**
 * Makes the disks that programs write their outputs to, one for each that can run at a time. They are images in the
 * data folder with a file system of their own, so the kernel counts everything written, also what has no name. Each can
 * grow to `outputBytesMax` and 128 MiB, and takes from the data folder's disk only what is written. They go with this
 * process, however it ends. Resolves when a process of root's makes them, so that this one need not be root any more;
 * `ready` when they are there. Neither rejects: where they cannot be had, `problem` says why, and outputs are measured
 * ten times a second instead.
 */
export async function prepareRunDisks(deps: {
  readonly dataDir: string;
  readonly owner: RunAs;
  readonly size: RunDisksSize;
  readonly run: RunCommand;
  /** What tests replace: where the system's programs are. */
  readonly path?: string;
}): Promise<{ readonly ready: Promise<PreparedRunDisks> }> {
  const none = (problem: string) => ({
    ready: Promise.resolve<PreparedRunDisks>({ problem, close: () => Promise.resolve() }),
  });
  const failed = (error: unknown) => none(`the disks could not be made (${messageOf(error)})`);
  const path = deps.path ?? SYSTEM_PATH;
  const count = deps.size.cold + deps.size.lanes;
  if (count === 0) return none("this service runs no programs in sandboxes");
  if (count > DISKS_MAX) return none(`more than ${DISKS_MAX} programs may run at a time`);
  const problem = await findRunDiskProblem(path);
  if (problem !== undefined) return none(problem);
  try {
    const parent = join(deps.dataDir, "disks");
    await mkdir(parent, { mode: 0o711 }).catch(ignore("EEXIST"));
    await removeLeft(parent, deps.run, path);
    const folder = join(parent, `${process.pid}-${Date.now().toString(36)}`);
    await mkdir(folder, { mode: 0o711 });
    return { ready: startKeeper(folder, deps, path).catch((error: unknown) => failed(error).ready) };
  } catch (error) {
    return failed(error);
  }
}

/**
 * Returns why programs cannot have disks of their own on this machine, as far as can be seen without making one.
 * Undefined when nothing is against it.
 */
export async function findRunDiskProblem(path: string = SYSTEM_PATH): Promise<string | undefined> {
  if (process.platform !== "linux") return "only Linux has them";
  if (process.getuid?.() !== 0) return "the service is not started as root";
  for (const program of PROGRAMS) {
    if ((await listPrograms(program, path)).length === 0) return `there is no ${program}`;
  }
  const control = await lstat("/dev/loop-control").catch(() => undefined);
  return control === undefined ? "there are no loop devices (/dev/loop-control)" : undefined;
}

/** Of services that were killed together with their keeper. Only in a folder of root's: anybody else could make us unmount what is not ours. */
async function removeLeft(parent: string, run: RunCommand, path: string): Promise<void> {
  const stats = await lstat(parent);
  if (!stats.isDirectory() || stats.uid !== 0) throw new Error(`${parent} is not a folder of root's`);
  for (const name of await readdir(parent)) {
    const folder = join(parent, name);
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(ignore("ENOENT"))) {
      const left = join(folder, entry.name);
      if (entry.isDirectory()) {
        await run("umount", ["-l", left], { env: { PATH: path }, timeoutMs: UMOUNT_TIMEOUT_MS });
        await rmdir(left).catch(ignore("ENOENT"));
      } else await rm(left, { force: true });
    }
    await rmdir(folder).catch(ignore("ENOENT"));
  }
}

async function startKeeper(
  folder: string,
  { owner, size }: { readonly owner: RunAs; readonly size: RunDisksSize },
  path: string,
): Promise<PreparedRunDisks> {
  const count = size.cold + size.lanes;
  const figures = [count, size.outputBytesMax + SLACK_BYTES, size.outputFilesMax * INODES_PER_FILE + INODES_SPARE];
  const args = [folder, ...figures.map(String), `${owner.uid}:${owner.gid}`];
  const keeper = spawn("/bin/sh", ["-c", KEEPER_SCRIPT, "treadle-disks", ...args], {
    cwd: "/",
    env: { PATH: path, LC_ALL: "C" },
    stdio: ["pipe", "pipe", "ignore"],
    detached: true, // A Ctrl-C in the terminal is for us alone; the keeper goes when we do.
  });
  keeper.stdin?.on("error", () => undefined); // It has ended, which is seen elsewhere.
  const answers = createAnswers(keeper);
  const first = await answers.next(() => true);
  if (first !== "ready") throw new Error(first || "no reason given");
  keeper.unref();
  for (const stream of [keeper.stdin, keeper.stdout]) (stream as unknown as { unref(): void }).unref();
  const dirs = Array.from({ length: count }, (_, number) => join(folder, String(number)));
  const order = async (dir: string, verb: string, done: string, ...given: string[]): Promise<boolean> => {
    const number = dirs.indexOf(dir);
    keeper.stdin?.write(`${[verb, number, ...given].join(" ")}\n`);
    const expected = [`${done} ${number}`, `failed ${number}`];
    const answer = await answers.next((line) => expected.includes(line), RENEW_TIMEOUT_MS);
    return answer === expected[0];
  };
  return {
    problem: undefined,
    cold: dirs.slice(0, size.cold),
    lanes: dirs.slice(size.cold),
    async renew(dir) {
      if (!(await order(dir, "renew", "renewed"))) throw new Error(`The disk ${dir} could not be made anew.`);
    },
    async openScratch(dir, bytes) {
      if (!(await order(dir, "scratch", "opened", String(scratchDiskBytes(bytes)))))
        throw new Error("No disk could be made for scratch folders.");
      return toScratchDir(dir);
    },
    async closeScratch(dir) {
      if (!(await order(dir, "unscratch", "closed")))
        throw new Error("A disk of scratch folders could not be taken away.");
    },
    trim(dir) {
      if (measureDisk(dir) > KEPT_BYTES_MAX) keeper.stdin?.write(`trim ${dirs.indexOf(dir)}\n`);
    },
    async close() {
      keeper.stdin?.end();
      await answers.ended(CLOSE_TIMEOUT_MS);
    },
  };
}

/** Beside the disk, by the name that the keeper gives it. */
function toScratchDir(dir: string): string {
  return join(dirname(dir), `s${basename(dir)}`);
}

/**
 * The lines that the keeper writes, for callers that wait for one of them. Undefined when it ends, or writes nothing in
 * time.
 */
function createAnswers(keeper: ChildProcess) {
  const waiting = new Set<(line: string | undefined) => boolean>();
  const give = (line: string | undefined) => {
    for (const take of Array.from(waiting)) if (take(line)) return;
  };
  let hasEnded = false;
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      hasEnded = true;
      for (const take of Array.from(waiting)) take(undefined);
      resolve();
    };
    keeper.once("close", end);
    keeper.once("error", end);
  });
  if (keeper.stdout) createInterface({ input: keeper.stdout }).on("line", give);
  return {
    next(isMeant: (line: string) => boolean, timeoutMs = 2 ** 31 - 1): Promise<string | undefined> {
      if (hasEnded) return Promise.resolve(undefined);
      return new Promise((resolve) => {
        const take = (line: string | undefined) => {
          if (line !== undefined && !isMeant(line)) return false;
          waiting.delete(take);
          clearTimeout(timer);
          resolve(line);
          return true;
        };
        const timer = setTimeout(take, timeoutMs, undefined);
        waiting.add(take);
      });
    },
    async ended(timeoutMs: number): Promise<void> {
      await withTimeout(ended, timeoutMs, () => undefined);
    },
  };
}

function ignore(code: string) {
  return (error: NodeJS.ErrnoException): [] => {
    if (error.code !== code) throw error;
    return [];
  };
}
