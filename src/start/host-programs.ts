import { fileURLToPath } from "node:url";
import { createProgramRunner, createWarmer, findHostProblem, worstCaseBytes } from "../../activities/program.ts";
import { createSpool } from "../../activities/spool.ts";
import type { Db } from "../../db/connect.ts";
import { findLimits } from "../../db/executions/limits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { scratchOnDisk } from "../../domain/manifest/bounds.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { createEnvironmentArchives } from "../../environments/archives.ts";
import { createEnvironments } from "../../environments/builder.ts";
import { createCheckouts } from "../../environments/checkout.ts";
import { createCommitEnvironments } from "../../environments/commit-environments.ts";
import { createInterpreters } from "../../environments/interpreters.ts";
import { createDiskRoom, withDiskRoom } from "../../sandbox/disk-room.ts";
import { scratchDiskBytes } from "../../sandbox/run-disks.ts";
import { prepareRunnerFolder } from "../../sandbox/runner-folder.ts";
import { createRuntimes } from "../../sandbox/runtimes.ts";
import type { LaneSettings, Sandbox, SandboxLimits } from "../../sandbox/sandbox.ts";
import { createSandbox } from "../../sandbox/sandbox.ts";
import type { Storage } from "../../storage/storage.ts";
import { createSlots } from "../../system/slots.ts";
import { createThreads } from "../../system/threads/threads.ts";
import { createTrash } from "../../system/trees/trash.ts";
import { OUTPUT_FILES_MAX, type Settings, slotCountOf } from "../config.ts";
import { createHostLacks } from "../executions/host-lacks.ts";
import { createScratchDisks } from "../executions/scratch-disks.ts";
import type { SecretBox } from "../keys/secret-box.ts";
import { createTakeValues } from "../keys/taken-values.ts";
import type { Log } from "../log.ts";
import { createCommitReader } from "../publish/commit-files.ts";
import { createSourceReader, type ReadSource } from "../publish/source-reader.ts";
import type { Machine } from "../setup/machine.ts";
import { examinePython } from "../setup/python.ts";
import { runCommand } from "../setup/servers/command.ts";
import { followGrants } from "./grant-changes.ts";
import { openNetwork } from "./host-network.ts";

const RUNNER = fileURLToPath(new URL("../../runner/", import.meta.url));

interface HostDeps {
  readonly settings: Settings;
  readonly machine: Machine;
  readonly log: Log;
}

export type Host = Awaited<ReturnType<typeof openHost>>;

/** What programs run in on this host, and nothing that needs a server: it is made while those start. */
export async function openHost(deps: HostDeps) {
  const { machine, settings, log } = deps;
  const limits = ceilingsOf(settings);
  const slotCount = slotCountOf(settings);
  const runnerSources = { sourceDir: RUNNER, targetDir: machine.paths.runner };
  const runnerFolder = prepareRunnerFolder({ ...runnerSources, interpreterPath: machine.python.path });
  const interpreters = createInterpreters({
    standard: machine.python,
    env: machine.env,
    examine: (path) => examinePython(path, { env: machine.env, runAs: machine.runAs, run: runCommand }),
  });
  const [network, runDisks] = await Promise.all([openNetwork(deps), machine.runDisks, runnerFolder]);
  const trash = createTrash({
    dir: machine.paths.trash,
    onError: (path, error) =>
      log.warn({ event: "fault", path, error }, "A folder could not be removed; it is tried again."),
  });
  void trash.empty();
  const { users } = machine.sandboxUsers;
  // What a killed service left may still belong to the users of its sandboxes.
  const removeTree = async (path: string) => {
    await users?.takeBack(path);
    await trash.discard(path);
  };
  const sandbox = createSandbox({
    isolation: settings.TREADLE_ISOLATION === "none" ? "none" : "bubblewrap",
    bwrapPath: machine.bwrapPath,
    // A process that only answers callers starts none but that of its own test.
    spares: settings.TREADLE_ROLE === "api" ? 0 : undefined,
    interpreter: machine.python,
    gvisor: machine.gvisor,
    runnerDir: machine.paths.runner,
    runAs: machine.runAs,
    limits,
    users,
    lanes: lanesOf(settings, machine.paths.lanes),
    disks: runDisks.problem === undefined ? runDisks : undefined,
    network,
    removeTree,
  });
  const close = async (): Promise<void> => {
    await sandbox.close();
    void runDisks.close(); // They take a moment, which the servers' end takes, too; the machine waits for it.
    await network?.close();
    trash.close();
  };
  const isolationProblems = await findIsolationProblems(deps, sandbox).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const runtimes = createRuntimes(machine.python, runnerSources);
  return {
    network,
    sandbox: isolationProblems.length === 0 ? sandbox : refusePrograms(sandbox, isolationProblems),
    isolationProblems,
    interpreters,
    runtimes,
    ceilings: limits,
    slotCount,
    runDisksProblem: runDisks.problem,
    removeTree,
    close,
  };
}

/** What the machine lacks for sandboxes; where it lacks nothing, what a first sandbox could do that it must not. */
async function findIsolationProblems({ settings, machine }: HostDeps, sandbox: Sandbox): Promise<readonly string[]> {
  if (settings.TREADLE_ISOLATION === "none") return [];
  return machine.problems.length > 0 ? machine.problems : sandbox.selfTest();
}

/** A sandbox that runs nothing: what it would be confined by is missing, or does not hold. */
function refusePrograms(sandbox: Sandbox, problems: readonly string[]): Sandbox {
  const reason = `Programs are not run on this host: ${problems.join(" ")}`;
  return {
    ...sandbox,
    run: () => Promise.reject(new Error(reason)),
    warm: () => Promise.resolve({ warm: false, reason }),
  };
}

interface ProgramsDeps {
  readonly host: Host;
  readonly db: Db;
  readonly storage: Storage;
  readonly settings: Settings;
  readonly machine: Machine;
  readonly secretBox: SecretBox;
  readonly hostId: string;
  readonly networkProblem: () => string | undefined;
  readonly onRun: (path: "cold" | "lane", secondsUsed: number) => void;
  readonly runProgram?: unknown;
  readonly log: Log;
}

export type Programs = ReturnType<typeof openPrograms>;

/** Where environments are built, and where hosts share them: in the storage that they have in common. */
function openEnvironments(deps: ProgramsDeps, isolation: "bubblewrap" | "none") {
  const { machine, settings, db, log } = deps;
  const isShared = settings.TREADLE_STORAGE_URL !== undefined && isolation === "bubblewrap";
  const archives = isShared ? createEnvironmentArchives({ db, storage: deps.storage }) : undefined;
  const environments = createEnvironments({
    dir: machine.paths.environments,
    python: machine.python,
    uv: machine.uv,
    bwrapPath: machine.bwrapPath,
    isolation,
    runAs: machine.runAs,
    users: machine.sandboxUsers.users,
    env: machine.packageSettings,
    log,
    removeTree: deps.host.removeTree,
    archives,
  });
  return { environments, archives };
}

/** Where programs run on this host: so many at a time, and as many as its disk has room for. */
function openSlots(deps: ProgramsDeps) {
  const { host, machine, settings, db } = deps;
  // What stands in for programs is not bound to what the host can run, and writes nothing.
  const [count, bytes] =
    deps.runProgram === undefined ? [host.slotCount, worstCaseBytes(host.ceilings)] : [Number.POSITIVE_INFINITY, 0];
  const perAccountMax = Math.min(settings.TREADLE_ACCOUNT_SLOTS_MAX ?? count, count);
  const room = createDiskRoom(machine.paths.spool, { programsMax: host.slotCount, outputBytes: bytes });
  const scratch = createScratchDisks({
    room,
    scratchBytesMax: host.ceilings.scratchBytes,
    disksProblem: host.runDisksProblem,
    isInGvisor: machine.gvisor !== undefined,
  });
  const findScratchBytes = async (executionId: string): Promise<number> =>
    scratch.ceiling === 0 || deps.runProgram !== undefined
      ? 0
      : scratchDiskBytes(scratchOnDisk(await findLimits(db, executionId as ExecutionId), scratch.ceiling));
  const slots = withDiskRoom(createSlots({ count, perAccountMax }), room, bytes, findScratchBytes);
  return { slots, room, bytes, scratch };
}

/** Everything an attempt needs on this host: what it runs in, its code, its environment, a spool, and a place to run. */
export function openPrograms(deps: ProgramsDeps) {
  const { host, machine, settings, db, log } = deps;
  const { sandbox, interpreters, runtimes, ceilings, removeTree } = host;
  const isolation = settings.TREADLE_ISOLATION === "none" ? "none" : "bubblewrap";
  const { environments, archives } = openEnvironments(deps, isolation);
  const readFiles = createCommitReader(db);
  const threads = createThreads({ threadsMax: 1 });
  const commitEnvironments = createCommitEnvironments({ db, environments, interpreters, readFiles, threads, log });
  const checkouts = createCheckouts({
    dir: machine.paths.commits,
    runAs: machine.runAs,
    isolation,
    readFiles,
    removeTree,
  });
  const spool = createSpool(machine.paths.spool, removeTree);
  const { slots, room, bytes, scratch } = openSlots(deps);
  const { isolationProblems } = host;
  const abilities = { isolationProblems, networkProblem: deps.networkProblem, scratchProblem: scratch.problemOf };
  const findProblem = (manifest: Manifest) => findHostProblem(abilities, manifest);
  const { runProgram, runsByPath, progressOf } = createProgramRunner({
    db,
    sandbox,
    checkouts,
    commitEnvironments,
    runtimes,
    ceilings,
    storage: deps.storage,
    spool,
    hostId: deps.hostId,
    diskShareOf: slots.shareOf,
    smallBytesMax: settings.TREADLE_SMALL_OUTPUTS_BYTES_MAX,
    hostProblem: findProblem,
    onRun: deps.onRun,
    takeValues: createTakeValues({ db, secretBox: deps.secretBox }),
    openSecrets: (sealed, executionId) =>
      JSON.parse(deps.secretBox.open(sealed, executionId).toString("utf8")) as Record<string, string>,
  });
  const warm = createWarmer({ db, sandbox, checkouts, commitEnvironments, runtimes, ceilings });
  // A process that only answers callers runs nothing on its own disk.
  const isRunner = settings.TREADLE_ROLE !== "api";
  const diskProblem = (): string | undefined => (isRunner ? room.problem(bytes) : undefined);
  // What stands in for programs needs nothing of the host.
  const isBound = deps.runProgram === undefined;
  const subscriptions = host.network === undefined ? [] : [followGrants(host.network, db)];
  const hostLacks = createHostLacks(isBound ? { ...abilities, scratch, commitEnvironments } : undefined);
  return {
    runProgram,
    runsByPath,
    /** Undefined in a process that only answers callers. */
    lacks: isRunner ? hostLacks : undefined,
    /** The most that one program gets here. */
    ceilings,
    environments,
    archives,
    commitEnvironments,
    checkouts,
    spool,
    slots,
    progressOf,
    warm,
    diskProblem,
    diskWaiting: room.waiting,
    /** The notifications of the database that programs depend on. */
    subscriptions,
  };
}

/** Returns what reads sources on this host. Undefined on one without sandboxes. */
export function openSourceReader(
  { sandbox, runtimes, ceilings, isolationProblems }: Host,
  { paths }: Machine,
): ReadSource | undefined {
  return isolationProblems.length > 0
    ? undefined
    : createSourceReader({ sandbox, runtimes, ceilings, dir: paths.runtime });
}

function lanesOf(settings: Settings, dir: string): LaneSettings | undefined {
  if (settings.TREADLE_LANES_MAX === 0) return undefined;
  return {
    dir,
    lanesMax: settings.TREADLE_LANES_MAX,
    idleBytesMax: settings.TREADLE_LANES_BYTES_MAX,
    idleMs: settings.TREADLE_LANE_IDLE_SECONDS * 1000,
  };
}

/** The most that one execution may use on this installation; a manifest cannot raise it. */
function ceilingsOf(settings: Settings): SandboxLimits {
  return {
    timeoutSeconds: settings.TREADLE_TIMEOUT_SECONDS_MAX,
    memoryBytes: settings.TREADLE_MEMORY_BYTES_MAX,
    cpu: settings.TREADLE_CPU_MAX,
    processes: settings.TREADLE_PROCESSES_MAX,
    openFiles: settings.TREADLE_OPEN_FILES_MAX,
    fileBytesMax: settings.TREADLE_OUTPUT_BYTES_MAX,
    scratchBytes: settings.TREADLE_SCRATCH_BYTES_MAX,
    outputBytesMax: settings.TREADLE_OUTPUT_BYTES_MAX,
    outputFilesMax: OUTPUT_FILES_MAX,
    logBytesMax: settings.TREADLE_LOG_BYTES_MAX,
  };
}
