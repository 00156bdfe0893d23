import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "@jest/globals";
import type { Published } from "../../bench/service.ts";
import { queryRows } from "../../db/connect.ts";
import { findMoneyFaults } from "../../db/ledger/audit.ts";
import { aCluster, type Cluster } from "../support/cluster.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import { aCheckout } from "../support/previous-release.ts";
import type { TestService } from "../support/service.ts";

/** Fails at its first attempt where it is asked to, and sleeps for as long as it is asked to. */
const PROGRAM = `import time
import treadle

def main(seconds, fails):
    print("begun")
    time.sleep(seconds)
    if fails and treadle.run.attempt == 1:
        raise ValueError("The first attempt.")
    print("ended")
`;
const CONFIG = `inputs:
  seconds: { type: integer, default: 0 }
  fails: { type: boolean, default: false }
retry: { max_attempts: 2 }
triggers:
  api: { enabled: true }
  schedule: { enabled: true, cron: "* * * * *" }
`;

/**
 * A release beside another one on the same PostgreSQL, Temporal and storage, in the order of an upgrade: the new api beside the old
 * worker, then the old api beside the new worker. A run that is open from the start is begun by the old one and ended by the new one.
 */
export async function checkTwoReleases(previous: string): Promise<void> {
  const { checkout, remove } = await aCheckout(previous);
  const cluster = await aCluster({ TREADLE_DRAIN_SECONDS: "0" }, { isBare: true });
  const stops: (() => Promise<unknown>)[] = [];
  try {
    const old = { api: await cluster.aHost(checkout), worker: await cluster.aHost(checkout) };
    const young = { api: await cluster.aHost(), worker: await cluster.aHost() };
    const oldApi = await old.api.start({ TREADLE_ROLE: "api" });
    stops.push(() => oldApi.stop());
    const oldWorker = await old.worker.startWorker();
    stops.push(() => oldWorker.stop());
    const first = await publish(old.api.dataDir);
    const open = await begin(oldApi, first, { seconds: 20 });
    await begun(cluster, open);

    const newApi = await young.api.start({ TREADLE_ROLE: "api" });
    stops.push(() => newApi.stop());
    await checkWorkflow({ cluster, api: newApi, dataDir: young.api.dataDir, earlier: first });
    expect(await end(newApi, first, open)).toBe("success");

    const handedOver = await begin(oldApi, first, { seconds: 5 });
    await begun(cluster, handedOver);
    const newWorker = await young.worker.startWorker();
    stops.push(() => newWorker.stop());
    await oldWorker.stop();
    await checkWorkflow({ cluster, api: oldApi, dataDir: old.api.dataDir, earlier: first });
    expect(await end(oldApi, first, handedOver)).toBe("success");
    expect(await findMoneyFaults(cluster.db)).toEqual([]);
  } finally {
    for (const stop of stops.toReversed()) await stop();
    await cluster.stop();
    await remove();
  }
}

/** Publishes by a process, and has everything done that executions can be asked for, of an earlier commit as well. */
async function checkWorkflow(given: {
  cluster: Cluster;
  api: TestService;
  dataDir: string;
  earlier: Published;
}): Promise<void> {
  const { cluster, api, dataDir, earlier } = given;
  const workflow = await publish(dataDir);
  for (const each of [earlier, workflow]) {
    const answer = await execute(api, each, {});
    expect([answer.status, answer.body.status]).toEqual([200, "success"]);
  }
  expect(await end(api, workflow, await begin(api, workflow, { fails: true }))).toBe("success");
  const cancelled = await begin(api, workflow, { seconds: 600 });
  await begun(cluster, cancelled);
  const headers = headersOf(workflow);
  expect((await api.call(`/run-logs/${cancelled}/cancel`, { method: "POST", headers })).status).toBe(202);
  expect(await end(api, workflow, cancelled)).toBe("cancelled");
  const log = (await api.call(`/run-logs/${cancelled}/logs`, { method: "GET", headers })).text;
  expect(log).toContain("begun");
  expect(await findTick(cluster, workflow)).toEqual({ outcome: "started", status: "success" });
}

async function publish(dataDir: string): Promise<Published> {
  const published = await treadle(dataDir, [
    "publish",
    await aFolder({ "config.yaml": CONFIG, "main.py": PROGRAM }),
    "--json",
  ]);
  expect([published.code, published.stdout]).toEqual([0, expect.any(String)]);
  return published.json() as unknown as Published;
}

const headersOf = ({ apiKey }: Published) => ({ "x-api-key": apiKey, "content-type": "application/json" });

const execute = (api: TestService, of: Published, inputs: object, more: Record<string, string> = {}) =>
  api.call(`/workflows/${of.workflowId}/execute`, {
    method: "POST",
    headers: { ...headersOf(of), ...more },
    body: JSON.stringify(inputs),
  });

async function begin(api: TestService, of: Published, inputs: object): Promise<string> {
  const answer = await execute(api, of, inputs, { prefer: "respond-async" });
  expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
  return String(answer.body.executionId);
}

async function end(api: TestService, of: Published, executionId: string): Promise<string> {
  for (;;) {
    const { body } = await api.call(`/run-logs/${executionId}`, { method: "GET", headers: headersOf(of) });
    if (!["queued", "running"].includes(String(body.status))) return String(body.status);
    await sleep(200);
  }
}

async function begun({ db }: Cluster, executionId: string): Promise<void> {
  const look = () => queryRows(db, "select from attempts where execution_id = :executionId", { executionId });
  while ((await look()).length === 0) await sleep(50);
}

/** The first tick of a workflow, once its run has ended. */
async function findTick({ db }: Cluster, { workflowId }: Published) {
  for (;;) {
    const [tick] = await queryRows<{ outcome: string; status: string | null }>(
      db,
      `select t.outcome, a.status from ticks t left join attempts a on a.execution_id = t.execution_id
        where t.workflow_id = :workflowId order by t.nominal_at limit 1`,
      { workflowId },
    );
    if (tick !== undefined && tick.status !== null) return tick;
    await sleep(200);
  }
}
