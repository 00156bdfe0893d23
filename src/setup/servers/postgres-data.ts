import { randomBytes } from "node:crypto";
import { readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { RunAs } from "./child.ts";
import type { RunCommand } from "./command.ts";
import { toDiskFullError } from "./disk-full.ts";
import type { PostgresBinaries } from "./postgres-binaries.ts";
import { endLeftover } from "./process-identity.ts";
import { makeOwnFolder } from "./reachability.ts";

/** The one role, and the one database, of a server of ours. Who reaches the socket is decided by the folder it is in. */
export const POSTGRES_USER = "treadle";

const DRAFT_PREFIX = "data.new-";
const INITDB_TIMEOUT_MS = 120_000;
const LEFTOVER_PATIENCE_MS = 5_000;

/** The major version that made this data folder; undefined when there is none yet. */
export async function readDataMajor(data: string): Promise<number | undefined> {
  const version = await readFile(join(data, "PG_VERSION"), "utf8").catch(() => undefined);
  if (version !== undefined) return Number.parseInt(version, 10);
  const content = await readdir(data).catch(() => []);
  if (content.length === 0) return undefined;
  throw new Error(
    `${data} is not empty, but holds no PostgreSQL data (PG_VERSION is missing). Restore it, or move it away to start empty.`,
  );
}

/**
 * Refuses data of another user: PostgreSQL would, with fewer words. `runAs` is the user the server runs as, ourselves
 * when undefined.
 */
export async function checkDataOwner(data: string, runAs: RunAs | undefined): Promise<void> {
  const { uid } = await stat(data);
  const user = runAs?.uid ?? process.getuid?.();
  if (uid === user) return;
  throw new Error(
    `The database in ${data} belongs to user ${uid}, but PostgreSQL would run as user ${user}. Start Treadle as the user that made it, or give it away: chown -R ${user} ${data}`,
  );
}

/**
 * Makes the data folder: under another name first, renamed when it is complete, so that an interrupted or failed
 * attempt never counts. What such attempts left is removed. The caller holds the lock of `folder`.
 */
export async function createData(options: {
  folder: string;
  data: string;
  binaries: PostgresBinaries;
  runAs: RunAs | undefined;
  run: RunCommand;
}): Promise<void> {
  for (const name of await readdir(options.folder)) {
    if (name.startsWith(DRAFT_PREFIX)) await rm(join(options.folder, name), { recursive: true, force: true });
  }
  const draft = join(options.folder, `${DRAFT_PREFIX}${randomBytes(6).toString("hex")}`);
  await makeOwnFolder(draft, options.runAs);
  try {
    // The C locale is the one that every system has and that sorts the same everywhere.
    const args = ["-D", draft, "-U", POSTGRES_USER, "--auth=trust", "--encoding=UTF8", "--locale=C"];
    const initdb = join(options.binaries.folder, "initdb");
    const { code, tail } = await options.run(initdb, args, {
      env: { LC_ALL: "C", TZ: "UTC" },
      cwd: draft,
      runAs: options.runAs,
      timeoutMs: INITDB_TIMEOUT_MS,
    });
    if (code !== 0) {
      throw (
        toDiskFullError(tail, options.folder) ??
        new Error(`initdb of ${options.binaries.source} could not make ${options.data}: ${explainInitdb(tail)}`)
      );
    }
    await rename(draft, options.data);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/**
 * Ends a server that an earlier, killed service left on this data, and removes its pid files. Their pid may belong to
 * another program by now. PostgreSQL would take that for the server and refuse to start.
 */
export async function clearLeftover(data: string, socketFolder: string, report: (line: string) => void): Promise<void> {
  await endLeftoverServer(data, report);
  for (const name of await readdir(socketFolder)) {
    if (name.startsWith(".s.PGSQL.")) await rm(join(socketFolder, name), { force: true });
  }
}

/** The server alone: for data that nobody will serve again. */
export async function endLeftoverServer(data: string, report: (line: string) => void): Promise<void> {
  const pidFile = join(data, "postmaster.pid");
  const content = await readFile(pidFile, "utf8").catch(() => undefined);
  const pid = Number.parseInt(content ?? "", 10);
  if (!(pid > 0)) return;
  await endLeftover(pid, {
    mark: data,
    patienceMs: LEFTOVER_PATIENCE_MS,
    signals: ["SIGINT", "SIGQUIT", "SIGKILL"],
    report,
  });
  await rm(pidFile, { force: true });
}

function explainInitdb(tail: readonly string[]): string {
  const lines = tail.filter((line) => /error|fatal|could not|cannot|denied/i.test(line));
  return (lines.length > 0 ? lines : tail.slice(-3)).join(" | ");
}
