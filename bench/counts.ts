import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { request } from "undici";
import { listTree } from "../sandbox/process-tree.ts";
import { listPrograms } from "../src/setup/programs.ts";
import { freePort } from "../src/setup/servers/free-port.ts";
import { ownerOf } from "./browser.ts";
import { type BenchService, startService } from "./service.ts";

/** What has been done so far, by name; all only grow. */
type Counts = Readonly<Record<string, number>>;

const PROGRAM = fileURLToPath(new URL("./counted-program.js", import.meta.url));
const LOCAL = "127.0.0.1";
/** PostgreSQL publishes what a session has done after a second or two, and Temporal has been told of everything by then. */
const TOLD_MS = 3_000;
const HELLO = { name: "Ada" };

/**
 * Starts a service on `dataDir` and counts what one `hello` makes PostgreSQL, Temporal and the service do, its story in Temporal
 * included. What they do anyway in the same time is taken off. Transactions that only read count, too. System calls are those
 * that `strace` counts, idling included; without it they are left out.
 */
export async function countHello(dataDir: string, calls: number): Promise<Counts> {
  const [statements, temporal] = [await freePort(LOCAL), await freePort(LOCAL)];
  const service = await startService({ dataDir, program: [PROGRAM, "whole", String(statements), String(temporal)] });
  const host = join(dataDir, "postgres/socket");
  const client = new pg.Client({ host, user: "treadle", database: "treadle" });
  await client.connect();
  try {
    const look = () => read(client, { service, statements, temporal });
    const make = () => makeCalls(service, calls);
    await make();
    const counted = await measure(look, make, calls);
    return { ...counted, historyEvents: await countEvents(service), ...(await countSystemCalls(service, make, calls)) };
  } finally {
    await client.end();
    await service.stop();
  }
}

async function makeCalls(service: BenchService, calls: number): Promise<void> {
  for (let call = 0; call < calls; call += 1) await service.execute("hello", HELLO);
  await sleep(TOLD_MS);
}

/** What `act` adds for each of its calls to what `look` finds, less what comes without it in the same time. */
async function measure(look: () => Promise<Counts>, act: () => Promise<void>, calls: number): Promise<Counts> {
  const before = await look();
  const since = performance.now();
  await act();
  const busyMs = performance.now() - since;
  const between = await look();
  await sleep(busyMs);
  const after = await look();
  return Object.fromEntries(
    Object.keys(between).map((name) => {
      const busy = (between[name] ?? 0) - (before[name] ?? 0);
      const idle = (after[name] ?? 0) - (between[name] ?? 0);
      return [name, (busy - idle) / calls];
    }),
  );
}

async function read(
  client: pg.Client,
  { service, ...ports }: { service: BenchService; statements: number; temporal: number },
): Promise<Counts> {
  const { rows } = await client.query<Record<string, number>>(
    `select (select sum(xact_commit)::float from pg_stat_database) as transactions,
            (select sum(fsyncs)::float from pg_stat_io where object = 'wal') as "walSyncs",
            (select wal_bytes::float from pg_stat_wal) as "walBytes"`,
  );
  const io = await readFile(`/proc/${service.ready.pid}/io`, "utf8");
  const find = (name: string): number => Number(new RegExp(`^${name}: (\\d+)`, "m").exec(io)?.[1]);
  const [statements, sdk] = await Promise.all([ask(ports.statements), ask(ports.temporal)]);
  return {
    ...rows[0],
    statements: Number(statements),
    temporalCalls: sumSeries(sdk, "temporal_request") + sumSeries(sdk, "temporal_long_request"),
    workflowTasks: sumSeries(sdk, "temporal_workflow_task_execution_latency_count"),
    serviceReads: find("syscr"),
    serviceWrites: find("syscw"),
  };
}

const ask = async (port: number): Promise<string> => (await request(`http://${LOCAL}:${port}/metrics`)).body.text();

/** Adds up the series of a metric, in the text format of Prometheus. */
function sumSeries(text: string, name: string): number {
  const values = text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"));
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
}

/** Events in the history of one execution, as Temporal's pages show it to who is signed in. */
async function countEvents(service: BenchService): Promise<number> {
  const { agent: dispatcher, ready } = service;
  const { origin } = new URL(ready.url);
  const signedIn = await request(`${origin}/api/session`, {
    method: "POST",
    dispatcher,
    headers: { "content-type": "application/json", origin },
    body: JSON.stringify(ownerOf(ready)),
  });
  const cookie = [signedIn.headers["set-cookie"]].flat().map((line) => line?.split(";")[0]);
  const { body } = await service.execute("hello", HELLO);
  await sleep(TOLD_MS);
  const path = `/temporal/api/v1/namespaces/treadle/workflows/${String(body.executionId)}/history`;
  const answer = await request(`${origin}${path}`, { dispatcher, headers: { cookie: cookie.join("; ") } });
  const { history } = (await answer.body.json()) as { history: { events: unknown[] } };
  return history.events.length;
}

/** Counts the system calls of the service and of all below it: PostgreSQL, Temporal and the programs. */
async function countSystemCalls(service: BenchService, act: () => Promise<void>, calls: number): Promise<Counts> {
  const [strace] = await listPrograms("strace", process.env.PATH);
  if (strace === undefined) return {};
  const pids = listTree(service.ready.pid);
  const child = spawn(strace, ["-f", "-c", "-q", ...pids.flatMap((pid) => ["-p", String(pid)])], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  await act();
  child.kill("SIGINT");
  await once(child, "close");
  const total = /^\s*100\.00\s.*?(\d+)\s+(?:\d+\s+)?total$/m.exec(said)?.[1];
  return { systemCalls: Number(total) / calls };
}
