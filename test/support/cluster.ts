import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startS3Server } from "../../bench/s3-server.ts";
import { openWay } from "../../chaos/cluster/way.ts";
import type { Db } from "../../db/connect.ts";
import { findPython } from "../../src/setup/python.ts";
import { runCommand } from "../../src/setup/servers/command.ts";
import { startTemporal } from "../../src/setup/servers/temporal.ts";
import { findCacheDir } from "../../src/setup/servers/temporal-cache.ts";
import { aDatabase } from "./postgres.ts";
import { aDataDir, startService, type TestService } from "./service.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/treadle", import.meta.url));
/** As few as a host can do with: each has a disk, and there are several hosts. */
const SMALL = { TREADLE_SANDBOX_SLOTS: "4", TREADLE_LANES_MAX: "0", TREADLE_EXAMPLES: "none" };
const START_MS_MAX = 120_000;

/** A host of its own: a data folder, and a way to storage that can be cut. */
export interface ClusterHost {
  readonly dataDir: string;
  /** Takes the way to storage away, or gives it back. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Starts a process that takes calls. */
  start(env?: Record<string, string>): Promise<TestService>;
  /** Starts a process of the role `worker`; answers what stops it. */
  startWorker(env?: Record<string, string>): Promise<() => Promise<void>>;
}

export interface Cluster {
  readonly db: Db;
  aHost(): Promise<ClusterHost>;
  stopTemporal(): Promise<void>;
  stop(): Promise<void>;
}

/** What several processes share: PostgreSQL, a Temporal server and an S3 server. The first host that is started makes the master key. */
export async function aCluster(common: Record<string, string>): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-cluster-"));
  const [database, temporal, s3] = await Promise.all([
    aDatabase(),
    aTemporal(join(folder, "temporal")),
    startS3Server(),
  ]);
  const { host, user, database: name } = database.address as { host: string; user: string; database: string };
  const env = {
    ...{ ...SMALL, ...common },
    DATABASE_URL: `postgresql://${user}@localhost/${name}?host=${encodeURIComponent(host)}`,
    ...temporal.settings,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
  const removals: (() => Promise<void>)[] = [];
  let masterKey: string | undefined;

  async function aHost(): Promise<ClusterHost> {
    const { dataDir, remove } = await aDataDir();
    const { hostname, port } = new URL(s3.endpoint);
    const way = await openWay(() => ({ host: hostname, port: Number(port) }));
    removals.push(way.cut, remove);
    const shared = masterKey === undefined ? {} : { TREADLE_MASTER_KEY_FILE: masterKey };
    masterKey ??= join(dataDir, "keys/master");
    const endpoint = encodeURIComponent(`http://127.0.0.1:${way.port}`);
    const own = { ...shared, TREADLE_STORAGE_URL: `s3://${s3.bucket}?endpoint=${endpoint}&region=${s3.region}` };
    return {
      ...{ dataDir, cut: way.cut, mend: way.mend },
      start: (more = {}) => startService({ dataDir, env: { ...env, ...own, ...more } }),
      startWorker: (more = {}) => startWorker({ ...env, ...own, ...more, TREADLE_DATA_DIR: dataDir }),
    };
  }

  return {
    db: database.db,
    aHost,
    stopTemporal: temporal.stop,
    async stop() {
      for (const remove of removals) await remove();
      await Promise.all([temporal.stop(), s3.stop()]);
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A server that asks for TLS with a certificate of the caller, as clusters do, and has not heard of our namespace. */
async function aTemporal(folder: string): Promise<{ settings: Record<string, string>; stop: () => Promise<void> }> {
  const { path: python } = await findPython({
    ...{ env: process.env, runAs: undefined, isRoot: false, mayInstall: false },
    ...{ report: () => undefined, run: runCommand },
  });
  const temporal = await startTemporal({
    ...{ env: process.env, dataDir: folder, cacheDir: findCacheDir(process.env), python },
    ...{ report: () => undefined, log: () => undefined },
  });
  const { ca = "", caller, serverName = "" } = temporal.tls ?? {};
  const write = async (name: string, text = "") => {
    const path = join(folder, name);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
  const settings = {
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: "workflows",
    TEMPORAL_TLS_CA: await write("ca.pem", ca),
    TEMPORAL_TLS_CERT: await write("cert.pem", caller?.cert),
    TEMPORAL_TLS_KEY: await write("key.pem", caller?.key),
    TEMPORAL_TLS_SERVER_NAME: serverName,
  };
  return { settings, stop: temporal.stop };
}

async function startWorker(env: Record<string, string>): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, [PROGRAM, "start"], {
    env: { ...process.env, ...env, TREADLE_ROLE: "worker" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += String(text)));
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  for (const deadline = Date.now() + START_MS_MAX; !output.includes('"event":"service.ready"'); await sleep(50))
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`The worker did not start:\n${output}`);
  return async () => {
    child.kill("SIGTERM");
    await ended;
  };
}
