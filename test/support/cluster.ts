import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { ConnectionOptions } from "@temporalio/client";
import { startS3Server } from "../../bench/s3-server.ts";
import { openWay } from "../../chaos/cluster/way.ts";
import type { Db } from "../../db/connect.ts";
import { findPython } from "../../src/setup/python.ts";
import { runCommand } from "../../src/setup/servers/command.ts";
import { startTemporal } from "../../src/setup/servers/temporal.ts";
import { findCacheDir } from "../../src/setup/servers/temporal-cache.ts";
import { type Pooler, startPooler } from "./pooler.ts";
import { aDatabase } from "./postgres.ts";
import { aDataDir, startService, type TestService } from "./service.ts";
import { startTemporalCluster, type TemporalCluster } from "./temporal-cluster.ts";

const CHECKOUT = fileURLToPath(new URL("../../", import.meta.url));
/** As few as a host can do with: each has a disk, and there are several hosts. */
const SMALL = { TREADLE_SANDBOX_SLOTS: "4", TREADLE_LANES_MAX: "0", TREADLE_EXAMPLES: "none" };
const START_MS_MAX = 120_000;
const NAMESPACE = "workflows";
/** The long form, with Temporal's own server in its four roles on PostgreSQL: `TREADLE_TEST_TEMPORAL=server`. */
export const IS_LONG = process.env["TREADLE_TEST_TEMPORAL"] === "server";

/** A host of its own: a data folder, and a way to storage that can be cut. */
export interface ClusterHost {
  readonly dataDir: string;
  /** Takes the way to storage away, or gives it back. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Starts a process that takes calls. */
  start(env?: Record<string, string>): Promise<TestService>;
  /** Starts a process of the role `worker`. */
  startWorker(env?: Record<string, string>): Promise<RunningWorker>;
}

export interface RunningWorker {
  readonly child: ChildProcess;
  /** Everything it printed so far. */
  output(): string;
  hostId(): Promise<string>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface Cluster {
  readonly db: Db;
  /** Where its record is. */
  readonly database: { readonly host: string; readonly user: string; readonly database: string };
  readonly pooler: Pooler;
  /** `checkout`: where its processes are started from; this one unless given. */
  aHost(checkout?: string): Promise<ClusterHost>;
  /** How to ask its Temporal, and in which namespace. */
  readonly temporal: { readonly server: ConnectionOptions; readonly namespace: string };
  stopTemporal(): Promise<void>;
  stop(): Promise<void>;
}

/** What several processes share: PostgreSQL behind PgBouncer, a Temporal server and an S3 server. The first host that is started makes the master key, and with `isBare` the tables. */
export async function aCluster(common: Record<string, string>, options: { isBare?: boolean } = {}): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-cluster-"));
  const database = await aDatabase(options);
  const address = database.address as { host: string; user: string; database: string };
  const [temporal, s3] = await Promise.all([aTemporal(join(folder, "temporal"), address.host), startS3Server()]);
  const { host, user, database: name } = address;
  const pooler = await startPooler(address);
  const env = {
    ...SMALL,
    ...common,
    DATABASE_URL: `postgresql://${user}@localhost/${name}?host=${encodeURIComponent(host)}`,
    DATABASE_POOLER_URL: pooler.url,
    ...temporal.settings,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
  const removals: (() => Promise<void>)[] = [];
  let masterKey: string | undefined;

  async function aHost(checkout = CHECKOUT): Promise<ClusterHost> {
    const { dataDir, remove } = await aDataDir();
    const { hostname, port } = new URL(s3.endpoint);
    const way = await openWay(() => ({ host: hostname, port: Number(port) }));
    removals.push(way.cut, remove);
    const shared = masterKey === undefined ? {} : { TREADLE_MASTER_KEY_FILE: masterKey };
    masterKey ??= join(dataDir, "keys/master");
    const endpoint = encodeURIComponent(`http://127.0.0.1:${way.port}`);
    const own = { ...shared, TREADLE_STORAGE_URL: `s3://${s3.bucket}?endpoint=${endpoint}&region=${s3.region}` };
    return {
      dataDir,
      cut: way.cut,
      mend: way.mend,
      start: (more = {}) => startService({ dataDir, checkout, env: { ...env, ...own, ...more } }),
      startWorker: (more = {}) => startWorker(checkout, { ...env, ...own, ...more, TREADLE_DATA_DIR: dataDir }),
    };
  }

  return {
    db: database.db,
    database: address,
    pooler,
    aHost,
    temporal: { server: temporal.server, namespace: NAMESPACE },
    stopTemporal: temporal.stop,
    async stop() {
      for (const remove of removals) await remove();
      await Promise.all([temporal.stop(), s3.stop(), pooler.stop()]);
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * A server that asks for TLS with a certificate of the caller, as clusters do, and has not heard of our namespace. In the long
 * form it is Temporal's own in four processes, on PostgreSQL.
 */
async function aTemporal(
  folder: string,
  postgresFolder: string,
): Promise<{ settings: Record<string, string>; server: ConnectionOptions; stop: () => Promise<void> }> {
  const { address, tls, stop } = await (IS_LONG ? startTemporalCluster(postgresFolder, folder) : startEmbedded(folder));
  const write = async (name: string, text: string) => {
    const path = join(folder, name);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
  const settings = {
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: NAMESPACE,
    TEMPORAL_TLS_CA: await write("ca.pem", tls.ca),
    TEMPORAL_TLS_CERT: await write("cert.pem", tls.cert),
    TEMPORAL_TLS_KEY: await write("key.pem", tls.key),
    TEMPORAL_TLS_SERVER_NAME: tls.serverName,
  };
  const server = {
    address,
    tls: {
      serverNameOverride: tls.serverName,
      serverRootCACertificate: Buffer.from(tls.ca),
      clientCertPair: { crt: Buffer.from(tls.cert), key: Buffer.from(tls.key) },
    },
  };
  return { settings, server, stop };
}

async function startEmbedded(folder: string): Promise<TemporalCluster> {
  await mkdir(folder, { recursive: true });
  const { path: python } = await findPython({
    env: process.env,
    runAs: undefined,
    isRoot: false,
    mayInstall: false,
    report: () => undefined,
    run: runCommand,
  });
  const temporal = await startTemporal({
    env: process.env,
    dataDir: folder,
    cacheDir: findCacheDir(process.env),
    python,
    report: () => undefined,
    log: () => undefined,
  });
  const { ca = "", caller, serverName = "" } = temporal.tls ?? {};
  const tls = { ca, cert: caller?.cert ?? "", key: caller?.key ?? "", serverName };
  return { address: temporal.address, tls, stop: temporal.stop };
}

async function startWorker(
  checkout: string,
  env: Record<string, string> & { TREADLE_DATA_DIR: string },
): Promise<RunningWorker> {
  const child = spawn(process.execPath, [join(checkout, "bin/treadle"), "start"], {
    env: { ...process.env, ...env, TREADLE_ROLE: "worker" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += String(text)));
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  for (const deadline = Date.now() + START_MS_MAX; !output.includes('"event":"service.ready"'); await sleep(50))
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`The worker did not start:\n${output}`);
  return {
    child,
    output: () => output,
    hostId: async () => (await readFile(join(env.TREADLE_DATA_DIR, "host-id"), "utf8")).trim(),
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      await ended;
    },
  };
}
