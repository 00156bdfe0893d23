import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Context, cancellationSignal, heartbeat } from "@temporalio/activity";
import { Client } from "@temporalio/client";
import { ApplicationFailure } from "@temporalio/common";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { DefaultLogger, NativeConnection, Runtime, Worker } from "@temporalio/worker";
import type { Activities } from "../activities/index.ts";
import type { ExecutionStory, PythonProgress } from "../domain/execution.ts";
import { startTemporal } from "../src/setup/servers/temporal.ts";
import { findCacheDir } from "../src/setup/servers/temporal-cache.ts";

/**
 * Records what `executeCommit` and `fireTick` leave in Temporal, one history a shape, for the replay test. Each call adds a numbered folder
 * to `test/histories` and changes none: executions of every version that was ever deployed may be open.
 */
const HISTORIES = fileURLToPath(new URL("../../test/histories/", import.meta.url));
const BUNDLE = fileURLToPath(new URL("../workflow-bundle.js", import.meta.url));
/** In place of the process and host that Temporal would note. */
const IDENTITY = "recorder";
const HOST_QUEUE = "host-recorded";
/** Long enough for the workflow to have joined the program, so that the cancellation meets the joining activity. */
const BEFORE_CANCEL_MS = 1_000;

const ended: Extract<PythonProgress, { kind: "ended" }> = {
  kind: "ended",
  status: "success",
  secondsUsed: 0.5,
  hostQueue: HOST_QUEUE,
};

/** What usually happens, without a database, a sandbox or storage. */
const USUAL: Activities = {
  reserveCredits: async () => undefined,
  executePython: async () => ended,
  uploadOutputs: async () => ({ kind: "uploaded" }),
  settleCredits: async () => undefined,
  releaseCredits: async () => undefined,
  recordTick: async ({ firedAt }) => ({ nominalAt: firedAt, outcome: "started", executionId: null }),
};

const endedWhenStopped: Activities["executePython"] = async ({ waitSeconds }) => {
  if (waitSeconds !== undefined) return { kind: "running" };
  const beating = setInterval(() => heartbeat(), 100);
  await new Promise((resolve) => cancellationSignal().addEventListener("abort", resolve));
  clearInterval(beating);
  return { kind: "ended", status: "cancelled", secondsUsed: 0.2, hostQueue: HOST_QUEUE };
};

const STORY: ExecutionStory = {
  status: "success",
  reserved: "2026-01-01T00:00:00.000Z",
  programStarted: "2026-01-01T00:00:00.001Z",
  programEnded: "2026-01-01T00:00:00.010Z",
  attempts: 1,
  secondsUsed: 0.009,
  outputsUploaded: "2026-01-01T00:00:00.012Z",
  settled: "2026-01-01T00:00:00.013Z",
};

const triedAgain = new Set<string>();

type Shape = Partial<Activities> & { cancel?: true; story?: ExecutionStory };

/** Every way through `executeCommit`, by the name of its file: what is different from the usual. */
const SHAPES: Readonly<Record<string, Shape>> = {
  "short-success": {},
  "told-later": { story: STORY },
  "short-finished": { executePython: async () => ({ ...ended, finished: true }) },
  "long-joined": {
    executePython: async ({ waitSeconds }) => (waitSeconds === undefined ? ended : { kind: "running" }),
  },
  "tried-again": {
    executePython: async ({ executionId }) => {
      if (triedAgain.has(executionId)) return ended;
      triedAgain.add(executionId);
      return { kind: "waiting", seconds: 0.2 };
    },
  },
  "refused-credits": {
    reserveCredits: async () => {
      throw ApplicationFailure.nonRetryable("The account has too few credits.", "insufficient_credits");
    },
  },
  "cancelled-before-it-ran": {
    executePython: async () => {
      throw ApplicationFailure.nonRetryable("It was cancelled before it ran.", "cancelled");
    },
  },
  "cancelled-while-it-ran": { executePython: endedWhenStopped, cancel: true },
  "uploaded-from-its-host": {
    uploadOutputs: async ({ brief }) => (brief ? { kind: "deferred" } : { kind: "uploaded" }),
  },
};

async function recordShape(
  temporal: { connection: NativeConnection; namespace: string },
  name: string,
  { cancel, story, ...different }: Shape,
): Promise<string> {
  const activities = { ...USUAL, ...different };
  const common = {
    ...temporal,
    identity: IDENTITY,
    activities,
    maxHeartbeatThrottleInterval: "200 milliseconds",
  } as const;
  const taskQueue = `recorded-${name}`;
  const worker = await Worker.create({ ...common, taskQueue, workflowBundle: { codePath: BUNDLE } });
  const host = await Worker.create({ ...common, taskQueue: HOST_QUEUE });
  const { workflow } = new Client({ ...temporal, identity: IDENTITY });
  return host.runUntil(
    worker.runUntil(async () => {
      const workflowId = `ex_${name.replaceAll("-", "").slice(0, 30).padEnd(16, "0")}`;
      const handle = await workflow.start("executeCommit", {
        workflowId,
        taskQueue,
        args: [{ timeoutSeconds: 300, story }],
      });
      if (cancel) {
        await new Promise((resolve) => setTimeout(resolve, BEFORE_CANCEL_MS));
        await handle.cancel();
      }
      await handle.result().catch(() => undefined);
      return toText(historyToJSON(await handle.fetchHistory()));
    }),
  );
}

/** Every way through `fireTick`. */
const TICK_SHAPES: Readonly<Record<string, Partial<Activities>>> = {
  "tick-brief": {},
  "tick-patient": {
    recordTick: async (input) => {
      if (Context.current().info.isLocal) throw ApplicationFailure.nonRetryable("The database is away.");
      return { nominalAt: input.firedAt, outcome: "started", executionId: null };
    },
  },
};

/** A tick's workflow is started by a schedule, which gives it its time. */
async function recordTickShape(
  temporal: { connection: NativeConnection; namespace: string },
  name: string,
  different: Partial<Activities>,
): Promise<string> {
  const taskQueue = `recorded-${name}`;
  const activities = { ...USUAL, ...different };
  const worker = await Worker.create({
    ...temporal,
    identity: IDENTITY,
    activities,
    taskQueue,
    workflowBundle: { codePath: BUNDLE },
  });
  const { schedule, workflow } = new Client({ ...temporal, identity: IDENTITY });
  return worker.runUntil(async () => {
    const handle = await schedule.create({
      scheduleId: `wf_${name.replaceAll("-", "").padEnd(16, "0")}`,
      spec: {},
      action: {
        type: "startWorkflow",
        workflowType: "fireTick",
        taskQueue,
        args: [{ workflowId: "wf_recorded00000000" }],
      },
    });
    await handle.trigger();
    for (;;) {
      const [taken] = (await handle.describe()).info.recentActions;
      if (taken?.action.type === "startWorkflow") {
        const started = workflow.getHandle(taken.action.workflow.workflowId);
        await started.result();
        return toText(historyToJSON(await started.fetchHistory()));
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });
}

/** Without what tells about the machine it was recorded on; replay needs none of it. */
function toText(history: string): string {
  const telling = new Set(["stackTrace", "buildId"]);
  const plain = JSON.parse(history, (key, value: unknown) => (telling.has(key) ? undefined : value)) as unknown;
  return `${JSON.stringify(plain, null, 1)}\n`;
}

Runtime.install({ logger: new DefaultLogger("ERROR") });
const recorded = (await readdir(HISTORIES).catch(() => [])).map(Number);
const version = String(Math.max(0, ...recorded.filter(Number.isInteger)) + 1);
const dataDir = await mkdtemp(join(tmpdir(), "treadle-histories-"));
const server = await startTemporal({
  env: process.env,
  dataDir,
  cacheDir: findCacheDir(process.env),
  report: (line) => void process.stderr.write(`${line}\n`),
  log: () => undefined,
});
const connection = await NativeConnection.connect({ address: server.address });
try {
  const histories: [string, string][] = [];
  for (const [name, shape] of Object.entries(SHAPES)) {
    histories.push([name, await recordShape({ connection, namespace: server.namespace }, name, shape)]);
  }
  for (const [name, shape] of Object.entries(TICK_SHAPES)) {
    histories.push([name, await recordTickShape({ connection, namespace: server.namespace }, name, shape)]);
  }
  await mkdir(join(HISTORIES, version), { recursive: true });
  for (const [name, text] of histories) await writeFile(join(HISTORIES, version, `${name}.json`), text);
  process.stdout.write(`${histories.length} histories are in test/histories/${version}.\n`);
} finally {
  await connection.close();
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
}
