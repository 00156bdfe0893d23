import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Connection } from "@temporalio/client";
import { stringify } from "yaml";
import { openWay } from "../../chaos/cluster/way.ts";
import { POSTGRES_USER } from "../../src/setup/servers/postgres-data.ts";
import { makeProxyCertificates, PROXY_NAME } from "../../src/setup/servers/proxy-certificates.ts";
import { findCacheDir } from "../../src/setup/servers/temporal-cache.ts";
import { administer } from "./postgres-server.ts";

const VERSION = "v1.31.2";
const MODULE = "go.temporal.io/server";
const NEEDS = "Temporal's server in its four roles needs Go 1.26.4 or newer, and the module proxy that it is set to.";
const ROLES = ["frontend", "history", "matching", "worker"] as const;
const DYNAMIC = fileURLToPath(new URL("../../deploy/temporal/dynamic-config.yaml", import.meta.url));
const BUILD_MS_MAX = 20 * 60_000;
const READY_MS_MAX = 120_000;

export interface TemporalCluster {
  readonly address: string;
  /** PEM texts and a name, for who connects to it. */
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string; readonly serverName: string };
  stop(): Promise<void>;
}

/**
 * Starts Temporal's own server on the PostgreSQL with a socket in this folder: four processes with a role each, and a frontend
 * that asks for certificates. `deploy/temporal/` says how it is set. The caller stops it.
 */
export async function startTemporalCluster(socketFolder: string, folder: string): Promise<TemporalCluster> {
  const bin = await buildServer();
  await mkdir(folder, { recursive: true });
  const postgres = await openWay(() => ({ path: join(socketFolder, ".s.PGSQL.5432") }));
  const own = `${process.pid}_${Date.now()}`;
  const databases = { temporal: `temporal_${own}`, visibility: `visibility_${own}` };
  for (const [schema, name] of Object.entries(databases)) {
    await administer(socketFolder, `create database ${name}`);
    await makeSchema(bin, { port: postgres.port, name, schema });
  }
  const certificates = makeProxyCertificates(Date.now());
  const { file, address } = await writeConfig(folder, { postgresPort: postgres.port, databases, certificates });
  const [first, ...others] = ROLES;
  const children = [startRole(join(bin, "server"), first, file)];
  const tls = {
    ca: certificates.ca,
    cert: certificates.caller.cert,
    key: certificates.caller.key,
    serverName: PROXY_NAME,
  };
  const stop = async (): Promise<void> => {
    await Promise.all(children.map(({ end }) => end()));
    await postgres.cut();
    for (const name of Object.values(databases))
      await administer(socketFolder, `drop database if exists ${name} with (force)`);
  };
  try {
    // Alone at first: it writes what there is of the cluster, and two that do so at the same time end.
    await waitForPort(address);
    children.push(...others.map((role) => startRole(join(bin, "server"), role, file)));
    await waitForCluster(address, tls);
  } catch (error) {
    await stop();
    const said = children.map(({ role, said: lines }) => `${role}: ${lines()}`).join("\n");
    throw new Error(`Temporal's server did not answer within ${READY_MS_MAX} ms.\n${said}`, { cause: error });
  }
  return { address, tls, stop };
}

/** Builds the server and the tool that makes its schema, once for all checkouts; answers their folder. */
async function buildServer(): Promise<string> {
  const cache = join(findCacheDir(process.env), "test");
  const kept = join(cache, `temporal-server-${VERSION}`);
  const isThere = await stat(kept).then(
    () => true,
    () => false,
  );
  if (isThere) return kept;
  process.stderr.write(`Building Temporal's server ${VERSION} (about 8 minutes on two cores, once) …\n`);
  await mkdir(cache, { recursive: true });
  const building = await mkdtemp(join(cache, "building-"));
  const programs = ["server", "tools/sql"].map((path) => `${MODULE}/cmd/${path}@${VERSION}`);
  const env = { ...process.env, GOBIN: building, GOTOOLCHAIN: "local", GOFLAGS: "-buildvcs=false", CGO_ENABLED: "0" };
  const options = { env, timeout: BUILD_MS_MAX, maxBuffer: 1 << 24 };
  try {
    await promisify(execFile)("go", ["install", "-trimpath", "-ldflags=-s -w", ...programs], options);
    // Another test file may have built it meanwhile: then that one is kept.
    await rename(building, kept).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } catch (error) {
    throw new Error(`${NEEDS}\n${(error as Error).message}`, { cause: error });
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return kept;
}

async function makeSchema(bin: string, { port, name, schema }: { port: number; name: string; schema: string }) {
  const place = ["--plugin", "postgres12_pgx", "--endpoint", "127.0.0.1", "--port", String(port)];
  const database = [...place, "--user", POSTGRES_USER, "--password", "none", "--database", name];
  for (const action of [
    ["setup-schema", "--version", "0.0"],
    ["update-schema", "--schema-name", `postgresql/v12/${schema}`],
  ])
    await promisify(execFile)(join(bin, "sql"), [...database, ...action]);
}

async function writeConfig(
  folder: string,
  given: {
    postgresPort: number;
    databases: Readonly<Record<string, string>>;
    certificates: ReturnType<typeof makeProxyCertificates>;
  },
): Promise<{ file: string; address: string }> {
  const { ca, proxy, caller } = given.certificates;
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const authority = await write("authority.pem", ca);
  const client = { serverName: PROXY_NAME, rootCaFiles: [authority] };
  const frontendTls = {
    server: {
      certFile: await write("frontend.pem", proxy.cert),
      keyFile: await write("frontend-key.pem", proxy.key),
      requireClientAuth: true,
      clientCaFiles: [authority],
    },
    client,
  };
  const workerTls = {
    certFile: await write("system.pem", caller.cert),
    keyFile: await write("system-key.pem", caller.key),
    client,
  };
  const ports: number[] = [];
  for (let count = 0; count < 2 * ROLES.length; count += 1) ports.push(await lowPort());
  const rpcOf = (index: number) => ({
    rpc: { grpcPort: ports[2 * index], membershipPort: ports[2 * index + 1], bindOnIP: "127.0.0.1" },
  });
  const address = `127.0.0.1:${ports[0]}`;
  const storeOf = (databaseName: string | undefined) => ({
    sql: {
      pluginName: "postgres12_pgx",
      databaseName,
      connectAddr: `127.0.0.1:${given.postgresPort}`,
      connectProtocol: "tcp",
      user: POSTGRES_USER,
      password: "none",
      maxConns: 10,
      maxIdleConns: 10,
    },
  });
  const config = {
    log: { stdout: true, level: "warn" },
    persistence: {
      defaultStore: "default",
      visibilityStore: "visibility",
      numHistoryShards: 4,
      datastores: {
        default: storeOf(given.databases["temporal"]),
        visibility: storeOf(given.databases["visibility"]),
      },
    },
    global: {
      membership: { maxJoinDuration: "30s", broadcastAddress: "127.0.0.1" },
      tls: { frontend: frontendTls, systemWorker: workerTls },
    },
    services: Object.fromEntries(ROLES.map((role, index) => [role, rpcOf(index)])),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: "active",
      currentClusterName: "active",
      clusterInformation: {
        active: { enabled: true, initialFailoverVersion: 1, rpcName: "frontend", rpcAddress: address },
      },
    },
    dcRedirectionPolicy: { policy: "noop" },
    publicClient: { hostPort: address },
    dynamicConfigClient: { filepath: DYNAMIC, pollInterval: "60s" },
  };
  return { file: await write("server.yaml", stringify(config)), address };
}

/** A port that nobody listened on a moment ago. The server keeps ports as whole numbers of two bytes, with a sign. */
async function lowPort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await Promise.race([
      once(server, "listening").then(() => true),
      once(server, "error").then(() => false),
    ]).catch(() => false);
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

async function waitForPort(address: string): Promise<void> {
  const [host = "", port = ""] = address.split(":");
  for (const deadline = Date.now() + READY_MS_MAX; ; await sleep(100)) {
    const socket = connect(Number(port), host);
    const failure = await once(socket, "connect").then(
      () => undefined,
      (error: Error) => error,
    );
    socket.destroy();
    if (failure === undefined) return;
    if (Date.now() > deadline) throw failure;
  }
}

/** One process. It ends with this one, however that ends. */
function startRole(program: string, role: string, file: string) {
  const script = '"$@" & read -r _; kill $! 2>/dev/null; wait $!';
  const args = ["-c", script, "sh", program, "--config-file", file, "--allow-no-auth", "start", "--service", role];
  const child: ChildProcess = spawn("/bin/sh", args, { stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (text) => {
      said = `${said}${String(text)}`.slice(-500);
    });
  const ended = once(child, "exit");
  return {
    role,
    said: () => said,
    async end(): Promise<void> {
      child.stdin?.end();
      await ended;
    },
  };
}

async function waitForCluster(address: string, { ca, cert, key, serverName }: TemporalCluster["tls"]): Promise<void> {
  const tls = {
    serverNameOverride: serverName,
    serverRootCACertificate: Buffer.from(ca),
    clientCertPair: { crt: Buffer.from(cert), key: Buffer.from(key) },
  };
  for (const deadline = Date.now() + READY_MS_MAX; ; await sleep(200)) {
    const connection = await Connection.connect({ address, tls, connectTimeout: 2_000 }).catch((error: unknown) => {
      if (Date.now() > deadline) throw error;
    });
    if (connection === undefined) continue;
    try {
      // Answered when history is there as well; before, namespaces cannot be asked about.
      await connection.workflowService.describeNamespace({ namespace: "temporal-system" });
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    } finally {
      await connection.close();
    }
  }
}
