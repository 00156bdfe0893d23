import { mkdirSync } from "node:fs";
import { join, posix } from "node:path";
import { writeObject } from "../domain/manifest/json-text.ts";
import { type RemoveTree, removeTree } from "../system/trees/remove-tree.ts";
import { createBubblewrapPool } from "./bubblewrap-pool.ts";
import { sweepCgroups } from "./cgroup.ts";
import { type CgroupFolders, findCgroupFolders } from "./cgroup-folders.ts";
import { createColdLauncher, type Launch } from "./cold-launch.ts";
import { ANYBODY, type PlacedInputs, placeInputs, type User } from "./input-files.ts";
import { startLane } from "./lanes/lane.ts";
import { createLanes, type Lanes, type LanesDeps } from "./lanes/lanes.ts";
import type { Launched } from "./launched.ts";
import { createLogRecorder, type LogRecorder } from "./log.ts";
import { createMask, type Mask } from "./masking.ts";
import { noteCuts } from "./network/cuts.ts";
import { addOutputs, CANCELLED, decideOutcome } from "./outcome.ts";
import { CUT_NOTE, collectOutputs, isCut, lacksDisk } from "./outputs.ts";
import { createReadingTurns, type ReadingTurns } from "./reading-turns.ts";
import {
  type LaneRequest,
  type Sandbox,
  type SandboxLimits,
  type SandboxRequest,
  type SandboxResult,
  type SandboxSettings,
  type SandboxWatch,
  SIGNALS_MAX,
  toDataBytes,
  wantsNetwork,
} from "./request.ts";
import { createRunDiskPool } from "./run-disks.ts";
import { testIsolation } from "./self-test.ts";
import { NotStartedError, type Supervised, supervise } from "./supervision.ts";
import { takeOutputs } from "./taken-outputs.ts";
import type { KernelUsers } from "./users/kernel-users.ts";
import { createSharedUser, type SandboxUser } from "./users/sandbox-user.ts";

export type * from "./request.ts";

export interface SandboxDeps extends SandboxSettings {
  /** Kernel users of which each sandbox has one to itself. Without them all share the service's, or `runAs`. */
  readonly users?: KernelUsers | undefined;
}

const NO_LANES_IN_GVISOR = "gVisor starts a kernel for each program (TREADLE_SANDBOX_RUNTIME).";
/** The wall clock ends an execution; this only catches what the wall clock somehow would not. */
const CPU_SLACK_SECONDS = 60;

/**
 * A place to run user code in. With isolation `bubblewrap` every execution gets a sandbox of its own, without a network
 * unless it asks for one. It runs under a kernel user of its own where there are `users`, else under `runAs` (or us).
 * Throws when that would be root.
 */
export function createSandbox(settings: SandboxDeps): Sandbox {
  const user = chooseUser(settings);
  const { network } = settings;
  const cgroups = findCgroupFolders();
  if (cgroups !== undefined) sweepCgroups(cgroups);
  const reader = settings.users === undefined ? user : ANYBODY;
  const shared = createSharedUser(user);
  const takeUser = (): SandboxUser => settings.users?.take() ?? shared;
  const pool = createBubblewrapPool(settings, { cgroups, takeUser });
  const remove = settings.removeTree ?? removeTree;
  const lanes = openLanes(settings, { cgroups, user: reader, takeUser, remove });
  const launchCold = createColdLauncher({ settings, pool, cgroups, user });
  const launch: Launch = async (request, inputs, signal) => {
    const lane = request.isCold === true ? undefined : await lanes?.claim(request);
    return lane === undefined ? launchCold(request, inputs, signal) : lane.launch(request, inputs);
  };
  const noLanes = settings.gvisor === undefined ? undefined : NO_LANES_IN_GVISOR;
  const running = new Set<SandboxRequest>();
  const isIsolated = settings.isolation === "bubblewrap";
  const around = { network, user: reader, isIsolated, launchCold, remove, turns: createReadingTurns() };
  const run = (request: SandboxRequest, watch: SandboxWatch = {}) => {
    checkRequest(request, settings.limits);
    running.add(request);
    const result = runExecution({ ...around, launch }, request, watch);
    return result.finally(() => running.delete(request));
  };
  return {
    run,
    warm: async (request) =>
      (await lanes?.warm(request)) ?? { warm: false, reason: noLanes ?? "Lanes are switched off." },
    usedFolders: () => new Set([...running, ...(lanes?.listRequests() ?? [])].flatMap(foldersOf)),
    laneProblem: () => noLanes ?? lanes?.problem(),
    laneFigures: () => lanes?.figures() ?? { lanes: 0, bytes: 0, evicted: 0 },
    // Not through a lane: one would be started for the probe in the background, and find its folder gone.
    selfTest: () =>
      testIsolation(
        settings,
        (request) => runExecution({ ...around, launch: launchCold }, request, {}),
        settings.lanes?.dir, // What a service that is killed meanwhile leaves there, the next start removes.
      ).catch((error: unknown) => {
        // A `runsc` that does not work here is a setting to be corrected, and no fault of this start.
        if (settings.gvisor !== undefined && error instanceof NotStartedError) return [error.message];
        throw error;
      }),
    close: async () => void (await Promise.all([pool.close(), lanes?.close()])),
  };
}

function openLanes(
  settings: SandboxSettings,
  parts: { cgroups: CgroupFolders | undefined; user: User; takeUser: () => SandboxUser; remove: RemoveTree },
): Lanes | undefined {
  if (settings.lanes === undefined || settings.isolation === "none" || settings.gvisor !== undefined) return undefined;
  const { lanes: bounds } = settings;
  const disks = settings.disks && createRunDiskPool(settings.disks.lanes, settings.disks);
  const deps = { settings, bounds, disks, ...parts };
  return createLanes({ ...deps, selfTest: () => testLane(deps) });
}

function foldersOf({ commitDir, environmentDir }: LaneRequest): string[] {
  return environmentDir === null ? [commitDir] : [commitDir, environmentDir];
}

const unwatched = {
  onChange: () => undefined,
  onGrowth: () => undefined,
  onFailure: () => undefined,
  onServed: () => undefined,
  onWorn: () => undefined,
};

/** Tries whether an execution in a lane is as confined as one on the cold path. Returns what was possible. */
async function testLane(deps: Omit<LanesDeps, "selfTest"> & { readonly user: User }): Promise<string[]> {
  const { settings, bounds, user, remove } = deps;
  const runInLane = async (request: SandboxRequest) => {
    const lane = await startLane({ ...deps, disk: await deps.disks?.take(), ...unwatched }, request);
    const launch = (given: SandboxRequest, inputs: PlacedInputs) => lane.launch(given, inputs);
    try {
      const around = { network: undefined, user, isIsolated: true, remove, turns: createReadingTurns() };
      return await runExecution({ ...around, launch, launchCold: launch }, request, {});
    } finally {
      await lane.close();
    }
  };
  return testIsolation(settings, runInLane, bounds.dir);
}

function chooseUser({ runAs }: SandboxSettings): User {
  const user = runAs ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  if (user.uid === 0) {
    // A sandbox started by root stays root for the kernel, with any user name inside.
    throw new Error(
      "User code must not run as root. Set `runAs` to an unprivileged user, or start the service as one.",
    );
  }
  return user;
}

interface Launcher {
  readonly network: SandboxSettings["network"];
  /** Who must be able to read the inputs. */
  readonly user: User;
  readonly remove: RemoveTree;
  readonly isIsolated: boolean;
  readonly launch: Launch;
  readonly launchCold: Launch;
  readonly turns: ReadingTurns;
}

async function runExecution(
  { network, user, isIsolated, launch, launchCold, remove, turns }: Launcher,
  request: SandboxRequest,
  watch: SandboxWatch,
): Promise<SandboxResult> {
  const { spoolDir, limits } = request;
  const outputsDir = join(spoolDir, "outputs");
  const inputsDir = join(spoolDir, "inputs");
  if (request.files.length > 0) mkdirSync(inputsDir, { mode: user === ANYBODY ? 0o710 : 0o711 });
  const { onLine } = watch;
  const mask = createMask(request.secrets ?? []);
  const idsAfter = request.logStart?.idsAfter;
  const log = createLogRecorder(join(spoolDir, "log.ndjson"), limits.logBytesMax, { onLine, idsAfter, mask });
  const unfollow = noteCuts(network, request.network, log);
  let launched: Launched | undefined;
  try {
    const endUnstarted = async (): Promise<SandboxResult> => ({
      outcome: { status: "cancelled", message: CANCELLED, secondsUsed: 0 },
      path: "cold",
      outputs: [],
      ...(await log.close()),
    });
    if (watch.signal?.aborted === true) return await endUnstarted();
    if (lacksDisk(spoolDir, []))
      throw new Error("The disk that outputs are written to is full: nothing is begun on it.");
    const inputs = await placeInputs(request.files, inputsDir, user);
    const follow = (place: Launched, secondsBefore: number) =>
      supervise(place, {
        request,
        toRequestLine: (pipes) => toRunnerRequest(request, inputs, place, pipes),
        log,
        watch: withMask(watch, mask),
        turns,
        secondsBefore,
      });
    launched = await launch(request, inputs, watch.signal).catch((error: unknown) => {
      if (watch.signal?.aborted === true) return undefined;
      throw error;
    });
    if (launched === undefined) return await endUnstarted();
    if (request.logStart !== undefined) log.note(request.logStart.note);
    let place = launched;
    const { facts, named } = await follow(place, 0).catch(async (error: unknown) => {
      if (!(error instanceof NotStartedError) || place.path === "cold") throw error;
      await place.release(false); // Its lane had died while it waited; the cold path is always there.
      place = launched = await launchCold(request, inputs, watch.signal);
      return follow(place, error.secondsUsed);
    });
    unfollow(); // Nothing is noted in a log that is closed.
    await place.reach.takeBack(place.outputsDir);
    const connections = await place.readConnections?.();
    launched = undefined;
    const concluded = await conclude({ facts, named }, place, { request, outputsDir, log, remove });
    const { outcome } = concluded;
    const message = mask?.maskText(outcome.message) ?? outcome.message;
    return { ...concluded, path: place.path, outcome: { ...outcome, message, connections } };
  } finally {
    await clearAway([
      unfollow,
      () => log.close().catch(() => undefined), // A failure has been reported where the log is needed.
      () => launched?.release(false),
      () => request.files.length > 0 && remove(inputsDir),
      () => !isIsolated && remove(join(spoolDir, "work")),
    ]);
  }
}

/** What a program says of its progress goes to rows and pages, as its log does. */
function withMask(watch: SandboxWatch, mask: Mask | undefined): SandboxWatch {
  const { onProgress } = watch;
  if (mask === undefined || onProgress === undefined) return watch;
  return {
    ...watch,
    onProgress: ({ fraction, message }) => onProgress({ fraction, message: mask.maskText(message) }),
  };
}

/** How an execution ended whose processes are all dead, with its outputs and its log. */
async function conclude(
  { facts, named }: Supervised,
  place: Launched,
  around: { request: SandboxRequest; outputsDir: string; log: LogRecorder; remove: RemoveTree },
): Promise<Omit<SandboxResult, "path">> {
  const { request, outputsDir, log, remove } = around;
  const outcome = decideOutcome(facts, request.limits);
  const dropOutputs = async (): Promise<Omit<SandboxResult, "path">> => {
    // First of all: without room nobody can record how this execution ended.
    await place.release(true);
    await remove(outputsDir);
    return { outcome, outputs: [], ...(await log.close().catch(() => ({ logBytes: 0, logTruncated: true }))) };
  };
  if (facts.stopped === "disk") return dropOutputs();
  const release = async (error: unknown): Promise<never> => {
    await place.release(false);
    throw error;
  };
  const left = await collectOutputs(place.outputsDir, request.limits, named).catch(release);
  const { fileBytesMax } = request.limits;
  if (isCut({ ...facts, ...outcome }, left, { folder: place.outputsDir, fileBytesMax })) {
    log.note(CUT_NOTE);
    return dropOutputs();
  }
  const { heldBytesMax = 0, spoolDir } = request;
  const collected = await takeOutputs(left, { from: place.outputsDir, to: outputsDir, heldBytesMax }).catch(release);
  await place.release(true);
  for (const note of collected.notes) log.note(note);
  const complete = addOutputs(outcome, collected, request);
  if (complete.status === "failed" && lacksDisk(spoolDir, collected.outputs))
    throw new Error("The disk that outputs are written to is full: a failure is not the program's for certain.");
  return { outcome: complete, outputs: collected.outputs, ...(await log.close(heldBytesMax > 0)) };
}

/** Takes each step, also after one that failed. Throws a failure when all have been taken. */
async function clearAway(steps: readonly (() => unknown)[]): Promise<void> {
  const faults: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      faults.push(error);
    }
  }
  if (faults.length > 0) throw faults[0];
}

function checkRequest(request: SandboxRequest, ceilings: SandboxLimits): void {
  const { entrypoint } = request;
  if (posix.isAbsolute(entrypoint) || posix.normalize(entrypoint) !== entrypoint || entrypoint.startsWith("..")) {
    throw new RangeError(`The entrypoint ${JSON.stringify(entrypoint)} is not a path inside the commit.`);
  }
  for (const [name, ceiling] of Object.entries(ceilings)) {
    const asked = request.limits[name as keyof SandboxLimits];
    if (!(asked > 0 && asked <= ceiling))
      throw new RangeError(`The limit ${name} must be above 0 and at most ${ceiling}, and is ${asked}.`);
  }
}

/** One line of JSON, as `runner/protocol.md` describes it. */
function toRunnerRequest(
  request: SandboxRequest,
  inputs: PlacedInputs,
  { paths, cgroup }: Launched,
  pipes: boolean,
): string {
  const { limits, kinds } = request;
  const given: Record<string, unknown> = { ...request.inputs, ...inputs.values };
  const values = Object.fromEntries(Object.keys(kinds).map((name) => [name, given[name] ?? null]));
  const inputsText = writeObject(values, request.inputTexts ?? {});
  const line = {
    ...paths,
    entrypoint: request.entrypoint,
    arguments: request.arguments ?? null,
    inputs: null,
    inputsText,
    kinds,
    variables: request.variables ?? {},
    network: wantsNetwork(request),
    outputFilesMax: limits.outputFilesMax,
    pipes,
    rlimits: {
      NPROC: limits.processes,
      NOFILE: limits.openFiles,
      FSIZE: Math.max(limits.fileBytesMax, limits.scratchBytes),
      CORE: 0,
      SIGPENDING: SIGNALS_MAX,
      CPU: Math.ceil(limits.timeoutSeconds * Math.max(1, limits.cpu)) + CPU_SLACK_SECONDS,
      ...(cgroup === undefined ? { DATA: toDataBytes(limits) } : {}),
    },
  };
  // Line breaks are white space there, and would end the line.
  return `${writeObject(line, { inputs: inputsText.replaceAll(/[\r\n]/g, " ") })}\n`;
}
