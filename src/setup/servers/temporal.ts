import { access, constants, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../../domain/message-of.ts";
import { dropUnusedIndexes } from "../../patches/temporal-indexes.ts";
import type { RunAs } from "./child.ts";
import { type RunCommand, runCommand } from "./command.ts";
import { freePort } from "./free-port.ts";
import { endLeftover } from "./process-identity.ts";
import { makeProxyCertificates, type ProxyCertificates } from "./proxy-certificates.ts";
import { makeOwnFolder } from "./reachability.ts";
import { type ServerFailure, superviseServer } from "./restart.ts";
import { startInFolder } from "./server-folder.ts";
import { resolveTemporalBinary } from "./temporal-binary.ts";
import { findCached } from "./temporal-cache.ts";
import { type Enclosure, findEnclosureProblem } from "./temporal-enclosure.ts";
import { type PagesTarget, type TemporalEntry, toGuarded, toPages } from "./temporal-proxy.ts";
import { bringIntoReach } from "./temporal-reach.ts";
import type { Fetch } from "./temporal-release.ts";
import { launchTemporal, TEMPORAL_HOST, TEMPORAL_STOP_GRACE_MS, type TemporalPorts } from "./temporal-server.ts";
import { TEMPORAL_VERSION, type TemporalBinary } from "./temporal-version.ts";

const NAMESPACE = "treadle";
/** The development server's own choice. Nothing else is in its network. */
const PORTS_INSIDE: TemporalPorts = { grpc: 7233, ui: 8233 };
const PORT_ATTEMPTS_MAX = 4;
const LEFTOVER_PATIENCE_MS = 5_000;
const PORT_TAKEN = /address already in use|can't set .*port|can't bind|failed to (listen|bind)|failed to start ui/i;
/** The list of executions may have millions of rows. */
const INDEXES_MS_MAX = 30_000;

export interface Temporal extends TemporalEntry {
  readonly namespace: string;
  /** Of one that is not ours, and says it. */
  readonly uiUrl?: string;
  /** How the service requests the embedded server's web interface, which it shows at `PAGES_PATH`. */
  readonly pages?: PagesTarget;
  /** Why every program of this machine reaches the embedded server's ports; undefined when the service alone does. */
  readonly openPortsProblem?: string | undefined;
  /** Which rung of the ladder it is, for people. */
  readonly source: string;
  /** The pid of the embedded server; undefined when it is not ours, or is being restarted. */
  pid(): number | undefined;
  /** Resolves when the embedded server is gone for good; never for an external one, and never because of `stop`. */
  readonly exited: Promise<ServerFailure>;
  stop(): Promise<void>;
}

export interface TemporalOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The service's data dir; the server's folder is `temporal` in it. */
  readonly dataDir: string;
  /** Where a downloaded or built server is kept between checkouts: `findCacheDir(env)`. */
  readonly cacheDir: string;
  readonly runAs?: RunAs | undefined;
  /** One that has been found already and can be executed by `runAs`. */
  readonly binary?: TemporalBinary | undefined;
  /**
   * An interpreter that `runAs` can execute, for what has to be done to the server's file and to its ports. Without one both
   * stay as they are.
   */
  readonly python?: string | undefined;
  /** Called when the server's program runs, and nothing is left but to wait for it; not for one that is not ours. */
  readonly onLaunched?: (() => void) | undefined;
  readonly report: (line: string) => void;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal;
  /** What tests replace. */
  readonly fetch?: Fetch;
  readonly run?: RunCommand;
  readonly choosePort?: (host: string) => Promise<number>;
  readonly outsideFolder?: string;
}

/**
 * Starts a development server, our child, with our namespace and its data in `temporal` of the data dir. It has its web
 * interface, is restarted at the same address after a crash, and never outlives us. On Linux its ports are in a network of
 * its own, and its address asks for a certificate made at this start. Elsewhere they are on loopback.
 */
export async function startTemporal(options: TemporalOptions): Promise<Temporal> {
  const namespace = options.env.TEMPORAL_NAMESPACE || NAMESPACE;
  return startInFolder("temporal", options, (folder, releaseLock) =>
    startEmbedded(options, { folder, namespace, releaseLock }),
  );
}

async function startEmbedded(
  options: TemporalOptions,
  { folder, namespace, releaseLock }: { folder: string; namespace: string; releaseLock: () => Promise<void> },
): Promise<Temporal> {
  const { runAs, report, log, onLaunched, python, signal, run = runCommand } = options;
  const [binary, openPortsProblem] = await Promise.all([
    options.binary ?? findBinary(options, folder),
    findEnclosureProblem({ python, runAs, run, signal }),
  ]);
  const certificates = openPortsProblem === undefined ? makeProxyCertificates(Date.now()) : undefined;
  const pidFile = join(folder, "temporal.pid");
  const data = join(folder, "data");
  await makeOwnFolder(data, runAs);
  // No migration exists between versions of this file, so each version has its own. Nothing in it is irreplaceable.
  const databaseFile = join(data, `temporal-${binary.version}.db`);
  await clearLeftover(pidFile, data, report);

  const onServing = async (signal: AbortSignal): Promise<void> => {
    if (python === undefined) return;
    const runPython = (args: readonly string[]) =>
      run(python, args, { env: {}, runAs, signal, timeoutMs: INDEXES_MS_MAX });
    await dropUnusedIndexes({ databaseFile, runPython, log });
  };

  let place = await choosePlace(options, certificates);
  let attemptsLeft = PORT_ATTEMPTS_MAX;
  const server = await superviseServer({
    name: "Temporal",
    start: async (signal) => {
      for (;;) {
        try {
          const server = { binary, databaseFile, pidFile, namespace, ...place, runAs };
          const child = await launchTemporal({ ...server, signal, onLaunched, onServing, log });
          attemptsLeft = 1; // from now on the address is known to others and must stay
          return child;
        } catch (error) {
          attemptsLeft -= 1;
          if (attemptsLeft <= 0 || !PORT_TAKEN.test(messageOf(error))) throw error;
          report("A port chosen for Temporal was taken in the meantime; choosing another.");
          place = await choosePlace(options, certificates);
        }
      }
    },
    stopGraceMs: TEMPORAL_STOP_GRACE_MS,
    report,
  });
  const { ports, enclosure } = place;
  return {
    ...(enclosure?.entry ?? { address: `${TEMPORAL_HOST}:${ports.grpc}` }),
    pages: enclosure === undefined ? { host: TEMPORAL_HOST, port: ports.ui } : toPages(enclosure.entry),
    openPortsProblem,
    namespace,
    source: binary.source,
    pid: server.pid,
    exited: server.exited,
    stop: async () => {
      await server.stop();
      await rm(pidFile, { force: true });
      await releaseLock();
    },
  };
}

/** Every look at one starts 140 MB of program: a tenth of a second, before which the server cannot start. */
async function findBinary(options: TemporalOptions, folder: string): Promise<TemporalBinary> {
  const { runAs, report, run = runCommand } = options;
  const found = await resolveTemporalBinary({
    env: options.env,
    cacheDir: await chooseCacheDir(options.cacheDir, folder),
    report,
    signal: options.signal,
    fetch: options.fetch ?? fetch,
    run,
  });
  if (runAs === undefined) return found; // it has answered to us
  return bringIntoReach(found, { folder, user: runAs, report, run });
}

/**
 * The given cache if we can write there, or need not because it holds the server. A user without a home has one in the
 * data dir.
 */
async function chooseCacheDir(cacheDir: string, folder: string): Promise<string> {
  try {
    await mkdir(cacheDir, { recursive: true });
    await access(cacheDir, constants.W_OK);
    return cacheDir;
  } catch {
    return (await findCached(cacheDir, TEMPORAL_VERSION)) === "found" ? cacheDir : join(folder, "cache");
  }
}

/** Where the server listens: ports of the host that are free, or one of those and the usual ports behind it. */
async function choosePlace(
  { python, choosePort = freePort }: TemporalOptions,
  certificates: ProxyCertificates | undefined,
): Promise<{ ports: TemporalPorts; enclosure: Enclosure | undefined }> {
  const port = await choosePort(TEMPORAL_HOST);
  if (python !== undefined && certificates !== undefined)
    return { ports: PORTS_INSIDE, enclosure: { python, entry: toGuarded(`${TEMPORAL_HOST}:${port}`, certificates) } };
  return { ports: { grpc: port, ui: await choosePort(TEMPORAL_HOST) }, enclosure: undefined };
}

async function clearLeftover(pidFile: string, data: string, report: (line: string) => void): Promise<void> {
  const pid = Number.parseInt(await readFile(pidFile, "utf8").catch(() => ""), 10);
  if (pid > 0)
    await endLeftover(pid, { mark: data, patienceMs: LEFTOVER_PATIENCE_MS, signals: ["SIGTERM", "SIGKILL"], report });
}
