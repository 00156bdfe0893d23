import { access, readFile, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { connect, type DatabaseAddress, type Db } from "../../db/connect.ts";
import type { Environment, Settings } from "../config.ts";
import { VERSION_FILE } from "../setup/data-dir.ts";
import { claimInstance } from "../setup/instance-lock.ts";
import type { RunAs } from "../setup/servers/child.ts";
import { checkExternalDatabase } from "../setup/servers/external-database.ts";
import { startPostgres } from "../setup/servers/postgres.ts";
import { POSTGRES_USER } from "../setup/servers/postgres-data.ts";
import { BackupRefused } from "./description.ts";

/** Two hold the moment and its lock. */
const POOL_MAX = 3;
/** The line of PostgreSQL's pid file that names the folder of its socket. */
const SOCKET_LINE = 4;
const DATABASE = "treadle";

export interface OpenedDatabase {
  readonly db: Db;
  close(): Promise<void>;
}

/** The data folder without links. Refuses one that holds no data. */
export async function findDataDir(wanted: string): Promise<string> {
  const dir = await realpath(wanted).catch(() => wanted);
  const there = await access(join(dir, VERSION_FILE)).then(
    () => true,
    () => false,
  );
  if (there) return dir;
  throw new BackupRefused(
    `${wanted} holds no data of Treadle (it has no ${VERSION_FILE}), or may not be read by this user. Name the data folder with --data-dir or TREADLE_DATA_DIR.`,
  );
}

/**
 * The database of an installation. It is that of `DATABASE_URL`, or the embedded one of a running service. When none
 * runs, the embedded one is started, and no service can start meanwhile.
 */
export async function openDatabase(input: {
  env: Environment;
  settings: Settings;
  dataDir: string;
  report: (line: string) => void;
}): Promise<OpenedDatabase> {
  const { env, settings, dataDir, report } = input;
  if (settings.DATABASE_URL !== undefined) return openExternal(settings.DATABASE_URL);
  const running = await findRunning(join(dataDir, "postgres", "data"));
  if (running !== undefined) return running;
  const release = await claimInstance(dataDir);
  try {
    const runAs = await findServerUser(join(dataDir, "postgres", "data"));
    return await startDatabase({ env, dataDir, runAs, report, release });
  } catch (error) {
    await release();
    throw error;
  }
}

/** Starts the embedded PostgreSQL on a data folder whose lock we have; `release` gives it back at the end. */
export async function startDatabase(input: {
  env: Environment;
  dataDir: string;
  runAs: RunAs | undefined;
  report: (line: string) => void;
  release: () => Promise<void>;
}): Promise<OpenedDatabase> {
  const { env, dataDir, runAs, report, release } = input;
  const server = await startPostgres({ env, dataDir, runAs, report, log: () => undefined });
  const opened = open(server.connection);
  return {
    db: opened.db,
    async close() {
      await opened.close();
      await server.stop();
      await release();
    },
  };
}

/** The database that `DATABASE_URL` names. Refuses one that cannot be reached. */
export async function openExternal(connectionString: string): Promise<OpenedDatabase> {
  await checkExternalDatabase(connectionString).catch((error: Error) => {
    throw new BackupRefused(error.message, { cause: error });
  });
  return open({ connectionString });
}

function open(address: DatabaseAddress): OpenedDatabase {
  const db = connect(address, { poolMax: POOL_MAX, applicationName: "treadle backup" });
  return { db, close: () => db.destroy() };
}

async function findRunning(data: string): Promise<OpenedDatabase | undefined> {
  const host = (await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "")).split("\n")[SOCKET_LINE];
  if (host === undefined || host === "") return undefined;
  const opened = open({ host, user: POSTGRES_USER, database: DATABASE });
  try {
    await opened.db.raw("select 1");
    return opened;
  } catch {
    // The file of a server that is gone: the next start of a server removes it.
    await opened.close();
    return undefined;
  }
}

/** Root cannot be PostgreSQL, and others can only be themselves. */
async function findServerUser(data: string): Promise<RunAs | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = await stat(data).catch(() => {
    throw new BackupRefused(`There is no database in ${data}. Is DATABASE_URL missing?`);
  });
  return { uid, gid };
}
