import { createActivities, type ExecutionSteps, type PythonControl } from "../../activities/index.ts";
import { createNoticeActivities } from "../../activities/notices.ts";
import type { PythonDeps } from "../../activities/python.ts";
import type { DecidedTick } from "../../activities/ticks.ts";
import { createTicks } from "../../activities/ticks.ts";
import type { DatabaseAddress } from "../../db/connect.ts";
import { createListener, type Db } from "../../db/connect.ts";
import type { Stranded } from "../../db/executions/stranded.ts";
import type { Subscription } from "../../db/subscription.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Defer } from "../../system/releases.ts";
import { boundsOf, mailOf, pricesOf, type Settings } from "../config.ts";
import { createAdmissions } from "../executions/admissions.ts";
import { answerFollowers } from "../executions/answering.ts";
import { watchCeilings } from "../executions/ceilings.ts";
import { createExecutions, startFromRecord, subscribeToCancels } from "../executions/executions.ts";
import { createOwnExecutor } from "../executions/executor.ts";
import { createHeadStart, type HeadStart } from "../executions/head-start.ts";
import { startListener } from "../executions/listener.ts";
import { createRemoteExecutor, takeOffers } from "../executions/offers.ts";
import { createOtherHosts } from "../executions/other-hosts.ts";
import { createPassOn } from "../executions/passing-on.ts";
import { type WorkersWatch, watchWorkers } from "../executions/presence.ts";
import { endCancelled } from "../executions/stranded.ts";
import { reportStranded, type SweeperDeps } from "../executions/sweeper.ts";
import { createExecutionId } from "../ids.ts";
import type { SecretBox } from "../keys/secret-box.ts";
import type { Log } from "../log.ts";
import { openNotices } from "../notices/notices.ts";
import { createNoticeOutbox } from "../notices/outbox.ts";
import { createScheduler } from "../schedules/scheduler.ts";
import { createTemporalSchedules } from "../schedules/temporal-schedules.ts";
import type { Temporal } from "../setup/servers/temporal.ts";
import { type TemporalEntry, toConnection } from "../setup/servers/temporal-proxy.ts";
import { createTemporalClient, type TemporalClient } from "../temporal/client.ts";
import { createStartDelivery } from "../temporal/notices.ts";
import { connectTemporal, startWorkers } from "../temporal/workers.ts";
import { callHostsOf, receiverRulesOf } from "./host-network.ts";
import type { Programs } from "./host-programs.ts";
import { drainMsMax } from "./lifecycle.ts";

const now = (): Date => new Date();
/** Ticks that the scheduler starts at a time, at most. Each takes a connection of the database for a moment. */
const STARTS_MAX = 8;

export interface EngineDeps {
  readonly settings: Settings;
  readonly db: Db;
  readonly databaseAddress: DatabaseAddress;
  /** Those of other parts. */
  readonly subscriptions: readonly Subscription[];
  readonly temporal: TemporalEntry & Pick<Temporal, "namespace">;
  readonly storage: Storage;
  readonly secretBox: SecretBox;
  readonly slotCount: number;
  readonly programs: Pick<Programs, "spool" | "slots" | "diskProblem" | "lacks" | "ceilings" | "progressOf">;
  readonly runProgram: PythonDeps["runProgram"];
  readonly hostId: string;
  readonly processId: string;
  /** Whether this process has been asked to stop. */
  readonly isStopping: () => boolean;
  /** Called with each tick that got its record here. */
  readonly onTick: (tick: DecidedTick) => void;
  readonly log: Log;
}

/**
 * Opens what executions go through, in the order in which it starts. That is the session that listens to the database,
 * the connection to Temporal, the schedules and the workers. A process that only answers callers has no workers.
 */
export async function openEngine(deps: EngineDeps, defer: Defer) {
  const { settings, db, temporal, storage, slotCount, programs, hostId, processId, isStopping, onTick, log } = deps;
  const { namespace } = temporal;
  const { spool, slots, diskProblem } = programs;
  const prices = pricesOf(settings);

  // The session that listens to the database. It opens before what it notifies, so that no notification is missed.
  // No program runs before the activities are there.
  let stopProgram: PythonControl["stop"] = () => false;
  let wake: TemporalClient["wake"] = async () => undefined;
  let isEndingHere: PythonControl["isEnding"] = () => false;
  let isHere: PythonControl["isHere"] = () => false;
  let ownSteps: ExecutionSteps | undefined;
  let headStart: HeadStart | undefined;
  const admissions = createAdmissions({ db, log });
  const scheduler = createScheduler();
  const outbox = createNoticeOutbox({ db, log });
  const answering = answerFollowers({
    db,
    hostId,
    own: {
      isHere: (executionId) => isHere(executionId),
      readLog: spool.readLog,
      progressOf: programs.progressOf,
      placeOf: slots.placeOf,
    },
    log,
  });
  defer(() => answering.close());
  const runsPrograms = settings.TREADLE_ROLE !== "api";
  const otherHosts = createOtherHosts({ db, hostId, runsPrograms, log });
  const listener = startListener({
    db,
    openSession: () => createListener(deps.databaseAddress, "treadle listener"),
    subscriptions: [
      ...deps.subscriptions,
      subscribeToCancels({ db, stop: (...given) => stopProgram(...given), wake: (id) => wake(id), log }),
      admissions.subscription,
      otherHosts.subscription,
      ...(runsPrograms ? [answering.subscription, takeOffers({ hostId, steps: () => ownSteps, isStopping, log })] : []),
      scheduler.subscription,
      outbox.subscription,
    ],
    isEndingHere: (executionId) => isEndingHere(executionId),
    onError: (error) => log.warn({ event: "fault", error }, "Listening for ended executions was interrupted."),
  });
  defer(() => listener.close());

  // Temporal, and the schedules kept in it.
  const connection = await connectTemporal(toConnection(temporal));
  defer(() => connection.close());
  const temporalClient = createTemporalClient(connection, namespace);
  wake = temporalClient.wake;
  const ticks = createTicks({
    db,
    prices,
    bounds: boundsOf(settings),
    keptBytesMax: settings.TREADLE_ACCOUNT_STORAGE_BYTES_MAX,
    processId,
    createExecutionId,
    now,
    startExecution: (executionId) => startFromRecord({ db, temporalClient }, executionId),
    headStart: {
      beginsAtOnce: (execution, commit) => headStart?.beginsAtOnce(execution, commit) === true,
      begin: async (execution, commit) => headStart?.begin(execution, commit),
    },
    onTick(tick) {
      onTick(tick);
      log.info({ event: "tick.decided", ...tick }, "A time that a schedule was due has its record.");
    },
  });
  const schedules = createTemporalSchedules(connection, namespace);
  // Before the workers: whether the service was there when a tick was due is known before any is fired here.
  await scheduler.open({ db, ticks, startsMax: startsMaxOf(slotCount), processId, onTick, log, now, schedules });
  defer(() => scheduler.close());

  // Notices: what sends them, and what hands them to Temporal.
  const rules = receiverRulesOf(settings);
  const callHosts = callHostsOf(settings);
  const publicUrl = settings.TREADLE_PUBLIC_URL;
  const notices = openNotices(
    { db, storage, secretBox: deps.secretBox, rules, callHosts, mail: mailOf(settings), publicUrl, log },
    defer,
  );
  const deliveries = outbox.open(createStartDelivery(connection, namespace));
  defer(() => deliveries.close());

  // The workers, which run executions.
  const { activities, keeping, python, steps } = createActivities({
    db,
    prices,
    recordTick: ticks.recordTick,
    hostId,
    processId,
    storage,
    smallBytesMax: settings.TREADLE_SMALL_OUTPUTS_BYTES_MAX,
    spool,
    slots,
    passOn: openPassOn({ db, hostId, programs, log }, defer),
    runProgram: deps.runProgram,
    onEnded: listener.resolve,
    onError: (executionId, error) =>
      log.warn({ event: "execution.fault", executionId, error }, "An attempt met a fault of ours."),
  });
  stopProgram = python.stop;
  isEndingHere = python.isEnding;
  isHere = python.isHere;
  ownSteps = steps;
  const workers =
    settings.TREADLE_ROLE !== "api"
      ? startWorkers({
          connection,
          namespace,
          activities: Object.assign({}, activities, createNoticeActivities(notices)),
          hostId,
          programsMax: slotCount,
          drainMs: drainMsMax(settings),
        })
      : undefined;
  if (workers !== undefined) {
    workers.catch(() => undefined); // Whoever opened the engine learns of it.
    defer(async () => {
      const started = await workers.catch(() => undefined);
      started?.shutdown();
      await python.drain(0); // For a start that failed half-way; otherwise nothing runs any more.
      await started?.ended;
    });
  }

  // What callers may ask of executions. Each begins at once, in this process or on a worker, and Temporal learns of it later.
  const others = runsPrograms ? undefined : openWorkersWatch({ db, log }, defer);
  const executor = others === undefined ? createOwnExecutor(steps) : createRemoteExecutor({ db, workers: others });
  const lagMax = { count: settings.TREADLE_STARTS_MAX, seconds: settings.TREADLE_STARTS_AGE_SECONDS };
  const opened = createHeadStart({ db, temporalClient, executor, processId, lagMax, log });
  headStart = opened;
  defer(() => opened.close());
  const own = { slots: () => slotCount, waiting: slots.waiting };
  const executions = createExecutions({
    db,
    temporalClient,
    headStart: opened,
    listener,
    python,
    slots,
    places: others ?? own,
    diskProblem,
    endStranded: createEndStranded({ db, hostId, temporalClient, activities, log }),
    hostProblem: (commit) => (programs.lacks ?? others)?.problemOf(commit),
  });
  return {
    listener,
    temporalClient,
    ticks,
    activities,
    keeping,
    python,
    /** They take a moment to start, in which the rest is opened. Undefined in a process that only answers callers. */
    workers,
    executions,
    admissions,
    otherHosts,
    notices,
    /** What programs get, here or on some worker. */
    offers: {
      networkAvailable: () => (programs.lacks ?? others)?.networkProblem() === undefined,
      scratchProblem: () => (programs.lacks ?? others)?.scratchProblem(),
      /** In a process that runs no programs. */
      workers: others,
    },
  };
}

/** How many ticks the scheduler starts at a time: as many as can run here. */
function startsMaxOf(slotCount: number): number {
  return slotCount === 0 ? STARTS_MAX : Math.min(STARTS_MAX, slotCount);
}

/** Opens what offers executions to other hosts. */
function openPassOn(
  { db, hostId, programs, log }: Pick<EngineDeps, "db" | "hostId" | "programs" | "log">,
  defer: Defer,
) {
  const { lacks, ceilings } = programs;
  const others = lacks && watchCeilings({ db, own: ceilings, log });
  if (others !== undefined) defer(() => others.close());
  return createPassOn({ db, hostId, lacks, ceilings, others });
}

/** Opens what a process without programs knows of the workers' hosts. */
function openWorkersWatch(deps: { db: Db; log: Log }, defer: Defer): WorkersWatch {
  const watch = watchWorkers(deps);
  defer(() => watch.close());
  return watch;
}

/** Returns what ends a cancelled execution whose host is gone. It never rejects: the sweeper repeats what fails. */
function createEndStranded(deps: Pick<SweeperDeps, "db" | "hostId" | "temporalClient" | "activities" | "log">) {
  const onEnded = (execution: Stranded): Promise<void> => reportStranded(deps, execution);
  return (executionId: ExecutionId): Promise<void> =>
    endCancelled({ ...deps, onEnded }, executionId).catch((error: unknown) =>
      deps.log.warn({ event: "fault", executionId, error }, "A cancelled execution could not be ended at once."),
    );
}
