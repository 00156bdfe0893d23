import { createActivities } from "../activities/index.ts";
import type { PythonDeps } from "../activities/python.ts";
import { findCgroupFolders } from "../activities/sandbox/cgroup-folders.ts";
import type { Network } from "../activities/sandbox/network/network.ts";
import type { Storage } from "../activities/storage/storage.ts";
import { createTicks, type DecidedTick, type Ticks } from "../activities/ticks.ts";
import { createListener, type DatabaseAddress, type Db } from "../db/connect.ts";
import { microCredits, type Prices, parseCredits } from "../domain/credits.ts";
import type { ExecutionId } from "../domain/ids.ts";
import { startRemovingAbandonedUploads } from "./abandoned-uploads.ts";
import { type Admissions, createAdmissions } from "./admissions.ts";
import { startPreparingCommits } from "./commit-preparation.ts";
import type { Settings } from "./config.ts";
import type { DescriptorBudget } from "./descriptors.ts";
import { type CallersDoor, drain, drainMsMax, type Stopping } from "./draining.ts";
import { startCountingDays } from "./execution-days.ts";
import { cancelNotice, createExecutions, startFromRecord } from "./executions.ts";
import type { OwnLacks } from "./host-lacks.ts";
import { type Host, openPrograms } from "./host-programs.ts";
import { createExecutionId } from "./ids.ts";
import { startAddingUpKept } from "./kept-bytes.ts";
import type { SecretBox } from "./keys/secret-box.ts";
import type { Defer } from "./lifecycle.ts";
import type { Log } from "./log.ts";
import { startPresence, type WorkersWatch, watchWorkers } from "./presence.ts";
import { startPruning } from "./pruning.ts";
import { createReadiness } from "./readiness.ts";
import { retentionOf, startRetention, toFigures } from "./retention.ts";
import { createKeeper, type Keeper } from "./schedules/keeper.ts";
import { createTemporalSchedules } from "./schedules/temporal-schedules.ts";
import { keepBallast } from "./setup/ballast.ts";
import type { Machine } from "./setup/machine.ts";
import type { Temporal } from "./setup/servers/temporal.ts";
import type { TemporalEntry } from "./setup/servers/temporal-door.ts";
import { createSweeper, type SweeperDeps } from "./sweeper.ts";
import { createDriver, type Driver } from "./temporal.ts";
import { createWaiters, type Notice } from "./waiters.ts";
import { connectTemporal, startWorkers, type Workers } from "./workers.ts";

export interface ServiceDeps {
  readonly settings: Settings;
  readonly machine: Machine;
  readonly db: Db;
  readonly databaseAddress: DatabaseAddress;
  readonly temporal: TemporalEntry & Pick<Temporal, "namespace" | "pages" | "openPortsProblem">;
  readonly storage: Storage;
  readonly secretBox: SecretBox;
  readonly hostId: string;
  readonly processId: string;
  readonly host: Host;
  readonly descriptors: DescriptorBudget;
  /** Instead of sandbox and Python; see `StartInput`. */
  readonly runProgram?: PythonDeps["runProgram"] | undefined;
  /** Who else hears what the database announces. */
  readonly notices: readonly Notice[];
  /** Told of every program that ends here. */
  readonly onRun: (path: "cold" | "lane", secondsUsed: number) => void;
  /** Told of every time a schedule was due that got its record here. */
  readonly onTick: (tick: DecidedTick) => void;
  readonly stopping: Stopping;
  readonly log: Log;
}

export type ExecutionParts = Awaited<ReturnType<typeof openExecutionParts>>;

/** The prices of this installation. The settings' shape has been checked already. */
export function pricesOf(settings: Settings): Prices {
  return {
    perCpuSecond: parseCredits(settings.TREADLE_CREDITS_PER_CPU_SECOND) ?? microCredits(0),
    perExecution: parseCredits(settings.TREADLE_CREDITS_PER_EXECUTION) ?? microCredits(0),
  };
}

/**
 * Opens the parts of a process that executions go through, in order, and hands each one's closing to `defer`: listening
 * for ends, the Temporal connection, the workers (unless the process only answers callers), the sweeper.
 */
export async function openExecutionParts(deps: ServiceDeps, defer: Defer) {
  const { settings, db, storage, log, hostId, processId, host } = deps;
  const { slotCount, sandbox } = host;
  const networkProblem = () => findNetworkProblem(deps, host.network);
  const programs = openPrograms({ ...deps, networkProblem });
  const { environments, spool, slots, diskProblem, lacks } = programs;
  defer(startPruning({ db, sandbox, environments, checkouts: programs.checkouts, log }).close);

  let stopProgram: (executionId: ExecutionId) => boolean = () => false;
  const admissions = createAdmissions({ db, log });
  const keeper = createKeeper();
  const waiters = createWaiters({
    db,
    openSession: () => createListener(deps.databaseAddress, "treadle listener"),
    notices: [
      ...deps.notices,
      cancelNotice({ stop: (executionId) => stopProgram(executionId) }),
      admissions.notice,
      keeper.notice,
    ],
    onFault: (error) => log.warn({ event: "fault", error }, "Listening for ended executions was interrupted."),
  });
  defer(() => waiters.close());

  const { connection, driver, ticks } = await openTemporal(deps, keeper, defer);
  const { activities, python, keeping } = createActivities({
    db,
    prices: pricesOf(settings),
    recordTick: ticks.recordTick,
    hostId,
    processId,
    ...{ storage, spool, slots },
    runProgram: deps.runProgram ?? programs.runProgram,
    onEnded: waiters.resolve,
    onFault: (executionId, error) =>
      log.warn({ event: "execution.fault", executionId, error }, "An attempt met a fault of ours."),
  });
  stopProgram = (executionId) => python.stop(executionId, "cancelled");

  const workers = await openWorkers(deps, { connection, activities, python }, defer);

  const executions = createExecutions({
    ...{ db, driver, waiters, python, slots, slotCount, diskProblem },
    hostProblem: (lacks ?? openWorkersWatch(deps, defer)).problemOf,
  });
  const commitProblems = programs.commitEnvironments.problems;
  const readiness = openReadiness(deps, driver, { networkProblem, diskProblem, commitProblems });
  // Programs are run elsewhere, or by somebody else's code: nothing to warm here.
  const isRunner = settings.TREADLE_ROLE !== "api" && deps.runProgram === undefined;
  if (isRunner && host.isolationProblems.length === 0)
    defer(startPreparingCommits({ db, log, commitEnvironments: programs.commitEnvironments }).close);
  return {
    executions,
    readiness,
    waiters,
    removed: openHousekeeping({ ...deps, driver, activities, keeping, spool, admissions, lacks }, defer),
    workersEnded: workers === undefined ? [] : [workers.ended],
    drain: (door: CallersDoor | undefined, asked: boolean) =>
      drain({ ...deps, waiters, programs: workers && { python, workers } }, door, asked),
    python,
    environments,
    commitEnvironments: programs.commitEnvironments,
    host,
    interpreters: host.interpreters,
    spool,
    slots,
    warm: isRunner ? programs.warm : undefined,
    runsByPath: programs.runsByPath,
    ticks,
    lanes: sandbox.laneFigures,
    liveProgress: programs.progressOf,
    networkProblem,
  };
}

function openReadiness(
  deps: ServiceDeps,
  driver: Driver,
  problems: Pick<Parameters<typeof createReadiness>[0], "networkProblem" | "diskProblem" | "commitProblems">,
) {
  const { db, storage, settings, host, machine, descriptors, temporal } = deps;
  return createReadiness({
    ...{ db, storage, driver, ...problems, dataDir: machine.dataDir, descriptors, temporal },
    isolation: settings.TREADLE_ISOLATION,
    isInGvisor: machine.gvisor !== undefined,
    isolationProblems: host.isolationProblems,
    laneProblem: host.sandbox.laneProblem,
    sandboxUsers: machine.sandboxUsers,
    runDisksProblem: machine.runDisks.problem,
    cgroups: findCgroupFolders(),
    isStopping: () => deps.stopping.isStopping,
  });
}

const now = (): Date => new Date();

/** The connection, and what comes over it: starts of executions and the ticks of schedules. */
async function openTemporal(deps: ServiceDeps, keeper: Keeper, defer: Defer) {
  const { db, processId, onTick, log } = deps;
  const { namespace } = deps.temporal;
  const connection = await connectTemporal(deps.temporal);
  defer(() => connection.close());
  const driver = createDriver(connection, namespace);
  const ticks = openTicks(deps, driver);
  // Before any tick is fired here: whether the service was there when one was due is known from then on.
  const schedules = createTemporalSchedules(connection, namespace);
  await keeper.open({ db, ticks, processId, onTick, log, now, schedules });
  defer(() => keeper.close());
  return { connection, driver, ticks };
}

function openTicks(deps: ServiceDeps, driver: Driver): Ticks {
  const { db, settings, processId } = deps;
  return createTicks({
    db,
    prices: pricesOf(settings),
    keptBytesMax: settings.TREADLE_ACCOUNT_STORAGE_BYTES_MAX,
    processId,
    createExecutionId,
    now,
    startExecution: (executionId) => startFromRecord({ db, driver }, executionId),
    onTick(tick) {
      deps.onTick(tick);
      deps.log.info({ event: "tick.decided", ...tick }, "A time that a schedule was due has its record.");
    },
  });
}

/** What a process that only answers callers knows of those that run programs. */
function openWorkersWatch({ db, log }: ServiceDeps, defer: Defer): WorkersWatch {
  const watch = watchWorkers({ db, log });
  defer(() => watch.close());
  return watch;
}

/** What lets waiting executions in, what repairs, and what forgets. Answers what tells how much was forgotten. */
function openHousekeeping(
  deps: Pick<ServiceDeps, "settings" | "storage" | "machine" | "hostId"> &
    Omit<SweeperDeps, "hostGoneSeconds"> & { admissions: Admissions; lacks: OwnLacks | undefined },
  defer: Defer,
): () => Readonly<Record<string, number>> {
  const { db, storage, processId, log, admissions } = deps;
  admissions.open(deps.driver);
  defer(() => admissions.close());
  const hostGoneSeconds = deps.settings.TREADLE_HOST_GONE_SECONDS;
  const presence = startPresence({ ...deps, hostGoneSeconds });
  defer(() => presence.close());
  const sweeper = createSweeper({ ...deps, hostGoneSeconds });
  defer(() => sweeper.close());
  const uploads = startRemovingAbandonedUploads({ db, storage, processId, log });
  defer(() => uploads.close());
  const days = startCountingDays({ db, log });
  defer(() => days.close());
  defer(openBallast(deps));
  const kept = startAddingUpKept({ db, log });
  defer(() => kept.close());
  const retention = startRetention({ db, storage, retention: retentionOf(deps.settings), log });
  defer(() => retention.close());
  return () => toFigures(retention.removed());
}

/** Answers what stops looking after it. */
function openBallast({ machine, log }: Pick<ServiceDeps, "machine" | "log">): () => void {
  const ballast = keepBallast({
    dataDir: machine.dataDir,
    onChange: (state, freeBytes) =>
      state === "made"
        ? log.info({ event: "disk.ballast", state, freeBytes }, "Some space is kept for when the disk is full.")
        : log.error({ event: "disk.ballast", state, freeBytes }, "The disk is full. Space kept for that was given up."),
  });
  return ballast.close;
}

type Worked = Pick<Parameters<typeof startWorkers>[0], "connection" | "activities"> & {
  python: ReturnType<typeof createActivities>["python"];
};

/** Returns the workers of this process; undefined where it only answers callers. */
async function openWorkers(
  deps: ServiceDeps,
  { connection, activities, python }: Worked,
  defer: Defer,
): Promise<Workers | undefined> {
  if (deps.settings.TREADLE_ROLE === "api") return undefined;
  const { hostId, host } = deps;
  const drainMs = drainMsMax(deps.settings);
  const { namespace } = deps.temporal;
  const programsMax = host.slotCount;
  const workers = await startWorkers({ connection, namespace, activities, hostId, programsMax, drainMs });
  defer(async () => {
    workers.shutdown();
    await python.drain(0); // For a start that failed half-way; otherwise nothing runs any more.
    await workers.ended;
  });
  return workers;
}

/** Why no execution can have a network here. A process that only answers callers leaves that to the workers. */
function findNetworkProblem({ settings, host }: ServiceDeps, network: Network | undefined): string | undefined {
  if (settings.TREADLE_ROLE === "api") return undefined;
  if (network !== undefined) return network.problem;
  if (settings.TREADLE_ISOLATION === "none") return "Executions have no filtered network (TREADLE_ISOLATION=none).";
  if (settings.TREADLE_SANDBOX_RUNTIME !== "bubblewrap")
    return "Executions in gVisor have no network (TREADLE_SANDBOX_RUNTIME).";
  if (host.isolationProblems.length > 0) return "Executions have no sandbox here, and so no filtered network.";
  return "Executions have no filtered network (TREADLE_NETWORK_SLOTS=0).";
}
