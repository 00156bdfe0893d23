import { fileURLToPath } from "node:url";
import {
  DefaultLogger,
  NativeConnection,
  type NativeConnectionOptions,
  Runtime,
  type RuntimeOptions,
  Worker,
} from "@temporalio/worker";
import type { Activities } from "../../activities/index.ts";
import type { NoticeActivities } from "../../activities/notices.ts";
import { isOrdinaryFailure } from "../../activities/ordinary-failures.ts";
import { hostQueue, TASK_QUEUE } from "../../activities/task-queues.ts";
import type { Log } from "../log.ts";
import { withRareFlushes } from "../patches/temporal-logs.ts";
import { withLightThreads } from "../patches/workflow-threads.ts";

/** How long calls of activities may last beyond the time that programs get when the process stops, in milliseconds. */
const GRACE_MS = 1_000;
const FORCE_MS = 4_000;
/** Compiled at build time: bundling at start would cost seconds and memory each time. */
const BUNDLE = fileURLToPath(new URL("../../workflow-bundle.js", import.meta.url));

/** More than wait on a host when it accepts no more calls, which is 50 a slot; ticks of schedules come on top. */
const ACTIVITIES_PER_PROGRAM = 100;
const ACTIVITIES_MIN = 1_000;

let installed = false;

/** Hands Temporal's own log lines to ours and leaves signals to our lifecycle. Once a process. */
export function installTemporalRuntime(log: Log, metricsAddress?: string): void {
  if (installed) return;
  installed = true;
  const options: RuntimeOptions = {
    shutdownSignals: [],
    logger: new DefaultLogger("WARN", ({ level, message, meta }) => {
      const line = { event: "server.line", source: "temporal-sdk", ...meta };
      // A worker for one host's activities has no workflows: as it should be.
      const isOrdinary = message.startsWith("No workflows registered") || isOrdinaryFailure(meta?.error);
      if (isOrdinary) log.debug(line, message);
      else if (level === "ERROR") log.error(line, message);
      else log.warn(line, message);
    }),
    telemetryOptions: {
      logging: { filter: { core: "WARN", other: "ERROR" }, forward: {} },
      ...(metricsAddress === undefined ? {} : { metrics: { prometheus: { bindAddress: metricsAddress } } }),
    },
  };
  withRareFlushes(() => Runtime.install(options));
}

/** The one connection of a process. Uncompressed: gzip only costs CPU on the way to a server of this machine. */
export async function connectTemporal(options: NativeConnectionOptions): Promise<NativeConnection> {
  return NativeConnection.connect({ ...options, grpcCompression: { codec: "none" } });
}

export interface Workers {
  /** Resolves when both have drained; rejects when one fails for good. */
  readonly ended: Promise<void>;
  shutdown(): void;
}

/**
 * Two workers: one for executions, on the queue all hosts share, and one for what only this host can do, its spool.
 * Workflow tasks and `executePython` share a queue and a process because only then are activities dispatched eagerly.
 */
export async function startWorkers(deps: {
  connection: NativeConnection;
  namespace: string;
  activities: Activities & NoticeActivities;
  hostId: string;
  programsMax: number;
  /** How long programs may go on after `shutdown`. */
  drainMs: number;
}): Promise<Workers> {
  const common = {
    connection: deps.connection,
    namespace: deps.namespace,
    activities: deps.activities,
    shutdownGraceTime: deps.drainMs + GRACE_MS,
    shutdownForceTime: deps.drainMs + FORCE_MS,
    maxHeartbeatThrottleInterval: "2 seconds",
  } as const;
  const executions = await withLightThreads(() =>
    Worker.create({
      ...common,
      taskQueue: TASK_QUEUE,
      workflowBundle: { codePath: BUNDLE },
      // Several accounts' worth of executions that wait briefly for a slot (`activities/python.ts`).
      maxConcurrentWorkflowTaskExecutions: 200,
      // A joining activity only waits; the slots of the host bound how many programs run. With fewer than may wait, one
      // account's waiting executions would keep another's from being joined after a restart.
      maxConcurrentActivityTaskExecutions: Math.max(ACTIVITIES_MIN, deps.programsMax * ACTIVITIES_PER_PROGRAM),
      maxConcurrentLocalActivityExecutions: 400,
      maxCachedWorkflows: 500,
      // A set number: pollers that scale look ten times a second whether they should, a tenth of what an idle service uses.
      // So many take hundreds of tasks a second from a server that is 10 ms away.
      workflowTaskPollerBehavior: { type: "simple-maximum", maximum: 6 },
      activityTaskPollerBehavior: { type: "simple-maximum", maximum: 4 },
      stickyQueueScheduleToStartTimeout: "5 seconds",
    }),
  );
  const { uploadOutputs } = deps.activities;
  const host = await Worker.create({
    ...common,
    activities: { uploadOutputs },
    taskQueue: hostQueue(deps.hostId),
    maxConcurrentActivityTaskExecutions: 4,
    // Rarely asked for anything.
    activityTaskPollerBehavior: { type: "simple-maximum", maximum: 2 },
  });
  const running = [executions.run(), host.run()];
  return {
    ended: Promise.all(running).then(() => undefined),
    shutdown() {
      for (const worker of [executions, host]) if (worker.getState() === "RUNNING") worker.shutdown();
    },
  };
}
