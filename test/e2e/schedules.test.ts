import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import pg from "pg";
import { aFolder, treadle } from "../support/command-line.ts";
import { aDataDir, startService, type TestService } from "../support/service.ts";

interface Tick {
  readonly nominalAt: string;
  readonly outcome: string;
  readonly reason: string;
  readonly source: string;
  readonly lateSeconds: number;
  readonly executionId: string | null;
}

/** A tick that Temporal did not fire has its record some seconds after its time; a busy machine may take longer. */
const PATIENCE_MS = 300_000;
const HOUR_MS = 3_600_000;

let service: TestService;
let dataDir: Awaited<ReturnType<typeof aDataDir>>;
let minutely: { folder: string; workflowId: string; apiKey: string };
let hourly: Readonly<Record<"none" | "latest" | "all", string>>;

beforeAll(async () => {
  dataDir = await aDataDir();
  service = await startService({ dataDir: dataDir.dataDir });
  const folder = await aFolder(filesOf("* * * * *", "enabled: true, overlap: allow, payload: { region: EU }"));
  minutely = { folder, ...(await publish(folder)) };
  // Due last some minutes ago, and next in most of an hour: nothing but what is missed fires while the test runs.
  const minute = (new Date().getUTCMinutes() + 50) % 60;
  const declare = async (policies: string): Promise<string> =>
    (await publish(await aFolder(filesOf(`${minute} * * * *`, policies)))).workflowId;
  hourly = {
    none: await declare("enabled: true, catchup: none, max_lateness: 6h"),
    latest: await declare("enabled: true, catchup: latest, max_lateness: 6h"),
    all: await declare("enabled: true, catchup: all, overlap: queue, max_lateness: 6h"),
  };
}, 600_000);

afterAll(async () => {
  await service?.stop();
  await dataDir?.remove();
});

function filesOf(cron: string, schedule: string): Record<string, string> {
  return {
    "config.yaml": `inputs:\n  region: { type: string, default: US }\ntriggers:\n  schedule: { cron: "${cron}", ${schedule} }\n`,
    "main.py": "def main(region):\n    return {'region': region}\n",
  };
}

async function publish(folder: string, workflowId?: string): Promise<{ workflowId: string; apiKey: string }> {
  const given = workflowId === undefined ? [] : ["--workflow", workflowId];
  const published = await treadle(dataDir.dataDir, ["publish", folder, ...given, "--json"]);
  expect([published.code, published.stderr]).toEqual([0, expect.any(String)]);
  return published.json() as { workflowId: string; apiKey: string };
}

async function findSchedule(workflowId: string): Promise<object | undefined> {
  const { schedules } = (await treadle(dataDir.dataDir, ["schedules", "list", "--json"])).json() as {
    schedules: { workflowId: string }[];
  };
  return schedules.find((schedule) => schedule.workflowId === workflowId);
}

/** The ticks of a workflow, the oldest first. */
async function listTicks(workflowId: string): Promise<Tick[]> {
  const { ticks } = (
    await treadle(dataDir.dataDir, ["schedules", "ticks", workflowId, "-n", "500", "--json"])
  ).json() as {
    ticks: Tick[];
  };
  return ticks.toReversed();
}

/** Looks until a workflow's ticks are as wanted, and answers them. */
async function ticksUntil(workflowId: string, areWanted: (ticks: readonly Tick[]) => boolean): Promise<Tick[]> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const ticks = await listTicks(workflowId);
    if (areWanted(ticks)) return ticks;
    if (Date.now() > deadline)
      throw new Error(`The ticks are ${JSON.stringify(ticks)}.\n${service.output().slice(-5_000)}`);
    await sleep(2_000);
  }
}

async function readExecution(executionId: string | null): Promise<Record<string, unknown>> {
  for (;;) {
    const headers = { "x-api-key": minutely.apiKey };
    const { body } = await service.call(`/run-logs/${executionId}`, { method: "GET", headers });
    if (body.status !== "queued" && body.status !== "running") return body;
    await sleep(500);
  }
}

test("a schedule of every minute, fires within two seconds of the minute, with its payload, and leaves a record", async () => {
  // A machine that is busy at one minute may not be at the next.
  const ticks = await ticksUntil(minutely.workflowId, (found) => found.some(({ lateSeconds }) => lateSeconds < 2));
  const tick = ticks.find(({ lateSeconds }) => lateSeconds < 2);
  expect(tick).toMatchObject({ outcome: "started", source: "clock", reason: "", executionId: expect.any(String) });
  expect(tick?.nominalAt).toMatch(/:00Z$/);
  const execution = await readExecution(tick?.executionId ?? null);
  expect(execution).toMatchObject({ status: "success", outputs: { region: expect.any(String) } });
  const { region } = execution.outputs as { region: string };
  const output = await service.call(region, { method: "GET", headers: { "x-api-key": minutely.apiKey } });
  expect(output.text).toBe("EU");
}, 400_000);

let pausedAt: string;

test("a commit with enabled: false, pauses it", async () => {
  const files = filesOf("* * * * *", "enabled: false, overlap: allow, payload: { region: EU }");
  await publish(await aFolder(files), minutely.workflowId);
  pausedAt = new Date().toISOString();
  expect(await findSchedule(minutely.workflowId)).toMatchObject({
    paused: true,
    reason: "enabled is false in config.yaml",
    description: "every minute, UTC",
  });
});

/** Asks the record around the service. */
async function queryRecord(sql: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({
    host: join(dataDir.dataDir, "postgres/socket"),
    user: "treadle",
    database: "treadle",
  });
  await client.connect();
  try {
    return (await client.query(sql, [...values])).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

test("a service that was away for five due times, makes up for them as each schedule says", async () => {
  // Stands still, so that it looks after nothing while its record is dated back; then it is gone.
  process.kill(service.ready.pid, "SIGSTOP");
  const back = "interval '5 hours'";
  await queryRecord(
    `update schedules set since = since - ${back}, accounted_until = accounted_until - ${back}, look_at = look_at - ${back}
      where workflow_id = any($1)`,
    [Object.values(hourly)],
  );
  await queryRecord(`update schedule_watch set since = since - ${back}, seen_at = seen_at - ${back}`);
  process.kill(service.ready.pid, "SIGCONT");
  await service.stop("SIGKILL");
  service = await startService({ dataDir: dataDir.dataDir });

  const outcomes = async (workflowId: string) => {
    const ticks = await ticksUntil(workflowId, (found) => found.length >= 5);
    const hours = ticks.map(({ nominalAt }) => Date.parse(nominalAt) / HOUR_MS);
    expect(hours.map((hour) => hour - (hours[0] as number))).toEqual([0, 1, 2, 3, 4]);
    return ticks;
  };
  const none = await outcomes(hourly.none);
  expect(none.map(({ outcome, reason }) => `${outcome}: ${reason}`)).toEqual(
    Array(5).fill("missed: The service was away when it was due, and catchup is none."),
  );
  const latest = await outcomes(hourly.latest);
  expect(latest.map(({ outcome }) => outcome)).toEqual(["missed", "missed", "missed", "missed", "started"]);
  const all = await outcomes(hourly.all);
  expect(all.map(({ outcome, source }) => `${outcome} ${source}`)).toEqual(Array(5).fill("started repair"));
  // One after the other, in the order of their times.
  const rows = await eventuallyEnded(hourly.all);
  expect(rows.map(({ id }) => id)).toEqual(all.map(({ executionId }) => executionId));
  rows.slice(1).forEach(({ started_at: startedAt }, index) => {
    expect((startedAt as Date) >= (rows[index]?.finished_at as Date)).toBe(true);
  });
}, 400_000);

async function eventuallyEnded(workflowId: string): Promise<Record<string, unknown>[]> {
  for (;;) {
    const rows = await queryRecord(
      "select id, state, started_at, finished_at from executions where workflow_id = $1 order by started_at",
      [workflowId],
    );
    if (rows.every(({ state }) => state === "success")) return rows;
    await sleep(500);
  }
}

test("the minutes after that, are recorded as paused and start nothing", async () => {
  const ticks = await ticksUntil(minutely.workflowId, (found) => found.some(({ outcome }) => outcome === "paused"));
  const after = ticks.filter(({ nominalAt }) => nominalAt > pausedAt);
  expect(after.length).toBeGreaterThan(0);
  expect(after.map(({ outcome, executionId }) => ({ outcome, executionId }))).toEqual(
    after.map(() => ({ outcome: "paused", executionId: null })),
  );
}, 400_000);

test("past ticks that are asked for, run once each, however often they are asked for", async () => {
  const before = await listTicks(minutely.workflowId);
  const paused = before.find(({ outcome }) => outcome === "paused") as Tick;
  const to = new Date(Date.parse(paused.nominalAt) + 1_000).toISOString();
  const backfill = () =>
    treadle(dataDir.dataDir, ["schedules", "backfill", minutely.workflowId, "--from", paused.nominalAt, "--to", to]);
  expect([(await backfill()).code, (await backfill()).code]).toEqual([0, 0]);
  const after = (await listTicks(minutely.workflowId)).find(({ nominalAt }) => nominalAt === paused.nominalAt);
  expect(after).toMatchObject({ outcome: "started", source: "backfill" });
  expect(await readExecution(after?.executionId ?? null)).toMatchObject({ status: "success" });
  const count = async (sql: string) => (await queryRecord(sql)).length;
  expect(await count("select 1 from executions where trigger = 'schedule'")).toBe(
    await count("select 1 from ticks where execution_id is not null"),
  );
});

test("a workflow that is deleted, has no schedule any more", async () => {
  const deleted = await treadle(dataDir.dataDir, ["workflows", "delete", hourly.none]);
  expect([deleted.code, deleted.stderr]).toEqual([0, expect.any(String)]);
  expect([await findSchedule(hourly.none), typeof (await findSchedule(hourly.latest))]).toEqual([undefined, "object"]);
  const rows = await queryRecord("select until is not null as ended from schedules where workflow_id = $1", [
    hourly.none,
  ]);
  expect(rows).toEqual([{ ended: true }]);
});
