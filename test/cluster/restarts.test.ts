import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { S3_INSTALL_MS_MAX } from "../../bench/s3-programs.ts";
import type { Published } from "../../bench/service.ts";
import { queryRows } from "../../db/connect.ts";
import { findMoneyFaults } from "../../db/ledger/audit.ts";
import { IS_LONG } from "../support/cluster.ts";
import { aClusterOfFour, type ClusterOfFour } from "../support/cluster-of-four.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import type { Answer, CalledService, callService } from "../support/service.ts";
import { callMeanwhile } from "./rolling-restart.ts";
import { checkTwoReleases } from "./two-releases.ts";

/** Prints, waits if it is asked to, and prints again. */
const PROGRAM = `import time

def main(seconds):
    print("begun")
    time.sleep(seconds)
    print("ended")
`;
const CONFIG = "inputs:\n  seconds: { type: integer, default: 0 }\ntriggers:\n  api: { enabled: true }\n";
const SCHEDULED = `${CONFIG}  schedule: { enabled: true, cron: "* * * * *" }\n`;

let four: ClusterOfFour;
/** Every call goes by the balancer, to whichever process has its turn. */
let called: Awaited<ReturnType<typeof callService>>;
let plain: Published;
let scheduled: Published;

beforeAll(async () => {
  four = await aClusterOfFour({
    TREADLE_RATE_LIMIT_PER_MINUTE: "0",
    TREADLE_ACCOUNT_RATE_LIMIT_PER_MINUTE: "0",
    TREADLE_INITIAL_CREDITS: "1000000",
  });
  await four.startAll();
  called = await four.call();
  const [first, second] = four.apiHosts;
  scheduled = await publish(first.dataDir, SCHEDULED);
  plain = await publish(second.dataDir, CONFIG);
}, S3_INSTALL_MS_MAX);

afterAll(async () => {
  await called?.hangUp();
  await four?.remove();
});

async function publish(dataDir: string, config: string): Promise<Published> {
  const made = await aFolder({ "config.yaml": config, "main.py": PROGRAM });
  const published = await treadle(dataDir, ["publish", made, "--json"]);
  expect([published.code, published.stdout]).toEqual([0, expect.any(String)]);
  return published.json() as unknown as Published;
}

const headersOf = ({ apiKey }: Published) => ({ "x-api-key": apiKey, "content-type": "application/json" });

const execute = (seconds: number, more: Record<string, string> = {}, of = plain): Promise<Answer> =>
  called.call(`/workflows/${of.workflowId}/execute`, {
    method: "POST",
    headers: { ...headersOf(of), ...more },
    body: JSON.stringify({ seconds }),
  });

const ASYNC = { prefer: "respond-async" };
const look = (path: string, of = plain): Promise<Answer> =>
  called.call(`/run-logs/${path}`, { method: "GET", headers: headersOf(of) });
const follow = (executionId: string): ReturnType<CalledService["begin"]> =>
  called.begin(`/run-logs/${executionId}/logs`, {
    method: "GET",
    headers: { ...headersOf(plain), accept: "text/event-stream" },
  });

/** The place of the worker that runs an execution. */
async function findWorker(executionId: string): Promise<number> {
  for (;;) {
    const [attempt] = await queryRows<{ host: string }>(
      four.cluster.db,
      "select host_id as host from attempts where execution_id = :executionId and status is null",
      { executionId },
    );
    if (attempt === undefined) await sleep(50);
    else {
      const ids = await Promise.all(four.workers.map(({ hostId }) => hostId()));
      return ids.indexOf(attempt.host);
    }
  }
}

test("calls, by turns to two processes that run nothing, are carried out by workers and answered with their result", async () => {
  const before = four.balancer.turns.length;
  const answers = await Promise.all(Array.from({ length: 8 }, () => execute(0)));
  expect(answers.map(({ status, body }) => [status, body.status])).toEqual(answers.map(() => [200, "success"]));
  expect(four.balancer.turns.slice(before).toSorted((a, b) => a - b)).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
});

test("a run that two processes follow is shown by both as it goes on, and one of them cancels it", async () => {
  const { body } = await execute(3_000, ASYNC);
  const executionId = String(body.executionId);
  const following = [await follow(executionId), await follow(executionId)];
  for (const { soFar } of following) while (!soFar().includes('"text":"begun"')) await sleep(20);
  const cancelled = await called.call(`/run-logs/${executionId}/cancel`, { method: "POST", headers: headersOf(plain) });
  expect(cancelled.status).toBe(202);
  const texts = await Promise.all(following.map(({ text }) => text));
  for (const text of texts) {
    expect(text).toMatch(/^event: result$/m);
    expect(text).not.toContain('"text":"ended"');
  }
  expect((await look(executionId)).body).toMatchObject({ status: "cancelled" });
});

/** The long form has 20 callers, programs of 30 s, and restarts all processes again and again: `TREADLE_TEST_ROLLING_SECONDS=300`. */
const ROLLING_SECONDS = Number(process.env["TREADLE_TEST_ROLLING_SECONDS"] ?? 0);
const ROLLING_MS_MAX = 600_000 + ROLLING_SECONDS * 3_000;

test(
  "processes that are restarted one after the other under load fail no call and lose no run",
  async () => {
    const rolled = await publish(four.apiHosts[0].dataDir, CONFIG);
    const restart = async (): Promise<void> => {
      const until = Date.now() + ROLLING_SECONDS * 1_000;
      for (let round = 0; round === 0 || Date.now() < until; round += 1) {
        if (round > 0) await sleep(40_000); // Programs that were handed over can end.
        for (const place of ROLLING_SECONDS === 0 ? [0] : [0, 1]) {
          await four.restartApi(place);
          await four.restartWorker(place);
        }
      }
    };
    const form = ROLLING_SECONDS === 0 ? { count: 4, longerSeconds: 3 } : { count: 20, longerSeconds: 30 };
    const { executionIds, failures } = await callMeanwhile(restart(), {
      ...form,
      execute: (seconds) => execute(seconds, {}, rolled),
      look: (executionId) => look(executionId, rolled),
    });
    expect(failures).toEqual([]);
    expect(executionIds.length).toBeGreaterThan(form.count);
    const recorded = await queryRows<{ id: string; state: string }>(
      four.cluster.db,
      "select id, state from executions where workflow_id = :workflowId order by id",
      { workflowId: rolled.workflowId },
    );
    expect(recorded).toEqual(executionIds.toSorted().map((id) => ({ id, state: "success" })));
    expect(await findMoneyFaults(four.cluster.db)).toEqual([]);
  },
  ROLLING_MS_MAX,
);

/** What only a cluster of Temporal's can show, and what takes a minute: `TREADLE_TEST_TEMPORAL=server`. */
const LONG: readonly (readonly [name: string, check: () => Promise<void>])[] = [
  [
    "a schedule, kept by Temporal's cluster, starts its workflow at the minute, once",
    async () => {
      const list = () =>
        queryRows<{ source: string; outcome: string; status: string | null }>(
          four.cluster.db,
          `select t.source, t.outcome, a.status from ticks t left join attempts a on a.execution_id = t.execution_id
            where t.workflow_id = :workflowId order by t.nominal_at limit 1`,
          { workflowId: scheduled.workflowId },
        );
      while (((await list())[0]?.status ?? null) === null) await sleep(200);
      // By the clock, which is Temporal's: what the service has to make up for is told as a repair.
      expect(await list()).toEqual([{ source: "clock", outcome: "started", status: "success" }]);
    },
  ],
  [
    "a run whose worker is killed is run again by the other one, and paid for once",
    async () => {
      const { body } = await execute(20, ASYNC);
      const executionId = String(body.executionId);
      const followed = await follow(executionId);
      while (!followed.soFar().includes('"text":"begun"')) await sleep(20);
      const place = await findWorker(executionId);
      await four.workers[place]?.stop("SIGKILL");
      four.workers.splice(place, 1);
      const text = await followed.text;
      expect(text.match(/"text":"(?:begun|ended)"/g)).toEqual(['"text":"begun"', '"text":"begun"', '"text":"ended"']);
      expect((await look(executionId)).body).toMatchObject({ status: "success" });
      expect(await findMoneyFaults(four.cluster.db)).toEqual([]);
    },
  ],
];

if (IS_LONG) for (const [name, check] of LONG) test(name, check);

/** Another release beside this one: `TREADLE_TEST_PREVIOUS=<git revision>`. */
const PREVIOUS = process.env["TREADLE_TEST_PREVIOUS"];
const PREVIOUS_MS_MAX = 1_800_000;

if (PREVIOUS !== undefined)
  test(
    "a release beside the one before: the new api with the old worker, then the old api with the new worker, and a run that is open meanwhile",
    () => checkTwoReleases(PREVIOUS),
    PREVIOUS_MS_MAX,
  );
