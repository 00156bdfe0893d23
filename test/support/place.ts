import { execFile } from "node:child_process";
import { cp, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client, Connection, WorkflowNotFoundError } from "@temporalio/client";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import pg from "pg";
import { askTimetables } from "../../chaos/cluster/timetables.ts";
import { readTimetables, type Timetable } from "../../chaos/timetables.ts";
import { POSTGRES_USER } from "../../src/setup/servers/postgres-data.ts";
import type { ReadyFile } from "../../src/start/ready-file.ts";
import { IS_LONG } from "./cluster.ts";
import { aClusterOfFour } from "./cluster-of-four.ts";
import { aDataDir, startService, type TestService } from "./service.ts";
import { type HistoryEvent, readHistory } from "./temporal-history.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples/", import.meta.url));
const TREADLE = fileURLToPath(new URL("../../bin/treadle", import.meta.url));

/** Where the service of a test file is, for as long as that file runs. */
export interface Place {
  /** Of who takes calls: its `ready.json` and the operator's token are there. */
  readonly dataDir: string;
  readonly database: { readonly host: string; readonly user: string; readonly database: string };
  /** Starts the service, or starts it again. `withinFilters` is for a service that is alone. */
  start(env?: Record<string, string>, options?: { readonly withinFilters?: boolean }): Promise<TestService>;
  /** Sends a signal to each of its processes. */
  signal(signal: NodeJS.Signals): void;
  /** While it is stopped, takes all from its Temporal. */
  emptyTemporal(): Promise<void>;
  /** The types of the events that Temporal has of an execution, once that has ended. */
  readEvents(executionId: string): Promise<string[]>;
  /** What its Temporal has to fire, once that is what is declared, or after a minute. */
  readTimetables(declared: readonly string[]): Promise<Timetable[]>;
  /** Asks the record around the service. */
  query(sql: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  remove(): Promise<void>;
}

/** A place for a service: alone with all it needs. In the long form of the tests of clusters it is four processes. */
export const aPlace = (): Promise<Place> => (IS_LONG ? aClusteredPlace() : aSinglePlace());

/** The same, of one process in every form. */
export async function aSinglePlace(): Promise<Place> {
  const { dataDir, remove } = await aDataDir();
  const database = { host: join(dataDir, "postgres/socket"), user: POSTGRES_USER, database: "treadle" };
  let service: TestService;
  return {
    dataDir,
    database,
    query: queryFrom(database),
    remove,
    async start(env = {}, options = {}) {
      service = await startService({ ...options, dataDir, env });
      return service;
    },
    signal: (signal) => void process.kill(service.ready.pid, signal),
    async emptyTemporal() {
      const folder = join(dataDir, "temporal/data");
      const files = await readdir(folder);
      if (files.length === 0) throw new Error(`Temporal has no files in ${folder}.`);
      for (const file of files) await rm(join(folder, file));
    },
    readEvents: async (executionId) =>
      (await readHistory(service, dataDir, executionId)).events.map(({ eventType }) => eventType),
    readTimetables: (declared) => readTimetables(dataDir, declared),
  };
}

async function aClusteredPlace(): Promise<Place> {
  const four = await aClusterOfFour({ TREADLE_LANES_MAX: "4" });
  const { cluster } = four;
  const [{ dataDir }] = four.apiHosts;
  const { server } = cluster.temporal;
  let { namespace } = cluster.temporal;
  let workflows: ReadyFile["workflows"] | undefined;
  return {
    dataDir,
    database: cluster.database,
    query: queryFrom(cluster.database),
    remove: four.remove,
    signal: (signal) => {
      for (const { child } of [...four.apis, ...four.workers]) child.kill(signal);
    },
    async emptyTemporal() {
      namespace = `empty-${Date.now()}`;
    },
    async readEvents(executionId) {
      const connection = await Connection.connect(server);
      try {
        const handle = new Client({ connection, namespace }).workflow.getHandle(executionId);
        // Temporal learns of a short execution a moment after its caller has the result.
        const isOver = async () => (await handle.describe()).closeTime !== undefined;
        while (!(await isOver().catch(ifMissing))) await sleep(100);
        const { events } = JSON.parse(historyToJSON(await handle.fetchHistory())) as { events: HistoryEvent[] };
        return events.map(({ eventType }) => eventType);
      } finally {
        await connection.close();
      }
    },
    readTimetables: (declared) => askTimetables(server, namespace, declared),
    async start(env = {}) {
      await four.startAll({ ...env, TEMPORAL_NAMESPACE: namespace });
      const [one] = four.apis as [TestService];
      // As one machine does by itself.
      workflows ??= await publishExamples(dataDir, env["TREADLE_EXAMPLES"] ?? "hello");
      const { hangUp, ...called } = await four.call(workflows);
      return {
        ...called,
        child: one.child,
        startMs: one.startMs,
        output: () => [...four.apis, ...four.workers].map((each) => each.output()).join(""),
        async stop(signal) {
          const before = performance.now();
          await four.stopAll(signal);
          await hangUp();
          return performance.now() - before;
        },
      };
    },
  };
}

/** By its operator. An example that this installation lacks something for is left out, as by a service that is alone. */
async function publishExamples(dataDir: string, wanted: string): Promise<ReadyFile["workflows"]> {
  const published: Record<string, { workflowId: string; apiKey: string }> = {};
  const env = { ...process.env, TREADLE_DATA_DIR: dataDir };
  // A copy, as the command line notes in a folder where it was published to.
  const copies = join(dirname(dataDir), "examples");
  await cp(EXAMPLES, copies, { recursive: true });
  for (const name of await readdir(copies)) {
    if (wanted !== "all" && wanted !== name) continue;
    const args = [TREADLE, "publish", join(copies, name), "--json"];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env }).catch(() => ({ stdout: "" }));
    if (stdout !== "") published[name] = JSON.parse(stdout) as { workflowId: string; apiKey: string };
  }
  return published;
}

function ifMissing(error: unknown): false {
  if (error instanceof WorkflowNotFoundError) return false;
  throw error;
}

/** Returns what asks a database, by a connection for each question. */
export const queryFrom =
  (database: Place["database"]): Place["query"] =>
  async (sql, values = []) => {
    const client = new pg.Client(database);
    await client.connect();
    try {
      return (await client.query(sql, [...values])).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  };
