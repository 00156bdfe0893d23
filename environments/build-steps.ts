import { spawn } from "node:child_process";
import { statfs } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep } from "node:timers/promises";
import { formatSize } from "../domain/manifest/sizes.ts";
import { endTree } from "../sandbox/launched.ts";
import type { Confinement, Program } from "./confinement.ts";
import { type FolderLimits, type FolderSize, measureFolder } from "./folder-size.ts";
import { type ForeignCode, startForeignCode } from "./foreign-code.ts";
import { hideCredentials } from "./package-settings.ts";

/** A build that prints without end must not fill the memory of the service, nor the row that keeps its log. */
const LOG_CHARACTERS_MAX = 1_000_000;
/** A line may be a whole file that a build prints; a person reads no more of it than this. */
const LINE_CHARACTERS_MAX = 4_000;
/** A build that writes more than it may is stopped about a second later. */
const MEASURE_EVERY_MS = 1_000;
/** Of a large folder measuring takes seconds, and the disk is the build's, too. */
const PAUSE_BY_MEASURING = 4;
/** A build might move the cursor of the terminal that shows its log. */
const CONTROLS = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const DISK_FULL = /no space left on device|disk quota exceeded|ENOSPC|EDQUOT/i;
const DISK_FULL_MESSAGE =
  "The disk that holds the Python environments is full. Free space on it and try again; nothing half-made was left behind.";

/** The limits of size are of what a step writes, and of the finished environment. */
export interface BuildLimits extends FolderLimits {
  /** Of the whole build. */
  readonly timeoutMs: number;
  /** What a build leaves free on its disk for programs and PostgreSQL: the smaller of the two. */
  readonly freeBytesMin: number;
  /** Of the whole disk. */
  readonly freeShareMin: number;
}

export type BuildFailure = "refused" | "timed_out" | "too_large" | "disk_full" | "no_installer" | "wrong_interpreter";

/**
 * An environment that could not be made. The message is for the user who published the requirements; `log` has the
 * rest.
 */
export class EnvironmentError extends Error {
  override readonly name = "EnvironmentError";
  readonly kind: BuildFailure;
  readonly log: string;

  constructor(kind: BuildFailure, message: string, log: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
    this.log = log;
  }
}

/** What an installer said when it failed; `output` is what both of its streams said, in order. */
export interface StepResult {
  readonly code: number | null;
  readonly output: string;
}

export interface StepWatch {
  /** Where it writes. */
  readonly dir?: string;
  /** Its words are only in its result. */
  readonly quiet?: boolean;
  /** Where a program of `confineForeignCode` writes: its own while it runs. */
  readonly foreignDir?: string;
}

/** The steps of one build: one clock, one log, one place to work in. */
export interface BuildSteps {
  readonly workDir: string;
  /** Adds a line to the log and sends it to the followers of the build. */
  say(line: string): void;
  /**
   * Runs a program to its end. Throws when a limit is reached; a program that fails is a result. What grows in `dir` or
   * `foreignDir` is limited.
   */
  run(program: Program, watch?: StepWatch): Promise<StepResult>;
  /** Throws when a folder of this size is too large for an environment. */
  requireSize(size: FolderSize): void;
  log(): string;
}

/** Steps that run as the unprivileged user, and whose log has neither credentials nor paths of the work folder. */
export function createBuildSteps(options: {
  confinement: Confinement;
  limits: BuildLimits;
  workDir: string;
  report: ((line: string) => void) | undefined;
}): BuildSteps {
  const { confinement, limits, workDir, report } = options;
  const deadline = Date.now() + limits.timeoutMs;
  let log = "";

  const say = (line: string): void => {
    const clean = toPublic(line);
    if (log.length < LOG_CHARACTERS_MAX) log += `${clean}\n`;
    report?.(clean);
  };
  const toPublic = (line: string): string =>
    hideCredentials(line).replaceAll(workDir, ".").replaceAll(CONTROLS, "").slice(0, LINE_CHARACTERS_MAX);

  const start = (program: Program, dir: string | undefined): ForeignCode => {
    const child = spawn(program.command, program.args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: program.env,
      cwd: "/",
      detached: confinement.isolation === "none", // a process group of its own, to end it as a whole
      ...confinement.runAs,
    });
    const measure = dir === undefined ? undefined : () => measureFolder(dir, limits);
    return { child, measure, release: async () => undefined };
  };

  async function run(program: Program, watch: StepWatch = {}): Promise<StepResult> {
    const started = await (watch.foreignDir === undefined
      ? start(program, watch.dir)
      : startForeignCode(program, confinement, watch.foreignDir));
    const { child } = started;
    const stop = (): void => {
      if (confinement.isolation !== "none") endTree(child);
      else if (child.pid !== undefined) killGroup(child.pid);
    };
    let output = "";
    const read = (line: string): void => {
      if (output.length < LOG_CHARACTERS_MAX) output += `${toPublic(line)}\n`;
      if (watch.quiet !== true) say(line);
    };
    for (const stream of [child.stdout, child.stderr]) if (stream !== null) followLines(stream, read);
    const ended = new Promise<number | null>((resolve, reject) => child.once("error", reject).once("close", resolve));
    const guard = new AbortController();
    const guarding = guardLimits(limits, deadline, { workDir, started }, guard.signal).then((broken) => {
      if (broken !== undefined) stop();
      return broken;
    });
    try {
      const code = await ended;
      guard.abort();
      const broken = await guarding;
      if (broken !== undefined) refuse(broken);
      if (code !== 0 && DISK_FULL.test(output)) throw diskFull(log);
      return { code, output };
    } finally {
      guard.abort();
      await started.release();
    }
  }

  const refuse = ({ kind, message }: Broken): never => {
    throw new EnvironmentError(kind, message, log);
  };
  const requireSize = (size: FolderSize): void => {
    const broken = findExcess(limits, size);
    if (broken !== undefined) refuse(broken);
  };
  return { workDir, say, run, requireSize, log: () => log };
}

export function diskFull(log: string, cause?: unknown): EnvironmentError {
  return new EnvironmentError("disk_full", DISK_FULL_MESSAGE, log, { cause });
}

export function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT";
}

/** A folder that defies measuring is not let grow. */
const UNMEASURED: FolderSize = { bytes: 0, entries: Number.POSITIVE_INFINITY };

/** Waits for the first limit to be reached; undefined when the step ended before. */
async function guardLimits(
  limits: BuildLimits,
  deadline: number,
  { workDir, started }: { readonly workDir: string; readonly started: ForeignCode },
  signal: AbortSignal,
): Promise<Broken | undefined> {
  let pauseMs = MEASURE_EVERY_MS;
  while (!signal.aborted) {
    if (await isDiskShort(workDir, limits)) return { kind: "disk_full", message: DISK_FULL_MESSAGE };
    const left = deadline - Date.now();
    if (left <= 0)
      return {
        kind: "timed_out",
        message: `The build took longer than ${limits.timeoutMs / 60_000} minutes and was stopped.`,
      };
    await sleep(Math.min(left, pauseMs), undefined, { signal }).catch(() => {});
    if (signal.aborted) continue;
    const startedAtMs = Date.now();
    const size = await started.measure?.(limits).catch(() => UNMEASURED);
    const broken = size && findExcess(limits, size);
    if (broken !== undefined) return broken;
    pauseMs = Math.max(MEASURE_EVERY_MS, PAUSE_BY_MEASURING * (Date.now() - startedAtMs));
  }
  return undefined;
}

interface Broken {
  readonly kind: BuildFailure;
  readonly message: string;
}

async function isDiskShort(dir: string, { freeBytesMin, freeShareMin }: BuildLimits): Promise<boolean> {
  const { bavail, blocks, bsize } = await statfs(dir);
  return bavail * bsize < Math.min(freeBytesMin, blocks * bsize * freeShareMin);
}

/** What is too much in a folder; undefined when it is within the limits. */
function findExcess(limits: BuildLimits, size: FolderSize): Broken | undefined {
  if (size.bytes > limits.bytesMax) {
    return {
      kind: "too_large",
      message: `The packages take more than ${formatSize(limits.bytesMax)}, the most an environment may have. Ask for fewer or smaller packages.`,
    };
  }
  if (size.entries > limits.entriesMax) {
    const allowed = limits.entriesMax.toLocaleString("en");
    return {
      kind: "too_large",
      message: `The packages have more than ${allowed} files, the most an environment may have. Ask for fewer packages.`,
    };
  }
  return undefined;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function followLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  stream.on("data", (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split(/\r?\n|\r/);
    rest = (lines.pop() ?? "").slice(0, LINE_CHARACTERS_MAX);
    for (const line of lines) onLine(line);
  });
  stream.on("end", () => rest !== "" && onLine(rest));
}
