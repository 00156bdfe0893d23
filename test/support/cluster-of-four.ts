import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../src/setup/servers/free-port.ts";
import type { ReadyFile } from "../../src/start/ready-file.ts";
import { type Balancer, openBalancer } from "./balancer.ts";
import { aCluster, type Cluster, type ClusterHost, type RunningWorker } from "./cluster.ts";
import { callService, type TestService } from "./service.ts";

type Pair<T> = readonly [T, T];

/** Two processes that take calls, by turns, and two that run programs: each on a host of its own. */
export interface ClusterOfFour {
  readonly cluster: Cluster;
  readonly balancer: Balancer;
  readonly apiHosts: Pair<ClusterHost>;
  readonly apis: readonly TestService[];
  readonly workers: RunningWorker[];
  startAll(env?: Record<string, string>): Promise<void>;
  stopAll(signal?: NodeJS.Signals): Promise<void>;
  /** Restarts a process that takes calls, as its balancer does: it gets none from before its end until it is there again. */
  restartApi(place: number): Promise<void>;
  restartWorker(place: number): Promise<void>;
  /** Calls whichever process has its turn. `workflows`: what was published as examples. */
  call(workflows?: ReadyFile["workflows"]): ReturnType<typeof callService>;
  /** Ends what still runs, and removes all of it. */
  remove(): Promise<void>;
}

/** `common`: settings of all four. None of them is started yet. */
export async function aClusterOfFour(common: Record<string, string>): Promise<ClusterOfFour> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-balancer-"));
  const balancer = await openBalancer(folder);
  const cluster = await aCluster({ TREADLE_PUBLIC_URL: balancer.url, TREADLE_TRUST_PROXY: "true", ...common });
  const aPair = async (): Promise<Pair<ClusterHost>> => [await cluster.aHost(), await cluster.aHost()];
  const [apiHosts, workerHosts] = [await aPair(), await aPair()];
  const ports = [await freePort("127.0.0.1"), await freePort("127.0.0.1")];
  const apis: TestService[] = [];
  const workers: RunningWorker[] = [];
  let env: Record<string, string> = {};

  const startApi = async (place: number): Promise<void> => {
    const own = { TREADLE_ROLE: "api", TREADLE_PORT: String(ports[place]) };
    apis[place] = await (apiHosts[place] as ClusterHost).start({ ...env, ...own });
  };
  const startWorker = async (place: number): Promise<void> => {
    workers[place] = await (workerHosts[place] as ClusterHost).startWorker({ TREADLE_DRAIN_SECONDS: "0", ...env });
  };
  const stopAll = async (signal?: NodeJS.Signals): Promise<void> => {
    await Promise.all([...apis.splice(0), ...workers.splice(0)].map((each) => each?.stop(signal)));
  };

  return {
    cluster,
    balancer,
    apiHosts,
    apis,
    workers,
    stopAll,
    async startAll(more = {}) {
      env = more;
      // The first one makes the master key that the others have.
      await startApi(0);
      // When one of them does not start, the others are ended all the same.
      const started = await Promise.allSettled([startApi(1), startWorker(0), startWorker(1)]);
      for (const each of started) if (each.status === "rejected") throw each.reason;
      balancer.open(ports);
    },
    async restartApi(place) {
      balancer.open(ports.filter((_, at) => at !== place));
      await apis[place]?.stop();
      await startApi(place);
      balancer.open(ports);
    },
    async restartWorker(place) {
      await workers[place]?.stop();
      await startWorker(place);
    },
    call(workflows = {}) {
      const [one] = apis as [TestService];
      return callService({ ...one.ready, caFile: balancer.caFile, workflows });
    },
    async remove() {
      await stopAll();
      await balancer.close();
      await cluster.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
