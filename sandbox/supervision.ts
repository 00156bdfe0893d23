import type { Readable } from "node:stream";
import { INSIDE } from "./bubblewrap.ts";
import { type ControlEvent, type ControlReader, createControlReader, type ReportedEnd } from "./control.ts";
import type { Exit, Launched } from "./launched.ts";
import type { LogRecorder } from "./log.ts";
import type { ExecutionFacts, StopReason } from "./outcome.ts";
import { findProcess, type KnownProcess, listTree } from "./process-tree.ts";
import { createProcessorMeter, type ProcessorMeter } from "./processor-meter.ts";
import type { ReadingTurns } from "./reading-turns.ts";
import type { SandboxRequest, SandboxWatch } from "./request.ts";
import { type StallWatch, watchStalls } from "./stalls.ts";
import { waitForEnds } from "./streams.ts";
import { startWatchdog, type Use } from "./watchdog.ts";

/**
 * From the start of a cold sandbox to the first code of a package or the user. It takes 20 ms as a rule, and 10 on an
 * idle machine.
 */
const START_TIMEOUT_MS = 60_000;
/** After we stood still, a program may have ended in time without our knowing. */
const AFTER_STALL_MS = 50;
/** Then a program has to be content with the share of a long one where processors are busy. Most end long before. */
const NEW_FOR_MS = 100;
/** Between SIGTERM and SIGKILL of an execution that is cancelled. */
const CANCEL_GRACE_MS = 1_000;
/** A sandbox is made in milliseconds: by then it ended by itself, or its processes can be found and killed. */
const HALF_MADE_TIMEOUT_MS = 1_000;
/** All writers are dead by then. Only a descriptor that was passed on outside of the tree keeps a stream open. */
const STREAM_END_TIMEOUT_MS = 2_000;
/** It becomes part of the message of a sandbox that could not be made. */
const STARTUP_TEXT_MAX = 4_000;

export interface Supervised {
  readonly facts: ExecutionFacts;
  /** Output names the runner gave, to the file's path below the outputs folder. */
  readonly named: ReadonlyMap<string, string>;
}

/** The user's code was never reached, so the execution may be launched anew. `secondsUsed` is what packages may have used by then. */
export class NotStartedError extends Error {
  readonly secondsUsed: number;

  constructor(message: string, secondsUsed: number) {
    super(message);
    this.secondsUsed = secondsUsed;
  }
}

export interface Surroundings {
  readonly request: SandboxRequest;
  /** The request as the runner reads it: one line of JSON, given whether its streams are pipes now. */
  readonly toRequestLine: (pipes: boolean) => string;
  readonly log: LogRecorder;
  readonly watch: SandboxWatch;
  readonly turns: ReadingTurns;
  /** What a launch before this one used of the execution's time; it is counted with this one. */
  readonly secondsBefore: number;
}

/** What is known so far of one execution. */
interface Course {
  readonly launched: Launched;
  readonly around: Surroundings;
  readonly named: Map<string, string>;
  readonly streams: Readable[];
  readonly releases: (() => void)[];
  /** To be called when nobody writes to its streams any more. */
  readonly followed: (() => void)[];
  /** Outermost first, the runner last; empty until the runner is ready. */
  processes: readonly KnownProcess[];
  /** What was said before the user's code began, for the error when it never does. */
  startupText: string;
  stopped: StopReason | "start_timed_out" | undefined;
  mode: ExecutionFacts["mode"];
  reported: ReportedEnd | undefined;
  /** When the runner was given its request. */
  askedAtMs: number;
  /** When code of packages or of the user could first run. */
  startedAtMs: number | undefined;
  /** Whether the runner has said that it is about to run the user's code. */
  hasBegun: boolean;
  stalls: StallWatch | undefined;
  processor: ProcessorMeter | undefined;
  seen: Use;
}

/**
 * Follows a launched sandbox to its end, and ends it when it must. When it resolves, every process of it is dead and
 * everything it wrote has been read. Throws when the user's code was never reached.
 */
export async function supervise(launched: Launched, around: Surroundings): Promise<Supervised> {
  const course: Course = {
    launched,
    around,
    named: new Map(),
    streams: [launched.control],
    releases: [],
    followed: [],
    processes: launched.isReady ? listKnown(launched) : [],
    startupText: "",
    stopped: undefined,
    mode: undefined,
    reported: undefined,
    askedAtMs: Number.POSITIVE_INFINITY,
    startedAtMs: undefined,
    hasBegun: false,
    processor: undefined,
    stalls: undefined,
    seen: { memoryBytes: 0, processorMs: 0 },
  };
  const control = listen(course);
  try {
    const exit = await launched.waitForExit();
    release(course);
    launched.kill(course.processes);
    await launched.waitForDeath(course.processes);
    for (const readOn of course.followed) readOn();
    await waitForEnds(course.streams, STREAM_END_TIMEOUT_MS);
    control.end();
    return { facts: toFacts(course, exit), named: course.named };
  } finally {
    release(course);
  }
}

function listen(course: Course): ControlReader {
  const { launched, around } = course;
  const { signal } = around.watch;
  const startTimer = launched.isReady ? undefined : setTimeout(() => stop(course, "start_timed_out"), START_TIMEOUT_MS);
  const onAbort = () => stop(course, "cancelled");
  course.releases.push(
    () => clearTimeout(startTimer),
    () => signal?.removeEventListener("abort", onAbort),
  );
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted === true) onAbort();
  const control = createControlReader((event) => follow(course, event, startTimer));
  course.followed.push(around.turns.follow(launched.control, control.take));
  launched.control.on("error", () => undefined); // It hung up; the exit event of the process is handled elsewhere.
  if (launched.isReady) {
    letGo(course, undefined);
    return control;
  }
  launched.stdout.resume();
  launched.stderr.on("data", (chunk: Buffer) => {
    if (course.startedAtMs === undefined)
      course.startupText = (course.startupText + chunk.toString("utf8")).slice(0, STARTUP_TEXT_MAX);
  });
  return control;
}

function follow(course: Course, event: ControlEvent, startTimer: NodeJS.Timeout | undefined): void {
  const { request, watch } = course.around;
  switch (event.type) {
    case "ready":
      if (course.processes.length === 0) letGo(course, [event.stdout, event.stderr]);
      return;
    case "started":
      course.hasBegun ||= course.processes.length > 0;
      if (course.startedAtMs !== undefined || course.processes.length === 0) return;
      clearTimeout(startTimer);
      startClocks(course, within(event.atMs, course.askedAtMs, performance.now()));
      return;
    case "mode":
      course.mode ??= event.mode;
      return;
    case "progress":
      watch.onProgress?.(event.progress);
      return;
    case "output":
      if (course.named.size < request.limits.outputFilesMax) course.named.set(event.name, event.file);
      return;
    case "end":
      course.reported ??= event;
  }
}

/** The runner is up and nothing of the user's has run: learn its processes, take its streams, and give it the request. */
function letGo(course: Course, pipes: readonly number[] | undefined): void {
  const { launched } = course;
  if (!launched.isReady) course.processes = listKnown(launched);
  const runner = course.processes.at(-1);
  if (runner === undefined || course.stopped !== undefined) return;
  if (launched.cgroup?.holds(runner.pid) === false) {
    course.startupText += "It is outside of its cgroup, so nothing would limit its memory.";
    launched.hangUp();
    return;
  }
  if (pipes === undefined) return giveRequest(course, undefined);
  const ends = pipes.map((descriptor) => ({ pid: runner.pid, descriptor, end: "read" as const }));
  const give = (opened: Readable[] | undefined) => {
    if (course.stopped === undefined) giveRequest(course, opened);
  };
  // Where they are not to be had, the streams that the runner was started with stay.
  launched.reach.openEnds(ends).then(give, () => give(undefined));
}

/** `opened` are its stdout and stderr, where they are not those it was started with. */
function giveRequest(course: Course, opened: readonly Readable[] | undefined): void {
  const { launched, around } = course;
  for (const [index, name] of (["stdout", "stderr"] as const).entries()) {
    const stream = opened?.[index] ?? launched[name];
    course.followed.push(around.turns.follow(stream, (chunk) => around.log.add(name, chunk)));
    stream.on("error", () => undefined);
    course.streams.push(stream);
  }
  course.askedAtMs = performance.now();
  launched.sendRequest(around.toRequestLine(opened !== undefined));
  // Packages are in a lane's interpreter already, and could keep it from ever saying that it has started.
  if (launched.isReady) startClocks(course, course.askedAtMs);
}

function listKnown(launched: Launched): KnownProcess[] {
  return launched.listProcesses().flatMap((pid) => findProcess(pid) ?? []);
}

/** From here on code of packages and of the user can run: time is measured, billed and limited. */
function startClocks(course: Course, startedAtMs: number): void {
  const { launched, around, processes } = course;
  const { limits } = around.request;
  course.startedAtMs = startedAtMs;
  around.watch.onStarted?.();
  const stalls = (course.stalls = watchStalls());
  let timer = setTimeout(
    () => {
      if (stalls.hasJustEnded()) timer = setTimeout(() => stop(course, "timed_out"), AFTER_STALL_MS);
      else stop(course, "timed_out");
    },
    Math.max(0, (limits.timeoutSeconds - around.secondsBefore) * 1000 - (performance.now() - startedAtMs)),
  );
  const shareTimer = setTimeout(() => launched.cgroup?.setShare("long"), NEW_FOR_MS);
  course.releases.push(
    stalls.stop,
    () => clearTimeout(timer),
    () => clearTimeout(shareTimer),
  );
  const runner = processes.at(-1);
  const top = processes.at(-2) ?? runner;
  if (runner === undefined || top === undefined) return;
  if (launched.cgroup?.boundsProcessor !== true) course.processor = createProcessorMeter(listTree(top.pid));
  const tree = {
    outputsDir: launched.outputsDir,
    reach: launched.reach,
    hasOwnDisk: launched.hasOwnDisk === true,
    rootPid: top.pid,
    rootDir: launched.rootDirOf?.(runner.pid),
    scratchDirs: launched.scratchDir === undefined ? INSIDE.scratch : [INSIDE.sharedMemory],
    scratchDisk: launched.scratchDir,
    limits,
    disk: around.watch.disk,
    memoryBytesMax:
      launched.cgroup === undefined || launched.measureMemory !== undefined ? limits.memoryBytes : undefined,
    measureMemory: launched.measureMemory,
    processor: course.processor && { meter: course.processor, msMax: limits.timeoutSeconds * limits.cpu * 1000 },
  };
  const note = (now: Use) => {
    const { memoryBytes, processorMs } = course.seen;
    course.seen = {
      memoryBytes: Math.max(memoryBytes, now.memoryBytes),
      processorMs: Math.max(processorMs, now.processorMs),
    };
  };
  course.releases.push(startWatchdog(tree, (excess) => stop(course, excess), note));
}

function stop(course: Course, reason: NonNullable<Course["stopped"]>): void {
  const { launched, processes } = course;
  if (course.stopped !== undefined || launched.hasExited()) return;
  course.stopped = reason;
  if (reason === "cancelled" && course.startedAtMs !== undefined) return askToEnd(course);
  if (processes.length > 0) return launched.kill(processes);
  // Namespaces half made are hard to catch. A runner whose host hangs up ends, and everything around it with it.
  launched.hangUp();
  const timer = setTimeout(() => launched.kill(course.processes), HALF_MADE_TIMEOUT_MS);
  course.releases.push(() => clearTimeout(timer));
}

/** Lets the user's process put things in order, for a moment: what it leaves in `outputs/` by then is kept. */
function askToEnd({ launched, processes, releases }: Course): void {
  const runner = processes.at(-1);
  try {
    if (runner !== undefined) process.kill(runner.pid, "SIGTERM");
  } catch {
    // It has just ended.
  }
  const timer = setTimeout(() => launched.kill(processes), CANCEL_GRACE_MS);
  releases.push(() => clearTimeout(timer));
}

function release(course: Course): void {
  for (const undo of course.releases.splice(0)) undo();
}

function toFacts(course: Course, exit: Exit): ExecutionFacts {
  const { stopped, mode, reported, hasBegun, launched } = course;
  const oomKills = launched.cgroup?.countOomKills() ?? 0;
  const secondsUsed = countSeconds(course, exit);
  const explained = hasBegun || reported !== undefined || oomKills > 0 || stopped !== undefined;
  if (!explained || stopped === "start_timed_out") {
    throw new NotStartedError(
      `The sandbox did not start (exit code ${exit.code ?? exit.signal}). ${course.startupText.trim()}`,
      secondsUsed,
    );
  }
  if (launched.exitOf === "sandbox" && exit.code === null && stopped === undefined && oomKills === 0)
    throw new Error("The sandbox of an execution was ended from outside.");
  const ended = { stopped, exitCode: exit.code, exitSignal: exit.signal, oomKills, mode, reported };
  const processorSeconds = course.processor && course.processor.usedMs() / 1000;
  return Object.assign(ended, { secondsUsed, processorSeconds, seen: course.seen });
}

/** To the millisecond. The limit is what was reserved and agreed to; that ending the process takes a moment longer is ours. */
function countSeconds({ startedAtMs, stalls, stopped, reported, around }: Course, exit: Exit): number {
  const { timeoutSeconds } = around.request.limits;
  if (stopped === "timed_out") return timeoutSeconds;
  const earliestMs = stalls?.earliest(exit.atMs) ?? exit.atMs;
  const endedAtMs = reported === undefined ? earliestMs : within(reported.atMs, earliestMs, exit.atMs, earliestMs);
  const seconds = startedAtMs === undefined ? 0 : Math.max(0, endedAtMs - startedAtMs) / 1000;
  return Math.round(Math.min(around.secondsBefore + seconds, timeoutSeconds) * 1000) / 1000;
}

/** A time that a program says, where it is one that can be true. */
function within(saidMs: number | undefined, fromMs: number, toMs: number, otherwiseMs = toMs): number {
  return saidMs !== undefined && saidMs >= fromMs && saidMs <= toMs ? saidMs : otherwiseMs;
}
