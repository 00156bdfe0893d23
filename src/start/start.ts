import { type Defer, withReleases } from "../../system/releases.ts";
import { createLog, type Log, openOutput } from "../log.ts";
import { describeLargest } from "../setup/folder-sizes.ts";
import { DiskFullError } from "../setup/servers/disk-full.ts";
import { startPostgres } from "../setup/servers/postgres.ts";
import { startTemporal } from "../setup/servers/temporal.ts";
import { openCluster } from "../setup/servers/temporal-cluster.ts";
import { budgetDescriptors, readDescriptorLimit } from "./descriptors.ts";
import { openHost } from "./host-programs.ts";
import { drainMsMax, endProcess, outliveRejections, stopRequested } from "./lifecycle.ts";
import type { Servers, StartInput } from "./service.ts";

/** The process is gone this long after it was drained, also when a part of it hangs. */
const STOP_MAX_MS = 6_500;
/** What a shell shows for a program ended by Ctrl-C. */
const INTERRUPTED = 130;

/**
 * The service in one process: servers, and by its role worker, HTTP or both. Opens everything in order, publishes the
 * examples, writes `ready.json`, prints how to call it, and closes everything in reverse at the first request to stop.
 */
export async function runStart(input: StartInput): Promise<void> {
  const { settings, machine } = input;
  const terminal = process.stdout.isTTY === true;
  const output = openOutput({ terminal });
  const log = createLog({ level: settings.TREADLE_LOG_LEVEL, terminal, output });
  outliveRejections(process, log);
  const stop = stopRequested(() => endProcess(INTERRUPTED));
  await withReleases(async (defer) => {
    defer(() => machine.release());
    const descriptors = budgetDescriptors(settings, await readDescriptorLimit());
    if (descriptors.max < settings.TREADLE_CONNECTIONS_MAX)
      log.warn({ event: "connections.bounded" }, descriptors.message);
    const { postgres, temporal, host } = await openServers(input, log, defer);
    const { openService } = await import("./service.ts");
    const service = await openService(input, { postgres, temporal, host, descriptors, log }, defer);
    const { workersEnded, drain } = service;
    log.info({ event: "service.ready", postgres: postgres.source, temporal: temporal.source }, "Ready.");
    service.announce(output, input.opensPage === true);

    const unasked = Promise.race([
      ...workersEnded.map((ended) => ended.then(() => "the worker ended")),
      postgres.exited.then((failure) => `PostgreSQL is gone: ${failure.message}`),
      temporal.exited.then((failure) => `Temporal's server is gone: ${failure.message}`),
    ]);
    const asked = stop.then((cause) => ({ cause, asked: true }));
    const stopping = await Promise.race([asked, unasked.then((cause) => ({ cause, asked: false }))]);
    log.info({ event: "service.stopping", cause: stopping.cause }, "Stopping.");
    const leaveWithin = (ms: number) => setTimeout(() => endProcess(1), ms).unref();
    leaveWithin(drainMsMax(settings) + STOP_MAX_MS);
    await drain(stopping.asked);
    leaveWithin(STOP_MAX_MS);
  });
  log.info({ event: "service.stopped" }, "Stopped.");
}

/**
 * All at once, because each takes a moment; when one fails the others are closed again. The rest of the service's code is
 * loaded when servers and host have begun. That takes this process half a second, in which their programs work.
 */
async function openServers(input: StartInput, log: Log, defer: Defer): Promise<Servers> {
  const { machine, settings, report } = input;
  const common = { env: machine.env, dataDir: machine.dataDir, runAs: machine.runAs, report };
  const line = (source: string) => (text: string) => log.debug({ event: "server.line", source }, text);
  const starting = [
    launch((onLaunched) => startPostgres({ ...common, url: settings.DATABASE_URL, onLaunched, log: line("postgres") })),
    launch((onLaunched) => {
      const { temporal: binary, cacheDir, cluster } = machine;
      if (cluster !== undefined) {
        onLaunched();
        return openCluster(cluster, settings);
      }
      const python = machine.python.path;
      return startTemporal({ ...common, binary, cacheDir, python, onLaunched, log: line("temporal") });
    }),
  ] as const;
  const opening = openHost({ settings, machine, log });
  opening.catch(() => undefined); // Awaited below.
  await Promise.all(starting.map(({ launched }) => launched));
  const [postgres, temporal, host] = await Promise.allSettled([
    starting[0].started,
    starting[1].started,
    opening,
    import("./service.ts"),
  ]);
  for (const server of [postgres, temporal]) if (server.status === "fulfilled") defer(() => server.value.stop());
  if (host.status === "fulfilled") defer(() => host.value.close());
  if (postgres.status === "rejected") throw await nameLargest(postgres.reason, machine.dataDir);
  if (temporal.status === "rejected") throw await nameLargest(temporal.reason, machine.dataDir);
  if (host.status === "rejected") throw host.reason;
  return { postgres: postgres.value, temporal: temporal.value, host: host.value };
}

/** On a full disk, says what fills it. */
async function nameLargest(error: unknown, dataDir: string): Promise<unknown> {
  if (!(error instanceof DiskFullError)) return error;
  return new Error(`${error.message} Largest in ${dataDir}: ${await describeLargest(dataDir)}.`, { cause: error });
}

/** `launched` resolves when there is nothing to do for it but wait, or when it has failed. */
function launch<T>(start: (onLaunched: () => void) => Promise<T>): { launched: Promise<void>; started: Promise<T> } {
  let announce = (): void => {};
  const launched = new Promise<void>((resolve) => {
    announce = resolve;
  });
  const started = start(announce);
  void started.then(announce, announce);
  return { launched, started };
}
