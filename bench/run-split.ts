import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { connect, queryRows } from "../db/connect.ts";
import { runCommand } from "../src/setup/servers/command.ts";
import { startPostgres } from "../src/setup/servers/postgres.ts";
import { startTemporal } from "../src/setup/servers/temporal.ts";
import { findCacheDir } from "../src/setup/servers/temporal-cache.ts";
import { prepareServiceUser } from "../src/setup/user.ts";
import { meterStart, openCpuMeter } from "./cpu-meter.ts";
import { formatMs, toFigure } from "./figures.ts";
import { startS3Server } from "./s3-server.ts";
import { type BenchService, makeDataDir, type Published, publish, removeDataDir, startService } from "./service.ts";
import { publishPandas, untilItRuns } from "./split-environments.ts";
import { measureFirstLines, PRINTING } from "./split-logs.ts";

/**
 * One process beside an `api` and workers, all on one PostgreSQL and one Temporal: what a caller waits longer for, and how many
 * runs a second there are. The calls of both are made by turns. Then how soon a log is seen through an `api`, and how soon a
 * worker that has nothing runs what needs packages.
 */
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ROUNDS = Number(process.env.TREADLE_BENCH_ROUNDS ?? 300);
const LOG_ROUNDS = Number(process.env.TREADLE_BENCH_LOG_ROUNDS ?? 40);
const CALLERS = 8;
const RATE_MS = 15_000;
/** Quiet is who uses less than this of a core between two looks. */
const QUIET_MS = 600;
const LOOK_MS = 3_000;
const PROGRAM = "def main(name):\n    return {'greeting': name}\n";
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const serversDir = await makeDataDir();
const user = await prepareServiceUser({ isRoot: process.getuid?.() === 0, report: say, run: runCommand });
const servers = { env: {}, dataDir: serversDir, runAs: user, report: say, log: () => undefined };
const isMetered = openCpuMeter() !== undefined;
const meters: Record<string, (() => number) | undefined> = {};
const postgres = await metered("PostgreSQL", () => startPostgres(servers));
const temporal = await metered("Temporal", () =>
  startTemporal({ ...servers, env: process.env, cacheDir: findCacheDir(process.env) }),
);
const { host, user: role } = postgres.connection as { host: string; user: string };
const db = connect(postgres.connection, { poolMax: 1, applicationName: "bench" });
const dataDirs: string[] = [];
const workers: ChildProcess[] = [];

async function metered<Started>(name: string, start: () => Promise<Started>): Promise<Started> {
  const { started, readMs } = await meterStart(start);
  meters[name] = readMs;
  return started;
}

/** Milliseconds of a core so far, by part, once all are quiet: Temporal learns of most runs of a burst after it. */
async function readWhenQuiet(): Promise<{ name: string; ms: number }[]> {
  const read = () => Object.entries(meters).map(([name, readMs]) => ({ name, ms: readMs?.() ?? 0 }));
  let now = read();
  for (let busyMs = Number.POSITIVE_INFINITY; busyMs > QUIET_MS; ) {
    const earlier = now;
    await sleep(LOOK_MS);
    now = read();
    busyMs = now.reduce((sum, { ms }, index) => sum + ms - (earlier[index]?.ms ?? 0), 0);
  }
  return now;
}

/** Calls for a while, and answers the processor time that each part took of a call until all are quiet, in milliseconds. */
async function countCosts(service: BenchService, workflow: Published): Promise<Record<string, number>> {
  const before = await readWhenQuiet();
  const calls = (await countRate(service, workflow)) * (RATE_MS / 1_000);
  const now = await readWhenQuiet();
  return Object.fromEntries(now.map(({ name, ms }, index) => [name, (ms - (before[index]?.ms ?? 0)) / calls]));
}

/** What the processes of one installation share. Its small outputs are in the database, so that no bucket is needed. */
async function anInstallation(name: string): Promise<Record<string, string>> {
  await queryRows(db, `create database ${name}`);
  return {
    DATABASE_URL: `postgresql://${role}@localhost/${name}?host=${encodeURIComponent(host)}`,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: name,
    TREADLE_EXAMPLES: "none",
  };
}

async function aFolder(): Promise<string> {
  const dataDir = await makeDataDir();
  dataDirs.push(dataDir);
  return dataDir;
}

async function startWorker(env: Record<string, string>): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(ROOT, "bin/treadle"), "start"], {
    env: {
      ...process.env,
      ...env,
      TREADLE_ROLE: "worker",
      TREADLE_DATA_DIR: await aFolder(),
      TREADLE_LOG_LEVEL: "info",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  workers.push(child);
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (text: Buffer) => String(text).includes('"service.ready"') && resolve());
    child.once("exit", () => reject(new Error("A worker ended before it was ready.")));
  });
  return child;
}

async function stopWorker(worker: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  worker.kill("SIGTERM");
  await ended;
}

async function callOnce(service: BenchService, workflow: Published): Promise<number> {
  const { status, ms, body } = await service.call(workflow, { name: "Ada" });
  if (status !== 200) throw new Error(`It answered ${status}: ${JSON.stringify(body)}`);
  return ms;
}

async function countRate(service: BenchService, workflow: Published): Promise<number> {
  const end = performance.now() + RATE_MS;
  let count = 0;
  const caller = async (): Promise<void> => {
    for (; performance.now() < end; count += 1) await callOnce(service, workflow);
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return (count * 1_000) / RATE_MS;
}

/** Time from when a worker with an empty folder is ready to the end of the first run that needs pandas, which another worker has built. */
async function measureFreshWorker(): Promise<number> {
  const s3 = await startS3Server();
  const endpoint = encodeURIComponent(s3.endpoint);
  const env = {
    ...(await anInstallation("fresh")),
    TREADLE_STORAGE_URL: `s3://${s3.bucket}?endpoint=${endpoint}&region=${s3.region}`,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
  const service = await startService({ dataDir: await aFolder(), env: { ...env, TREADLE_ROLE: "api" } });
  const ofWorker = { ...env, TREADLE_MASTER_KEY_FILE: join(service.dataDir, "keys/master") };
  const first = await startWorker(ofWorker);
  const workflow = await publishPandas(service);
  // It is put into storage after it was built.
  const record = connect({ ...postgres.connection, database: "fresh" }, { poolMax: 1, applicationName: "bench" });
  while ((await queryRows(record, "select from environment_archives")).length === 0) await sleep(200);
  await record.destroy();
  workers.splice(workers.indexOf(first), 1);
  await stopWorker(first);
  await startWorker(ofWorker);
  const ms = await untilItRuns(service, workflow);
  await service.stop();
  await s3.stop();
  return ms;
}

const [wholeEnv, splitEnv] = [await anInstallation("whole"), await anInstallation("split")];
const whole = await startService({ dataDir: await aFolder(), env: wholeEnv });
const apiEnv = { ...splitEnv, TREADLE_ROLE: "api" };
const apiDir = await aFolder();
const api = await metered("api", () => startService({ dataDir: apiDir, env: apiEnv }));
const workerEnv = { ...splitEnv, TREADLE_MASTER_KEY_FILE: join(api.dataDir, "keys/master") };
await metered("worker with its programs", () => startWorker(workerEnv));
const input = "name: { type: string }";
const inWhole = await publish(whole.dataDir, input, PROGRAM);
const inSplit = await publish(api.dataDir, input, PROGRAM);

const times = { whole: [] as number[], split: [] as number[] };
for (let round = -20; round < ROUNDS; round += 1) {
  const [one, other] = [await callOnce(whole, inWhole), await callOnce(api, inSplit)];
  if (round < 0) continue;
  times.whole.push(one);
  times.split.push(other);
}
const figures = { whole: toFigure(times.whole), split: toFigure(times.split) };
const ratio = figures.split.p50 / figures.whole.p50;
say(`one process: ${formatMs(figures.whole)}`);
say(`api and worker: ${formatMs(figures.split)}, ${ratio.toFixed(2)} × (goal: at most 1.3 ×)`);

const rates = { whole: await countRate(whole, inWhole), oneWorker: await countRate(api, inSplit), twoWorkers: 0 };
const costs = isMetered ? await countCosts(api, inSplit) : {};
say(
  `ms of a core for one run: ${Object.entries(costs)
    .map(([name, ms]) => `${name} ${ms.toFixed(1)}`)
    .join(", ")}`,
);
await startWorker(workerEnv);
for (let warm = 0; warm < 20; warm += 1) await callOnce(api, inSplit);
rates.twoWorkers = await countRate(api, inSplit);
say(
  `${CALLERS} callers, runs a second: one process ${rates.whole.toFixed(0)}, one worker ${rates.oneWorker.toFixed(0)}, two workers ${rates.twoWorkers.toFixed(0)}`,
);

const logs = await measureFirstLines(api, await publish(api.dataDir, input, PRINTING), LOG_ROUNDS);
say(`first line, through an api: ${formatMs(logs)}, p95 ${logs.p95.toFixed(0)} ms (goal: at most 300 ms)`);

await Promise.all([whole.stop(), api.stop()]);
for (const worker of workers.splice(0)) await stopWorker(worker);

const freshMs = await measureFreshWorker();
say(
  `pandas on a worker that has nothing: ${(freshMs / 1_000).toFixed(1)} s until its first run has ended (goal: at most 5 s)`,
);
for (const worker of workers) await stopWorker(worker);
await db.destroy();
await Promise.all([temporal.stop(), postgres.stop()]);
for (const dir of [...dataDirs, serversDir]) await removeDataDir(dir);
const at = new Date().toISOString();
const machine = `${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB`;
await mkdir(join(ROOT, "bench/results"), { recursive: true });
await writeFile(
  join(ROOT, "bench/results", `${at.slice(0, 10)}-split.json`),
  `${JSON.stringify({ at, machine, figures, ratio, rates, costs, logs, freshMs, raw: times })}\n`,
);
