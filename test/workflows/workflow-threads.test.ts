import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import threads from "node:worker_threads";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Client } from "@temporalio/client";
import { Worker } from "@temporalio/worker";
import type { PythonProgress } from "../../domain/execution.ts";
import { withLightThreads } from "../../src/patches/workflow-threads.ts";
import { aTemporal } from "../support/temporal.ts";

/** Enters a context for longer than it may, and says how many of its promises were watched and how it came out. */
const ENTERING = `
  const { parentPort } = require("node:worker_threads");
  const vm = require("node:vm");
  const v8 = require("node:v8");
  let watched = 0;
  v8.promiseHooks.createHook({ init: () => { watched += 1; } });
  void Promise.resolve().then(() => undefined);
  const busy = new vm.Script("const until = Date.now() + 300; while (Date.now() < until); 'came out'");
  let end;
  try {
    end = busy.runInContext(vm.createContext({ Date }), { timeout: 5, displayErrors: true });
  } catch (error) {
    end = error.code;
  }
  parentPort.postMessage({ end, isWatched: watched > 0 });
`;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle-threads-"));
  await mkdir(join(folder, "workflow"));
  await writeFile(join(folder, "workflow/workflow-worker-thread.js"), ENTERING);
  await writeFile(join(folder, "workflow/another-thread.js"), ENTERING);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Starts a thread the way the SDK does; answers what it says. */
function startThread(file: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const thread = new threads.Worker(join(folder, "workflow", file));
    thread.once("message", resolve);
    thread.once("error", reject);
  });
}

test("a thread for workflows, started light, enters without a time limit and watches no promise", async () => {
  const said = await withLightThreads(() => startThread("workflow-worker-thread.js"));
  expect(said).toEqual({ end: "came out", isWatched: false });
});

test("other threads, started meanwhile, are as they are", async () => {
  const said = await withLightThreads(() => startThread("another-thread.js"));
  expect(said).toEqual({ end: "ERR_SCRIPT_EXECUTION_TIMEOUT", isWatched: true });
});

test("threads for workflows, started when that is over or has failed, are as they are", async () => {
  const failed = withLightThreads(() => Promise.reject(new Error("no worker")));
  await expect(failed).rejects.toThrow("no worker");
  expect(await startThread("workflow-worker-thread.js")).toEqual({
    end: "ERR_SCRIPT_EXECUTION_TIMEOUT",
    isWatched: true,
  });
});

test("the SDK's own threads, started light, are: a workflow under way has no stacks to tell", async () => {
  const temporal = await aTemporal();
  try {
    const { connection, namespace, workflowBundle } = temporal;
    const { workflow } = new Client({ connection, namespace });
    const stacks: string[] = [];
    for (const create of [withLightThreads, (plain: () => Promise<Worker>) => plain()]) {
      const taskQueue = `threads-${stacks.length}`;
      let release: (ended: PythonProgress) => void = () => undefined;
      const held = new Promise<PythonProgress>((resolve) => {
        release = resolve;
      });
      const executePython = async ({ waitSeconds }: { waitSeconds?: number }): Promise<PythonProgress> =>
        waitSeconds === undefined ? held : { kind: "running" };
      const activities = { reserveCredits: async () => undefined, executePython };
      const worker = await create(() =>
        Worker.create({ connection, namespace, taskQueue, workflowBundle, activities }),
      );
      await worker.runUntil(async () => {
        const workflowId = `ex_${taskQueue.replace("-", "").padEnd(20, "0")}`;
        const handle = await workflow.start("executeCommit", { workflowId, taskQueue, args: [{ timeoutSeconds: 10 }] });
        stacks.push(await handle.query<string>("__stack_trace"));
        const ended = {
          kind: "ended",
          status: "success",
          secondsUsed: 0.1,
          hostQueue: "host-a",
          finished: true,
        } as const;
        release(ended);
        expect(await handle.result()).toMatchObject({ status: "success" });
      });
    }
    expect(stacks).toEqual(["", expect.stringContaining("workflows/execute-commit")]);
  } finally {
    await temporal.stop();
  }
});
