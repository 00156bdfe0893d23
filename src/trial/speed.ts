import { chmod, mkdtemp, open, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../domain/message-of.ts";
import type { Environment } from "../config.ts";
import { findPython } from "../setup/python.ts";
import { runCommand } from "../setup/servers/command.ts";
import { findOnlooker } from "../setup/user.ts";
import { startTrial, type TrialService } from "./service.ts";
import { openYardstick } from "./yardstick.ts";

const FLUSHES = 40;
/** What PostgreSQL writes at once. */
const PAGE_BYTES = 8192;
const WARM_UPS = 10;
const ROUNDS = 40;
const CALLERS = 8;
const CALLING_MS = 5_000;
/** Each wait is so much longer than the one before: 21 s in all. */
const BUSY_TRIES = 20;
const BUSY_WAIT_MS = 100;
/** A run waits for the disk about twice, so this costs it more than its own work. */
const SLOW_DISK_MS = 5;
/** Of the settings of an installation, those that say what its machine has. The others lead to its database, its files and its callers. */
const OF_THE_MACHINE = new Set(["TREADLE_CACHE_DIR", "TREADLE_ISOLATION", "TREADLE_PYTHON", "TREADLE_SANDBOX_RUNTIME"]);

/** One thing that was measured. */
export interface SpeedFigure {
  readonly name: string;
  readonly value: number;
  readonly unit: "ms" | "times a bare start" | "a second";
  /** The figure in words, and what to do where it is bad. */
  readonly message: string;
}

/**
 * Measures how quick this machine is: its disk, its Python, and calls of the example `hello`. For those it starts a service
 * of its own, and removes it again. Takes about half a minute and installs nothing. Throws when that service does not start.
 */
export async function measureSpeed(options: {
  env: Environment;
  checkout: string;
  /** Of the installation. Where there is one, its disk is measured; else that of the temporary folder. */
  dataDir: string;
  /** Ends it early. */
  signal: AbortSignal;
}): Promise<SpeedFigure[]> {
  const { env, checkout, signal } = options;
  const dir = await makeFolder(options.dataDir);
  let service: TrialService | undefined;
  try {
    const python = await findPython({ env, ...(await findOnlooker(runCommand)) });
    const disk = await measureDisk(dir);
    service = await startTrial({
      checkout,
      dataDir: join(dir, "data"),
      env: ofMachine(env),
      settings: { TREADLE_EXAMPLES: "hello", TREADLE_INSTALL: "never" },
      isQuiet: true,
      signal,
    });
    return [disk, ...(await measureCalls(service, python.path, signal)), await measureRate(service, signal)];
  } catch (error) {
    throw signal.aborted
      ? signal.reason
      : new Error(`Nothing could be measured: ${messageOf(error)}`, { cause: error });
  } finally {
    await service?.stop();
    // A service that was stopped while it made disks is over before they are unmounted.
    await rm(dir, { recursive: true, force: true, maxRetries: BUSY_TRIES, retryDelay: BUSY_WAIT_MS });
  }
}

/** The user that programs run as passes through it. The data folder may be a link to one where that user can. */
async function makeFolder(dataDir: string): Promise<string> {
  const inData = realpath(dataDir).then((real) => mkdtemp(join(real, "speed-")));
  const dir = await inData.catch(() => mkdtemp(join(tmpdir(), "treadle-speed-")));
  await chmod(dir, 0o711);
  return dir;
}

function ofMachine(env: Environment): Environment {
  const isForeign = (name: string): boolean => /^(TREADLE|TEMPORAL|DATABASE)_/.test(name) && !OF_THE_MACHINE.has(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isForeign(name)));
}

async function measureDisk(dir: string): Promise<SpeedFigure> {
  const file = await open(join(dir, "page"), "w");
  const page = Buffer.alloc(PAGE_BYTES, 1);
  const times: number[] = [];
  try {
    for (let round = 0; round < FLUSHES; round += 1) {
      const startedAt = performance.now();
      await file.write(page, 0, page.length, round * page.length);
      await file.datasync();
      times.push(performance.now() - startedAt);
    }
  } finally {
    await file.close();
  }
  const value = medianOf(times);
  const words = `it keeps ${PAGE_BYTES / 1024} KiB for good in ${value.toFixed(2)} ms`;
  const advice = `${words}. A run waits for that about twice. Put the data folder on a faster disk.`;
  return { name: "disk", value, unit: "ms", message: value > SLOW_DISK_MS ? advice : words };
}

/** A bare start and a call by turns, so that both meet the same phase of the machine. */
async function measureCalls(service: TrialService, interpreter: string, signal: AbortSignal): Promise<SpeedFigure[]> {
  const yardstick = await openYardstick(interpreter);
  const [bare, calls]: [number[], number[]] = [[], []];
  try {
    for (let round = 0; round < WARM_UPS; round += 1) await callHello(service);
    for (let round = 0; round < ROUNDS; round += 1) {
      signal.throwIfAborted();
      bare.push(await yardstick.measureMs());
      calls.push(await callHello(service));
    }
  } finally {
    await yardstick.close();
  }
  const [start, call] = [medianOf(bare), medianOf(calls)];
  const ratio = call / start;
  return [
    { name: "python3 main.py", value: start, unit: "ms", message: `a bare start takes ${start.toFixed(1)} ms` },
    {
      name: "hello, one caller",
      value: ratio,
      unit: "times a bare start",
      message: `a call takes ${call.toFixed(1)} ms, ${ratio.toFixed(2)} times a bare start`,
    },
  ];
}

async function measureRate(service: TrialService, signal: AbortSignal): Promise<SpeedFigure> {
  const startedAt = performance.now();
  const isOver = (): boolean => signal.aborted || performance.now() - startedAt > CALLING_MS;
  let count = 0;
  const keepCalling = async (): Promise<void> => {
    for (; !isOver(); count += 1) await callHello(service);
  };
  await Promise.all(Array.from({ length: CALLERS }, keepCalling));
  signal.throwIfAborted();
  const value = count / ((performance.now() - startedAt) / 1000);
  const message = `${CALLERS} callers at once get ${value.toFixed(0)} answers a second`;
  return { name: `hello, ${CALLERS} callers`, value, unit: "a second", message };
}

async function callHello(service: TrialService): Promise<number> {
  const { status, ms, body } = await service.execute("hello", { name: "Ada" });
  if (status !== 200) throw new Error(`hello answered ${status}: ${JSON.stringify(body)}`);
  return ms;
}

function medianOf(series: readonly number[]): number {
  const sorted = series.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
