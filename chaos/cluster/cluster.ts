import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { CHECKOUT } from "../checkout.ts";
import type { Places } from "../evidence.ts";
import type { DEPENDENCIES } from "../faults/plan.ts";
import { freePort } from "../ports.ts";
import { listTree, type Process, waitForDeath } from "../processes.ts";
import type { ClientRecord } from "../record.ts";
import { keepService, type Member, type Service } from "../service.ts";
import { type Bucket, readBucket } from "./bucket.ts";
import { openWay, type Way } from "./way.ts";

const SERVERS = "dist/bench/servers.js";
const MEMBERS = ["api1", "api2", "worker1", "worker2"];
/** Programs that each worker runs at the same time. */
const WORKER_SLOTS = 4;
const SERVERS_STOP_MAX_MS = 20_000;

type Dependency = (typeof DEPENDENCIES)[number];

/** Two processes that answer calls and two that run programs, on servers that they share, behind one address. */
export interface Cluster {
  readonly service: Service;
  readonly places: Places;
  readonly temporalAddress: string;
  /** The processes of PostgreSQL, Temporal and storage, below the one that keeps them. */
  servers(): Process[];
  /** Cuts members off from a server, all of them or the one of this share of them; answers which. */
  cut(from: Dependency, pick?: number): Promise<string>;
  /** Mends all ways. */
  mend(): Promise<void>;
  close(): Promise<void>;
}

/** What `bench/servers.ts` prints. */
interface Servers {
  readonly postgres: { readonly user: string; readonly host: string; readonly database: string };
  readonly temporal: string;
  readonly s3: Bucket;
}

/** Starts it and keeps it running until the last stop. The servers' data are in `dataDir`, the members' beside it. */
export async function keepCluster(options: {
  readonly dataDir: string;
  readonly logFile: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly record: ClientRecord;
}): Promise<Cluster> {
  const { dataDir, env } = options;
  await mkdir(dataDir, { recursive: true, mode: 0o755 });
  const temporaryDir = join(dirname(dataDir), "tmp");
  await mkdir(temporaryDir);
  const keeper = await startServers(dataDir, { ...env, TMPDIR: temporaryDir });
  const { servers } = keeper;
  const dirs = MEMBERS.map((name) => join(dirname(dataDir), name));
  const ways = await Promise.all(MEMBERS.map(() => openWays(servers)));
  const ports = await Promise.all(MEMBERS.map(freePort));
  let turn = 0;
  const front = await openWay(() => {
    const ready = [0, 1].filter((index) => service.isMemberReady(index));
    const chosen = ready[(turn += 1) % Math.max(ready.length, 1)];
    return chosen === undefined ? undefined : { host: "127.0.0.1", port: ports[chosen] as number };
  });
  const members = MEMBERS.map((name, index): Member => {
    const [dir = "", first = ""] = [dirs[index], dirs[0]];
    const isApi = name.startsWith("api");
    const shared =
      index === 0
        ? {}
        : {
            TREADLE_MASTER_KEY_FILE: join(first, "keys/master"),
            TREADLE_TLS_CERT: join(first, "tls/cert.pem"),
            TREADLE_TLS_KEY: join(first, "tls/key.pem"),
          };
    const role = isApi
      ? { TREADLE_ROLE: "api", TREADLE_PORT: String(ports[index]) }
      : { TREADLE_ROLE: "worker", TREADLE_METRICS_PORT: String(ports[index]) };
    return {
      dataDir: dir,
      url: `${isApi ? "https://localhost" : "http://127.0.0.1"}:${ports[index]}`,
      saysSo: isApi,
      env: {
        ...env,
        ...shared,
        ...role,
        ...toSettings(servers, ways[index] as Ways),
        TREADLE_SANDBOX_SLOTS: String(WORKER_SLOTS),
        TREADLE_PUBLIC_URL: `https://localhost:${front.port}`,
        TREADLE_DATA_DIR: dir,
      },
    };
  });
  const { logFile, record } = options;
  const service: Service = await keepService({ members, url: `https://localhost:${front.port}`, logFile, record });
  const all = (): Way[] => ways.flatMap((each) => Object.values(each));

  return {
    service,
    places: { database: dataDir, storage: undefined, readObjects: () => readBucket(servers.s3), dataDirs: dirs },
    temporalAddress: servers.temporal,
    servers: () => listTree(keeper.pid),
    async cut(from, pick) {
      const chosen = pick === undefined ? MEMBERS.map((_, index) => index) : [Math.floor(pick * MEMBERS.length)];
      await Promise.all(chosen.map((index) => (ways[index] as Ways)[from].cut()));
      return `${chosen.map((index) => MEMBERS[index]).join(", ")} from ${from}`;
    },
    mend: async () => void (await Promise.all(all().map((way) => way.mend()))),
    async close() {
      await service.close();
      await Promise.all([front, ...all()].map((way) => way.cut()));
      await keeper.stop();
    },
  };
}

type Ways = Readonly<Record<Dependency, Way>>;

/** A member's own ways to the servers. */
async function openWays({ postgres, temporal, s3 }: Servers): Promise<Ways> {
  const to = (url: string) => {
    const { hostname, port } = new URL(url);
    return openWay(() => ({ host: hostname, port: Number(port) }));
  };
  return {
    postgres: await openWay(() => ({ path: join(postgres.host, ".s.PGSQL.5432") })),
    temporal: await to(`http://${temporal}`),
    storage: await to(s3.endpoint),
  };
}

function toSettings({ postgres, s3 }: Servers, ways: Ways): Record<string, string> {
  const endpoint = encodeURIComponent(`http://127.0.0.1:${ways.storage.port}`);
  return {
    DATABASE_URL: `postgresql://${postgres.user}@127.0.0.1:${ways.postgres.port}/${postgres.database}`,
    TEMPORAL_ADDRESS: `127.0.0.1:${ways.temporal.port}`,
    TREADLE_STORAGE_URL: `s3://${s3.bucket}?endpoint=${endpoint}&region=${s3.region}`,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
}

async function startServers(dataDir: string, env: Readonly<Record<string, string | undefined>>) {
  const child = spawn(process.execPath, [join(CHECKOUT, SERVERS), dataDir], {
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const pid = child.pid as number;
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`The servers of a cluster did not start (${code}).`)));
  });
  return {
    servers: JSON.parse(line) as Servers,
    pid,
    async stop() {
      const before = listTree(pid);
      child.stdin.end();
      await waitForDeath(before, SERVERS_STOP_MAX_MS);
    },
  };
}
