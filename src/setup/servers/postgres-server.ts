import { createHash } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { lchown, lstat, mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { type Child, type RunAs, superviseChild } from "./child.ts";
import { toDiskFullError } from "./disk-full.ts";
import type { PostgresBinaries } from "./postgres-binaries.ts";
import { makeOwnFolder } from "./reachability.ts";

/** The system allows 107 bytes for a socket's path (103 on macOS). */
const SOCKET_PATH_BYTES_MAX = 100;
const SOCKET_NAME = ".s.PGSQL.5432";
/** Recovery after a crash takes the time its log takes; a server that says nothing new for this long is stuck. */
const READY_SILENCE_MS = 120_000;
const READY_LINE = "database system is ready to accept connections";
/** A fast shutdown writes at most 64 MB of buffers. What is not done by then is left to recovery. */
export const POSTGRES_STOP_GRACE_MS = 3_500;

const SETTINGS = {
  // A round begins processes that read the whole catalogue. Each minute, as usual, they took a tenth of an idle service's time.
  autovacuum_naptime: "3min",
  // Its writer wakes five times a second as usual. Commits wait for their own writing here, none of them for it.
  wal_writer_delay: "2s",
  listen_addresses: "",
  unix_socket_permissions: "0700",
  shared_buffers: "64MB",
  max_connections: "100",
  fsync: "on",
  full_page_writes: "on",
  logging_collector: "off",
  log_destination: "stderr",
  lc_messages: "C",
  log_timezone: "UTC",
} as const;

/**
 * The folder of the socket, mode 0700, of the server's user. It is in `folder`, or, where that path is too long for a
 * socket, in a short one named after `folder`. A folder of that name that another user owns is not used.
 */
export async function chooseSocketFolder(options: {
  folder: string;
  runtimeDir?: string | undefined;
  runAs: RunAs | undefined;
}): Promise<string> {
  const beside = join(options.folder, "socket");
  if (fitsSocket(beside)) {
    await makeOwnFolder(beside, options.runAs);
    return beside;
  }
  const base = options.runtimeDir ?? "/tmp";
  const short = join(base, `treadle-${createHash("sha256").update(options.folder).digest("hex").slice(0, 12)}`);
  if (!fitsSocket(short))
    throw new Error(
      `${base} is too deep for a Unix socket (${SOCKET_PATH_BYTES_MAX} bytes at most). Choose a shorter data dir (TREADLE_DATA_DIR).`,
    );
  await mkdir(base, { recursive: true });
  await makeOwnFolder(short, options.runAs);
  const { uid, mode } = await lstat(short);
  if (uid === (options.runAs?.uid ?? process.getuid?.()) && (mode & 0o170777) === 0o040700) return short;
  const own = await mkdtemp(join(base, "treadle-"));
  if (options.runAs !== undefined) await lchown(own, options.runAs.uid, options.runAs.gid);
  return own;
}

/**
 * Starts `postgres` on this data and resolves when it accepts connections, on its Unix socket only. Rejects with the
 * server's own words when it ends before that; nothing is left running then.
 */
export async function launchPostgres(options: {
  binaries: PostgresBinaries;
  data: string;
  socketFolder: string;
  runAs: RunAs | undefined;
  signal: AbortSignal;
  onLaunched?: (() => void) | undefined;
  log: (line: string) => void;
}): Promise<Child> {
  const settings = { ...SETTINGS, unix_socket_directories: options.socketFolder };
  let lastLineAt = Date.now();
  const events = new EventEmitter<{ ready: [] }>();
  const ready = once(events, "ready").then(() => undefined);
  const child = superviseChild({
    name: "PostgreSQL",
    command: join(options.binaries.folder, "postgres"),
    args: ["-D", options.data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    cwd: options.data,
    env: { LC_ALL: "C", TZ: "UTC" },
    runAs: options.runAs,
    stopSignal: "SIGINT", // fast shutdown: ends sessions, keeps everything committed
    insistSignal: "SIGQUIT", // immediate: the next start recovers from the log
    onLine: (_stream, line) => {
      lastLineAt = Date.now();
      options.log(line);
      if (line.includes(READY_LINE)) events.emit("ready");
    },
  });
  options.onLaunched?.();
  const stop = () => void child.stop({ graceMs: POSTGRES_STOP_GRACE_MS });
  const watch = setInterval(() => Date.now() - lastLineAt > READY_SILENCE_MS && stop(), 1_000);
  options.signal.addEventListener("abort", stop, { once: true });
  if (options.signal.aborted) stop();
  try {
    const end = await Promise.race([ready, child.exited]);
    if (end === undefined) return child;
    const words = child.tail().slice(-8);
    throw (
      toDiskFullError(words, options.data) ??
      new Error(`${options.binaries.source} did not start on ${options.data}. It said: ${words.join(" | ")}`)
    );
  } finally {
    clearInterval(watch);
    options.signal.removeEventListener("abort", stop);
  }
}

function fitsSocket(folder: string): boolean {
  return Buffer.byteLength(join(folder, SOCKET_NAME)) <= SOCKET_PATH_BYTES_MAX;
}
