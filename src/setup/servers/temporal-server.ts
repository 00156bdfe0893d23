import { renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type Child, type RunAs, superviseChild } from "./child.ts";
import { toDiskFullError } from "./disk-full.ts";
import { type Enclosure, enclose } from "./temporal-enclosure.ts";
import { prepareNamespace, SEARCH_ATTRIBUTES } from "./temporal-namespace.ts";
import { PAGES_PATH, watchProxy } from "./temporal-proxy.ts";
import type { TemporalBinary } from "./temporal-version.ts";

/** No TLS and no authorisation: nobody but this machine may see it, and on Linux nobody but the service. */
export const TEMPORAL_HOST = "127.0.0.1";
export const TEMPORAL_STOP_GRACE_MS = 4_000;

const READY_TIMEOUT_MS = 60_000;
/** What the server prints when its ports are its own and it serves. */
const READY_LINE = /^Temporal Server: /;

/**
 * The file is a cache of what PostgreSQL records: the last commits may be lost with the power, never the order of them. 16 MiB of
 * pages and 32 MiB of log, for SQLite's own 2 and 4 make every write read and copy the same pages again. 64 MiB of pages took 175 MiB
 * of memory, and made nothing quicker.
 */
const SQLITE_PRAGMAS = [
  ["journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=10000"],
  ["cache_size=-16384", "wal_autocheckpoint=8000"],
].flat();

const DYNAMIC_CONFIG: Readonly<Record<string, string | number | boolean | readonly string[]>> = {
  // The HTTP API takes commands from any web page that a browser of this machine has open. It cannot be left out, only refuse every host name.
  "frontend.httpAllowedHosts": [],
  // Regular activities come with the answer to the workflow task instead of through the queue.
  "system.enableActivityEagerExecution": true,
  // One node: forwarding between partitions only costs.
  "matching.numTaskqueueReadPartitions": 1,
  "matching.numTaskqueueWritePartitions": 1,
  // The default of 20 a second makes every hop wait for the next 50 ms slot: four activities take 450 ms, with this 102.
  "history.transferProcessorMaxPollRPS": 1000,
  "history.timerProcessorMaxPollRPS": 1000,
  // Waiting callers are long polls, and 1,200 is the default.
  "frontend.namespaceCount": 10_000,
  "frontend.rps": 10_000,
  "frontend.namespaceRPS": 10_000,
  "frontend.namespaceRPS.visibility": 100,
  "matching.rps": 10_000,
  // 128,000 is the default, for an hour each: ended executions fill it, and those that are open are read again.
  "history.hostLevelCacheMaxSize": 1_000,
  // Schedules without a Workflow Execution for each: creating one takes half the processor time, firing it less.
  "history.enableChasm": true,
  "history.enableCHASMSchedulerCreation": true,
  "limit.maxIDLength": 255,
  "frontend.enableServerVersionCheck": false,
};

export interface TemporalPorts {
  readonly grpc: number;
  readonly ui: number;
}

/** All flags of the development server. `databaseFile` must be of the same version: there is no migration between them. */
export function serverArguments(options: { databaseFile: string; namespace: string; ports: TemporalPorts }): string[] {
  return [
    ["server", "start-dev"],
    ["--ip", TEMPORAL_HOST, "--port", String(options.ports.grpc)],
    ["--ui-ip", TEMPORAL_HOST, "--ui-port", String(options.ports.ui)],
    ["--ui-public-path", PAGES_PATH],
    ["--db-filename", options.databaseFile, "--namespace", options.namespace],
    ["--log-format", "json", "--log-level", "warn", "--color", "never"],
    SQLITE_PRAGMAS.flatMap((pragma) => ["--sqlite-pragma", pragma]),
    SEARCH_ATTRIBUTES.flatMap((name) => ["--search-attribute", `${name}=Keyword`]),
    Object.entries(DYNAMIC_CONFIG).flatMap(([key, value]) => [
      "--dynamic-config-value",
      `${key}=${JSON.stringify(value)}`,
    ]),
  ].flat();
}

/**
 * Starts the server and resolves when it is ready for work. It lives, has said that it serves, and its namespace is as
 * we want it. A client alone could not distinguish it from another program on the port. Rejects with its own words when
 * it ends before that or takes more than 60 s; nothing is left running then.
 */
export async function launchTemporal(options: {
  binary: TemporalBinary;
  databaseFile: string;
  /** Written at once, so that the next start knows of a server that outlived this one. */
  pidFile: string;
  namespace: string;
  ports: TemporalPorts;
  /** Undefined where there can be none: the ports are the host's then. */
  enclosure: Enclosure | undefined;
  runAs: RunAs | undefined;
  signal: AbortSignal;
  onLaunched?: (() => void) | undefined;
  /** What is done before it is ready for work, and after it serves. */
  onServing?: ((signal: AbortSignal) => Promise<void>) | undefined;
  log: (line: string) => void;
}): Promise<Child> {
  let announce = () => {};
  const announced = new Promise<void>((resolve) => {
    announce = resolve;
  });
  const server = {
    command: options.binary.path,
    args: serverArguments(options),
    // A home of its own: the user's configuration of the CLI must not change the server.
    env: { HOME: dirname(options.databaseFile), TEMPORAL_VERSION_CHECK_DISABLED: "1" },
  };
  const { enclosure } = options;
  const entry = enclosure?.entry ?? { address: `${TEMPORAL_HOST}:${options.ports.grpc}` };
  const child = superviseChild({
    name: "Temporal",
    ...(enclosure === undefined ? server : enclose(server, enclosure, options.ports)),
    cwd: dirname(options.databaseFile),
    runAs: options.runAs,
    onLine: (_stream, line) => {
      options.log(line);
      if (READY_LINE.test(line)) announce();
    },
  });
  const onGone = () => void child.stop({ graceMs: TEMPORAL_STOP_GRACE_MS });
  writeFileSync(`${options.pidFile}.new`, `${child.pid}\n`);
  renameSync(`${options.pidFile}.new`, options.pidFile);
  options.onLaunched?.();
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, options.signal, AbortSignal.timeout(READY_TIMEOUT_MS)]);
  const ended = child.exited.then(() => over.abort());
  try {
    await Promise.race([announced, aborted(signal)]);
    await prepareNamespace({ entry, namespace: options.namespace, signal });
    await options.onServing?.(signal);
    // Without its proxy the server is of no use, and would be left as it is: it ends, and is started again with another.
    if (enclosure !== undefined) await watchProxy(enclosure.entry, { signal, onGone });
    signal.throwIfAborted();
    if (child.end() === undefined) return child;
    throw new Error("ended");
  } catch (cause) {
    const endedByItself = child.end() !== undefined;
    await child.stop({ graceMs: TEMPORAL_STOP_GRACE_MS });
    await ended;
    options.signal.throwIfAborted();
    const words = child.tail().slice(-6);
    const what = endedByItself ? "ended while starting" : `was not ready within ${READY_TIMEOUT_MS / 1000} s`;
    throw (
      toDiskFullError(words, options.databaseFile) ??
      new Error(`${options.binary.source} ${what}. It said: ${words.join(" | ")}`, { cause })
    );
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const fail = () => reject(new Error("aborted"));
    if (signal.aborted) fail();
    signal.addEventListener("abort", fail, { once: true });
  });
}
