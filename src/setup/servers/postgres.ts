import { join } from "node:path";
import pg from "pg";
import type { DatabaseAddress } from "../../../db/connect.ts";
import type { RunAs } from "./child.ts";
import { type RunCommand, runCommand } from "./command.ts";
import { checkExternalDatabase } from "./external-database.ts";
import {
  type EmbeddedPackage,
  findEmbeddedPackage,
  findSystemPostgres,
  isSupported,
  linkLibraries,
  type PostgresBinaries,
} from "./postgres-binaries.ts";
import { checkDataOwner, clearLeftover, createData, POSTGRES_USER, readDataMajor } from "./postgres-data.ts";
import { chooseSocketFolder, launchPostgres, POSTGRES_STOP_GRACE_MS } from "./postgres-server.ts";
import { copyIntoReach } from "./reachability.ts";
import { type ServerFailure, superviseServer } from "./restart.ts";
import { startInFolder } from "./server-folder.ts";

const DATABASE = "treadle";
const DUPLICATE_DATABASE = "42P04";

export interface Postgres {
  readonly connection: DatabaseAddress;
  /** Which rung of the ladder it is, for people. Never holds a password. */
  readonly source: string;
  /** The pid of the embedded server; undefined when it is not ours, or is being restarted. */
  pid(): number | undefined;
  /** Resolves when the embedded server is gone for good; never for an external one, and never because of `stop`. */
  readonly exited: Promise<ServerFailure>;
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** `DATABASE_URL`: a PostgreSQL to use, in the place of one of our own. */
  readonly url?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The service's data dir; the server's folder is `postgres` in it. */
  readonly dataDir: string;
  /** A short folder for the socket when the data dir's path is too long for one; `/tmp` unless given. */
  readonly runtimeDir?: string;
  /** The user PostgreSQL runs as. Necessary for root, and only possible for root. It must have an entry in the user database. */
  readonly runAs?: RunAs | undefined;
  /** Called when the server's program runs, and nothing is left but to wait for it; not for one that is not ours. */
  readonly onLaunched?: (() => void) | undefined;
  readonly report: (line: string) => void;
  readonly log: (line: string) => void;
  /** What tests replace. */
  readonly run?: RunCommand;
  readonly findEmbedded?: () => Promise<EmbeddedPackage | undefined>;
  readonly systemFolders?: readonly string[];
  readonly outsideFolder?: string;
}

/**
 * A PostgreSQL with an empty or our database `treadle`, by the first that works. These are `DATABASE_URL`, the embedded
 * binaries from npm, and a PostgreSQL installed on this system. The latter two run as our child on `<data
 * dir>/postgres`, reachable through a Unix socket only, restarted after a crash, never outliving us. Rejects with what
 * was tried and what to do.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { url } = options;
  if (url !== undefined) {
    const source = await checkExternalDatabase(url);
    return {
      connection: { connectionString: url },
      source,
      pid: () => undefined,
      exited: new Promise(() => {}),
      stop: async () => {},
    };
  }
  if (process.getuid?.() === 0 && (options.runAs === undefined || options.runAs.uid === 0)) {
    throw new Error(
      "PostgreSQL refuses to run as root. Give it a user of its own to run as, start Treadle as an ordinary user, or point DATABASE_URL to a PostgreSQL.",
    );
  }
  return startInFolder("postgres", options, (folder, release) => startEmbedded(options, folder, release));
}

async function startEmbedded(
  options: PostgresOptions,
  folder: string,
  releaseLock: () => Promise<void>,
): Promise<Postgres> {
  const { runAs, report, log, onLaunched } = options;
  const run = options.run ?? runCommand;
  const data = join(folder, "data");
  const socketFolder = await chooseSocketFolder({ folder, runtimeDir: options.runtimeDir, runAs });
  await clearLeftover(data, socketFolder, report);

  const existingMajor = await readDataMajor(data);
  const binaries = await chooseBinaries(options, { run, folder, existingMajor });
  if (existingMajor === undefined) {
    report(`Making a database in ${data} with ${binaries.source} (about a second).`);
    await createData({ folder, data, binaries, runAs, run });
  }
  await checkDataOwner(data, runAs);

  const server = await superviseServer({
    name: "PostgreSQL",
    start: (signal) => launchPostgres({ binaries, data, socketFolder, runAs, signal, onLaunched, log }),
    stopGraceMs: POSTGRES_STOP_GRACE_MS,
    report,
  });
  const connection = { host: socketFolder, user: POSTGRES_USER, database: DATABASE };
  const stop = async () => {
    await server.stop();
    await releaseLock();
  };
  try {
    await createDatabase(connection);
  } catch (error) {
    await stop();
    throw error;
  }
  return { connection, source: binaries.source, pid: server.pid, exited: server.exited, stop };
}

/** The binaries that fit the data and that the server's user can execute. Says why each of the others does not. */
async function chooseBinaries(
  options: PostgresOptions,
  { run, folder, existingMajor }: { run: RunCommand; folder: string; existingMajor: number | undefined },
): Promise<PostgresBinaries> {
  const fits = (major: number) => existingMajor === undefined || existingMajor === major;
  const refused: string[] = [];

  const embedded = await (options.findEmbedded ?? findEmbeddedPackage)();
  if (embedded === undefined) {
    refused.push(
      `the embedded PostgreSQL: npm has no package for ${process.platform} on ${process.arch}, or did not install it (npm install --include=optional)`,
    );
  } else if (!fits(embedded.major)) {
    refused.push(`the embedded PostgreSQL ${embedded.version}: other data format`);
  } else {
    const binaries = await prepareEmbedded(embedded, options, { run, folder });
    if (typeof binaries !== "string") return binaries;
    refused.push(`the embedded PostgreSQL ${embedded.version}: ${binaries}`);
  }

  const installed = await findSystemPostgres({
    path: options.env.PATH,
    ...(options.systemFolders === undefined ? {} : { folders: options.systemFolders }),
    run,
  });
  for (const binaries of installed) {
    const problem = fits(binaries.major) ? await tryBinaries(binaries.folder, options, run) : "other data format";
    if (problem === undefined) return binaries;
    refused.push(`${binaries.source}: ${problem}`);
  }
  if (installed.length === 0)
    refused.push("a PostgreSQL 14 to 18 of this system: none found on PATH or where Linux and macOS keep it");
  throw new Error(explainRefusal({ refused, existingMajor, folder }));
}

async function prepareEmbedded(
  embedded: EmbeddedPackage,
  options: PostgresOptions,
  { run, folder }: { run: RunCommand; folder: string },
): Promise<PostgresBinaries | string> {
  // The package may be in a place that we cannot write; then the copy gets the links.
  await linkLibraries(embedded.native).catch((error: NodeJS.ErrnoException) => {
    if (!["EACCES", "EPERM", "EROFS"].includes(error.code ?? "")) throw error;
  });
  let problem: string | undefined;
  const native = await copyIntoReach({
    source: embedded.native,
    folder,
    name: `postgres-${embedded.version}`,
    works: async (path) => (problem = await tryBinaries(join(path, "bin"), options, run)) === undefined,
    complete: linkLibraries,
    report: options.report,
  });
  if (native === undefined) return problem ?? "cannot be executed";
  return {
    folder: join(native, "bin"),
    major: embedded.major,
    source: `embedded PostgreSQL ${embedded.version.replace(/-.*/, "")}`,
  };
}

/** What keeps the server's user from running these programs; undefined when nothing does. */
async function tryBinaries(folder: string, options: PostgresOptions, run: RunCommand): Promise<string | undefined> {
  for (const program of ["postgres", "initdb"]) {
    const { code, tail } = await run(join(folder, program), ["--version"], {
      env: {},
      runAs: options.runAs,
      timeoutMs: 5_000,
    });
    if (code !== 0) return tail.at(-1) ?? `${program} ends with code ${code}`;
  }
  return undefined;
}

function explainRefusal({
  refused,
  existingMajor,
  folder,
}: {
  refused: string[];
  existingMajor: number | undefined;
  folder: string;
}): string {
  const tried = refused.map((line) => `\n  - ${line}`).join("");
  if (existingMajor === undefined) {
    return `No PostgreSQL to start. Tried:${tried}\nInstall PostgreSQL (for example: apt-get install postgresql), or point DATABASE_URL to one.`;
  }
  const remedy = isSupported(existingMajor)
    ? `Install PostgreSQL ${existingMajor}`
    : "Update Treadle: this one knows PostgreSQL 14 to 18";
  return `The database in ${join(folder, "data")} was made by PostgreSQL ${existingMajor}, and no PostgreSQL ${existingMajor} that fits is here to open it. Tried:${tried}\n${remedy}; or move the data dir away to start empty; or load a dump of it into another PostgreSQL and point DATABASE_URL there. Nothing was changed.`;
}

async function createDatabase(connection: { host: string; user: string; database: string }): Promise<void> {
  const client = new pg.Client({ ...connection, database: "postgres" });
  await client.connect();
  try {
    const { rowCount } = await client.query("select from pg_database where datname = $1", [connection.database]);
    if (rowCount === 0) await client.query(`create database ${connection.database}`);
  } catch (error) {
    if ((error as { code?: string }).code !== DUPLICATE_DATABASE) throw error;
  } finally {
    await client.end();
  }
}
