import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { activityInfo, cancellationSignal, heartbeat } from "@temporalio/activity";
import { Client, WorkflowFailedError } from "@temporalio/client";
import { ApplicationFailure } from "@temporalio/common";
import { Worker } from "@temporalio/worker";
import type { Activities } from "../../activities/index.ts";
import { CANCEL_SIGNAL, type PythonProgress } from "../../domain/execution.ts";
import { aTemporal, type TestTemporal } from "../support/temporal.ts";

let temporal: TestTemporal;
let client: Client;

beforeAll(async () => {
  temporal = await aTemporal();
  client = new Client({ connection: temporal.connection, namespace: temporal.namespace });
});

afterAll(async () => {
  await temporal?.stop();
});

const HOST_QUEUE = "host-a";
const ended: Extract<PythonProgress, { kind: "ended" }> = {
  kind: "ended",
  status: "success",
  secondsUsed: 0.5,
  hostQueue: HOST_QUEUE,
};

/** Runs one execution with activities that are plain functions; answers what they were called with, in order. */
async function execute(
  replaced: Partial<Activities>,
  options: { id: string; during?: (id: string) => Promise<void> },
): Promise<{ calls: string[]; result: unknown; error: unknown }> {
  const calls: string[] = [];
  const record = (name: keyof Activities, answer: unknown) => {
    const fake = replaced[name] as ((input: never) => Promise<unknown>) | undefined;
    return async (input: never): Promise<unknown> => {
      const { executionId, ...rest } = input as { executionId: string };
      calls.push(`${name} ${JSON.stringify(rest)}`);
      expect(executionId).toBe(options.id);
      return fake ? fake(input) : answer;
    };
  };
  const activities = {
    reserveCredits: record("reserveCredits", undefined),
    executePython: record("executePython", ended),
    uploadOutputs: record("uploadOutputs", { kind: "uploaded" }),
    settleCredits: record("settleCredits", undefined),
    releaseCredits: record("releaseCredits", undefined),
  };
  const common = { connection: temporal.connection, namespace: temporal.namespace, activities };
  const taskQueue = `executions-${options.id}`;
  const worker = await Worker.create({
    ...common,
    taskQueue,
    workflowBundle: temporal.workflowBundle,
    maxHeartbeatThrottleInterval: "200 milliseconds",
  });
  const host = await Worker.create({ ...common, taskQueue: HOST_QUEUE });
  let result: unknown;
  let error: unknown;
  await host.runUntil(
    worker.runUntil(async () => {
      const handle = await client.workflow.start("executeCommit", {
        workflowId: options.id,
        taskQueue,
        args: [{ timeoutSeconds: 10 }],
      });
      await options.during?.(options.id);
      try {
        result = await handle.result();
      } catch (caught) {
        error = caught;
      }
    }),
  );
  return { calls, result, error };
}

test("executeCommit, when everything succeeds, reserves, runs, uploads and settles once each", async () => {
  const { calls, result } = await execute({}, { id: "ex_success0000000000" });
  expect(result).toEqual({ executionId: "ex_success0000000000", status: "success" });
  expect(calls).toEqual([
    "reserveCredits {}",
    'executePython {"waitSeconds":3}',
    'uploadOutputs {"brief":true}',
    'settleCredits {"status":"success","secondsUsed":0.5}',
  ]);
});

test("executeCommit, of a program that ended with its last steps taken, asks for no more", async () => {
  const { calls, result } = await execute(
    { executePython: async () => ({ ...ended, finished: true }) },
    { id: "ex_finished000000000" },
  );
  expect(result).toEqual({ executionId: "ex_finished000000000", status: "success" });
  expect(calls).toEqual(["reserveCredits {}", 'executePython {"waitSeconds":3}']);
});

test("executeCommit, when the program failed, uploads and settles what it used", async () => {
  const failed: PythonProgress = { kind: "ended", status: "failed", secondsUsed: 1.25, hostQueue: HOST_QUEUE };
  const { calls, result } = await execute({ executePython: async () => failed }, { id: "ex_failed00000000000" });
  expect(result).toMatchObject({ status: "failed" });
  expect(calls.at(-1)).toBe('settleCredits {"status":"failed","secondsUsed":1.25}');
  expect(calls.some((call) => call.startsWith("releaseCredits"))).toBe(false);
});

test("executeCommit, of an attempt that is followed by another one, waits by a timer, and then runs that one", async () => {
  let isFirst = true;
  const { calls, result } = await execute(
    {
      executePython: async () => {
        if (!isFirst) return ended;
        isFirst = false;
        return { kind: "waiting", seconds: 0.3 };
      },
    },
    { id: "ex_tried00000000000000" },
  );
  expect(result).toMatchObject({ status: "success" });
  expect(calls.slice(1, 3)).toEqual(['executePython {"waitSeconds":3}', 'executePython {"waitSeconds":3}']);
  const { events } = await client.workflow.getHandle("ex_tried00000000000000").fetchHistory();
  expect(events?.filter(({ timerFiredEventAttributes }) => timerFiredEventAttributes != null)).toHaveLength(1);
});

test("executeCommit, woken while it waits for the next attempt, asks what has become of it at once", async () => {
  const asked: string[] = [];
  const cancelled: PythonProgress = { kind: "ended", status: "cancelled", secondsUsed: 1, hostQueue: HOST_QUEUE };
  const { result } = await execute(
    {
      executePython: async ({ executionId }) => {
        asked.push(executionId);
        return asked.length === 1 ? { kind: "waiting", seconds: 3_600 } : cancelled;
      },
    },
    {
      id: "ex_woken00000000000000",
      during: async (id) => {
        while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
        await client.workflow.getHandle(id).signal(CANCEL_SIGNAL);
      },
    },
  );
  expect(result).toMatchObject({ status: "cancelled" });
});

test("executeCommit, when credits are refused, releases without running anything", async () => {
  const { calls, error } = await execute(
    {
      reserveCredits: async () => {
        throw ApplicationFailure.nonRetryable("too few", "insufficient_credits");
      },
    },
    { id: "ex_refused0000000000" },
  );
  expect(error).toBeInstanceOf(WorkflowFailedError);
  expect(calls).toEqual(["reserveCredits {}", 'releaseCredits {"cause":"insufficient_credits"}']);
});

test("executeCommit, when the program is still going, joins it with a regular activity", async () => {
  const { calls } = await execute(
    { executePython: async (input) => (input.waitSeconds === undefined ? ended : { kind: "running" }) },
    { id: "ex_long0000000000000" },
  );
  expect(calls.slice(1, 3)).toEqual(['executePython {"waitSeconds":3}', "executePython {}"]);
  expect(calls.at(-1)).toContain("settleCredits");
});

test("executeCommit, when every worker was lost, releases and charges nothing", async () => {
  const { calls, error } = await execute(
    {
      executePython: async () => {
        throw ApplicationFailure.nonRetryable("3 workers were lost", "internal");
      },
    },
    { id: "ex_lost0000000000000" },
  );
  expect(error).toBeInstanceOf(WorkflowFailedError);
  expect(calls.slice(1)).toEqual(['executePython {"waitSeconds":3}', 'releaseCredits {"cause":"internal"}']);
});

test.each([
  ["within the first seconds", true],
  ["later", false],
])("executeCommit, when no host can begin the program, found %s, releases with what they lack", async (_, isBrief) => {
  const { calls } = await execute(
    {
      executePython: async (input) => {
        if ((input.waitSeconds !== undefined) !== isBrief) return { kind: "running" };
        throw ApplicationFailure.nonRetryable("This host has no network.", "unable");
      },
    },
    { id: `ex_unable00000000${isBrief}` },
  );
  expect(calls.at(-1)).toBe('releaseCredits {"cause":"unable","reason":"This host has no network."}');
});

test("executeCommit, when storage refuses at first, uploads from the host's queue and never runs the program again", async () => {
  const { calls } = await execute(
    {
      uploadOutputs: async (input) => {
        if (input.brief) throw new Error("storage is down");
        return { kind: "uploaded" };
      },
    },
    { id: "ex_storage0000000000" },
  );
  expect(calls.filter((call) => call.startsWith("executePython"))).toHaveLength(1);
  expect(calls).toContain('uploadOutputs {"brief":false}');
  expect(calls.at(-1)).toContain("settleCredits");
});

test("executeCommit, when cancelled while the program runs, settles what the stopped program used", async () => {
  let begin = (): void => undefined;
  const hasBegun = new Promise<void>((resolve) => (begin = resolve));
  const { calls, result } = await execute(
    {
      executePython: async (input) => {
        if (input.waitSeconds !== undefined) return { kind: "running" };
        begin();
        const beating = setInterval(() => heartbeat(), 100);
        await new Promise((resolve) => cancellationSignal().addEventListener("abort", resolve));
        clearInterval(beating);
        expect(activityInfo().isLocal).toBe(false);
        return { kind: "ended", status: "cancelled", secondsUsed: 0.2, hostQueue: HOST_QUEUE };
      },
    },
    {
      id: "ex_cancelled00000000",
      during: async (id) => {
        await hasBegun;
        await client.workflow.getHandle(id).cancel();
      },
    },
  );
  expect(result).toMatchObject({ status: "cancelled" });
  expect(calls.at(-1)).toBe('settleCredits {"status":"cancelled","secondsUsed":0.2}');
});
