import { Registry } from "prom-client";
import type { PythonDeps } from "../../activities/python.ts";
import { createSmallObjects } from "../../db/executions/small-objects.ts";
import { findCgroupFolders } from "../../sandbox/cgroup-folders.ts";
import { openStorage } from "../../storage/open.ts";
import { withSmallObjects } from "../../storage/small-objects.ts";
import type { Defer } from "../../system/releases.ts";
import { type Environment, type Settings, storageOf } from "../config.ts";
import { startPruning } from "../housekeeping/pruning.ts";
import { startMovingSmallObjects } from "../housekeeping/small-objects.ts";
import { createEditorEvents } from "../http/editor-events/editor-events.ts";
import { createProcessId } from "../ids.ts";
import { openKeyRing } from "../keys/key-ring.ts";
import { createKeyUses } from "../keys/key-uses.ts";
import { requireMasterKey } from "../keys/master-key.ts";
import { createOpenAccess } from "../keys/open-access.ts";
import type { Log, Output } from "../log.ts";
import { showTemporalCertificate } from "../metrics/certificate.ts";
import { countEndedExecutions } from "../metrics/ended.ts";
import { createMetrics } from "../metrics/metrics.ts";
import { createProgramTimes } from "../metrics/programs.ts";
import { createReadiness, readyOnceOpen } from "../metrics/readiness.ts";
import { countTicks } from "../metrics/ticks.ts";
import { startPreparingCommits } from "../publish/commit-preparation.ts";
import { createCommitWarming } from "../publish/commit-warming.ts";
import type { Machine } from "../setup/machine.ts";
import type { Postgres } from "../setup/servers/postgres.ts";
import type { Temporal } from "../setup/servers/temporal.ts";
import type { TemporalTls } from "../setup/servers/temporal-proxy.ts";
import { installTemporalRuntime } from "../temporal/workers.ts";
import { findVersion } from "../version.ts";
import { boundAccounts } from "./account-bound.ts";
import { openForCallers } from "./callers.ts";
import type { DescriptorBudget } from "./descriptors.ts";
import { drain, type Stopping } from "./draining.ts";
import { openEngine } from "./engine.ts";
import { loadHostId } from "./host.ts";
import { findNetworkProblem } from "./host-network.ts";
import { type Host, openPrograms } from "./host-programs.ts";
import { createHostWord } from "./host-word.ts";
import { openHousekeeping } from "./housekeeping.ts";
import { openMetricsServer } from "./metrics-server.ts";
import { openPool } from "./pool.ts";

export interface StartInput {
  readonly env: Environment;
  readonly settings: Settings;
  readonly machine: Machine;
  readonly examplesDir: string;
  readonly report: (line: string) => void;
  /** Whether a browser is to show the service once it is there. */
  readonly opensPage?: boolean;
  /** What `bench/` puts in the place of sandbox and Python, to measure the engine around them. */
  readonly runProgram?: PythonDeps["runProgram"];
}

/** What has started before the service opens. */
export interface Servers {
  readonly postgres: Postgres;
  readonly temporal: Temporal;
  readonly host: Host;
}

/** A service that is open. */
export interface Service {
  /** The end of each worker of this process. It has none where it only answers callers. */
  readonly workersEnded: readonly Promise<void>[];
  /** Ends what is under way; see `drain` of draining.ts. To be called before the service is closed. */
  drain(asked: boolean): Promise<void>;
  /** Prints the banner, where callers can come, and opens its page in a browser where that is asked for. */
  announce(output: Output, opensPage: boolean): void;
}

/**
 * Opens the service on its servers and this host. The parts stand in the order in which they start. Each hands its
 * closing to `defer`, so they close in the reverse order.
 */
export async function openService(
  input: StartInput,
  { postgres, temporal, host, descriptors, log }: Servers & { descriptors: DescriptorBudget; log: Log },
  defer: Defer,
): Promise<Service> {
  const { machine, runProgram } = input;
  const takesCalls = input.settings.TREADLE_ROLE !== "worker";
  const runsPrograms = input.settings.TREADLE_ROLE !== "api";
  // A benchmark's stand-in needs no Python: there is nothing to prepare for it.
  const runsPython = runsPrograms && runProgram === undefined;
  const stopping: Stopping = { isStopping: false, leaving: new AbortController() };

  // The database, the master key and storage.
  const db = await openPool(input.settings, postgres.connection);
  defer(() => db.destroy());
  const settings = await boundAccounts(input.settings, { db, env: input.env, storageDir: machine.paths.storage });
  const masterKeyFile = settings.TREADLE_MASTER_KEY_FILE ?? `${machine.paths.keys}/master`;
  const keyRing = await openKeyRing(masterKeyFile, log);
  defer(() => keyRing.close());
  const { box: secretBox } = keyRing;
  await requireMasterKey(db, { secretBox, file: masterKeyFile });
  const stored = await openStorage({ ...storageOf(settings), dir: machine.paths.storage });
  const small = createSmallObjects(db);
  const storage = withSmallObjects(stored, small);
  const moving = startMovingSmallObjects({ small, storage: stored, log });
  defer(() => moving.close());
  const common = { settings, machine, db, storage, host, log };
  const hostId = await loadHostId(machine.dataDir);
  const processId = createProcessId();
  installTemporalRuntime(log);

  // What counts, and what passes changes on to open pages.
  const registry = openRegistry(temporal.tls, log);
  const endedExecutions = countEndedExecutions({ db, registry });
  const editorEvents = createEditorEvents({ db, log });
  const openAccess = createOpenAccess({ db, log });
  defer(() => openAccess.close());

  // What programs of this host need: environments, checkouts, a spool and slots.
  const networkProblem = () => findNetworkProblem(settings, host);
  const programs = openPrograms({
    ...common,
    secretBox,
    hostId,
    networkProblem,
    onRun: createProgramTimes(registry),
    runProgram,
  });
  const { environments, archives, checkouts, commitEnvironments, spool, slots, diskProblem, diskWaiting } = programs;
  const warming = createCommitWarming({ db, warm: programs.warm, log });
  defer(() => warming.close());
  const pruning = startPruning({ db, sandbox: host.sandbox, environments, archives, checkouts, log });
  defer(() => pruning.close());

  // The listener, Temporal, schedules and workers, and what callers may ask of executions.
  const engine = await openEngine(
    {
      settings,
      db,
      databaseAddress: postgres.connection,
      subscriptions: [
        endedExecutions.subscription,
        ...editorEvents.subscriptions,
        ...openAccess.subscriptions,
        ...(runsPython ? [warming.subscription, ...programs.subscriptions] : []),
      ],
      temporal,
      storage,
      secretBox,
      slotCount: host.slotCount,
      programs,
      runProgram: runProgram ?? programs.runProgram,
      hostId,
      processId,
      isStopping: () => stopping.isStopping,
      onTick: countTicks(registry),
      log,
    },
    defer,
  );
  const { listener, temporalClient, ticks, activities, keeping, python, executions, admissions } = engine;
  const readiness = createReadiness({
    db,
    storage,
    temporalClient,
    temporal,
    dataDir: machine.dataDir,
    descriptors,
    networkProblem,
    diskProblem,
    diskWaiting,
    commitProblems: commitEnvironments.problems,
    isolation: settings.TREADLE_ISOLATION,
    isInGvisor: machine.gvisor !== undefined,
    isolationProblems: host.isolationProblems,
    laneProblem: host.sandbox.laneProblem,
    sandboxUsers: machine.sandboxUsers,
    runDisksProblem: host.runDisksProblem,
    cgroups: findCgroupFolders(),
    isStopping: () => stopping.isStopping,
  });

  // Background work: the latest commits are prepared, lost executions repaired, old ones removed.
  if (runsPython && host.isolationProblems.length === 0) {
    const preparation = startPreparingCommits({ db, log, commitEnvironments });
    defer(() => preparation.close());
    warming.open(settings.TREADLE_LANES_MAX);
  }
  const { removed, presence } = openHousekeeping(
    {
      db,
      storage,
      temporalClient,
      activities,
      keeping,
      spool,
      admissions,
      findWord: createHostWord({ settings, machine, host, programs, python, stopping, keyRing }),
      settings,
      dataDir: machine.dataDir,
      hostId,
      processId,
      log,
    },
    defer,
  );

  // Figures, on a port of their own where one is set.
  const metrics = createMetrics({
    registry,
    db,
    endedExecutions,
    readiness,
    removed,
    waitingCalls: listener.count,
    waitingCallsMax: settings.TREADLE_WAITING_CALLS_MAX,
    programsRunning: python.runningCount,
    programsWaiting: () => slots.waiting(),
    programsMax: host.slotCount,
    programsByPath: programs.runsByPath,
    lanes: host.sandbox.laneFigures,
    dataDir: machine.dataDir,
    build: { version: findVersion(), node: process.versions.node, role: settings.TREADLE_ROLE },
  });
  let isOpen = !takesCalls;
  const shown = { readiness: readyOnceOpen(readiness, () => isOpen), metrics: metrics.read };
  await openMetricsPort(settings, { ...shown, log }, defer);

  // The HTTP server, last: what it serves is there.
  await host.network?.opened;
  const keyUses = createKeyUses({ db, log });
  defer(() => keyUses.close());
  const callers = takesCalls
    ? await openForCallers(
        {
          ...common,
          examplesDir: input.examplesDir,
          report: input.report,
          secretBox,
          processId,
          temporal,
          descriptors,
          programs,
          offers: engine.offers,
          workersStarted: engine.workers,
          executions,
          otherHosts: engine.otherHosts,
          notices: engine.notices,
          ticks,
          readiness,
          metrics: metrics.read,
          registry,
          editorEvents,
          openAccess,
          keyUses,
          leaving: stopping.leaving.signal,
        },
        defer,
      )
    : undefined;
  const workers = await engine.workers;
  isOpen = true;
  const running = workers && { python, workers };
  return {
    workersEnded: workers === undefined ? [] : [workers.ended],
    drain: (asked) =>
      drain({ settings, stopping, presence, db, processId, listener, programs: running, log }, callers, asked),
    announce: (output, opensPage) => callers?.announce(output, opensPage),
  };
}

/** Returns where figures are collected, with the end of the certificate that Temporal is shown. */
function openRegistry(tls: TemporalTls | undefined, log: Log): Registry {
  const registry = new Registry();
  if (tls?.caller !== undefined) showTemporalCertificate(registry, tls.caller.cert, log);
  return registry;
}

async function openMetricsPort(
  { TREADLE_METRICS_PORT: port, TREADLE_HOST: host }: Settings,
  { log, ...shown }: Pick<Parameters<typeof openMetricsServer>[0], "readiness" | "metrics"> & { readonly log: Log },
  defer: Defer,
): Promise<void> {
  if (port === undefined) return;
  const server = await openMetricsServer({ host, port, ...shown });
  defer(() => server.close());
  log.info({ event: "metrics.listening", port: server.port }, "Metrics are served on a port of their own.");
}
