import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { chown, mkdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { connect } from "../../db/connect.ts";
import { migrate } from "../../db/migrate.ts";
import type { RunAs } from "../../src/setup/servers/child.ts";
import { runCommand } from "../../src/setup/servers/command.ts";
import {
  findEmbeddedPackage,
  findSystemPostgres,
  linkLibraries,
  type PostgresBinaries,
} from "../../src/setup/servers/postgres-binaries.ts";
import { createData, POSTGRES_USER } from "../../src/setup/servers/postgres-data.ts";
import { copyIntoReach } from "../../src/setup/servers/reachability.ts";

/** The migrated database that test databases are copies of. */
export const TEMPLATE = "template_of_tests";

const START_MS = 90_000;
/** Nothing here outlives the run, so nothing needs to reach the disk. */
const SETTINGS = {
  listen_addresses: "",
  max_connections: "300",
  shared_buffers: "64MB",
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_wal_size: "4GB",
  autovacuum: "off",
  lc_messages: "C",
};
/**
 * Waits for the end of the test run, then ends the server and removes its folder. It polls because it outlives the
 * worker process that started it: no pipe of that one would tell when the run is over.
 */
const WATCHER = `
while kill -0 "$1" 2>/dev/null; do sleep 0.5; done
kill -QUIT "$2" 2>/dev/null
tries=0
while [ $tries -lt 100 ] && kill -0 "$2" 2>/dev/null; do sleep 0.1; tries=$((tries + 1)); done
rm -rf "$3"
`;

/**
 * The process that lives as long as the whole test run: jest itself, also when this is one of its workers. Asked of the
 * system, because inside of tests `process` is a likeness that does not know which of the two it is.
 */
async function findRunPid(): Promise<number> {
  const commandLine = (await readText(`/proc/${process.pid}/cmdline`)) ?? (await askPs());
  return commandLine.includes("jest-worker") ? process.ppid : process.pid;
}

async function askPs(): Promise<string> {
  const { stdout } = await runCommand("ps", ["-o", "args=", "-p", String(process.pid)], {
    env: { PATH: process.env.PATH },
  });
  return stdout;
}

/**
 * The socket folder of the one PostgreSQL of this test run. Whoever comes first starts it; it ends with the run, however
 * the run ends.
 */
export async function joinTestServer(): Promise<string> {
  const runPid = await findRunPid();
  const folder = join(tmpdir(), `treadle-test-${userInfo().uid}-${runPid}`);
  const ready = join(folder, "ready");
  try {
    await mkdir(folder, { mode: 0o711 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    await waitForFile(ready);
    return folder;
  }
  try {
    await startServer(folder, runPid);
    await writeFile(ready, "");
  } catch (error) {
    await writeFile(join(folder, "failed"), String(error));
    throw error;
  }
  return folder;
}

async function waitForFile(path: string): Promise<void> {
  for (const deadline = Date.now() + START_MS; Date.now() < deadline; await sleep(25)) {
    if ((await readText(path)) !== undefined) return;
    const failure = await readText(join(path, "../failed"));
    if (failure !== undefined) throw new Error(`The PostgreSQL of this test run could not be started: ${failure}`);
  }
  throw new Error(`The PostgreSQL of this test run was not ready after ${START_MS / 1000} s (${path}).`);
}

async function readText(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}

async function startServer(folder: string, runPid: number): Promise<void> {
  const runAs = await chooseUser();
  if (runAs !== undefined) await chown(folder, runAs.uid, runAs.gid);
  const binaries = await chooseBinaries(folder, runAs);
  const data = join(folder, "data");
  await createData({ folder, data, binaries, runAs, run: runCommand });
  const pid = launch({ binaries, folder, data, runAs });
  spawn("/bin/sh", ["-c", WATCHER, "watch-test-run", String(runPid), String(pid), folder], {
    detached: true,
    stdio: "ignore",
    cwd: "/",
  }).unref();
  await makeTemplate(folder);
}

/** Returns whom a PostgreSQL runs as. It refuses to run as root; the system's own unprivileged user is there everywhere. */
export async function chooseUser(): Promise<RunAs | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const { stdout } = await runCommand("id", ["-u", "nobody"], { env: { PATH: process.env.PATH } });
  const group = await runCommand("id", ["-g", "nobody"], { env: { PATH: process.env.PATH } });
  return { uid: Number(stdout), gid: Number(group.stdout) };
}

/** Returns programs of PostgreSQL that this user can execute; copies of them lie in the folder where that is necessary. */
export async function chooseBinaries(folder: string, runAs: RunAs | undefined): Promise<PostgresBinaries> {
  const works = async (bin: string): Promise<boolean> =>
    (await runCommand(join(bin, "postgres"), ["--version"], { env: {}, runAs, timeoutMs: 5_000 })).code === 0;
  const embedded = await findEmbeddedPackage();
  if (embedded !== undefined) {
    await linkLibraries(embedded.native);
    const native = await copyIntoReach({
      source: embedded.native,
      folder,
      name: "binaries",
      works: (path) => works(join(path, "bin")),
      complete: linkLibraries,
      report: () => undefined,
    });
    if (native !== undefined)
      return { folder: join(native, "bin"), major: embedded.major, source: `embedded PostgreSQL ${embedded.version}` };
  }
  for (const installed of await findSystemPostgres({ path: process.env.PATH, run: runCommand })) {
    if (await works(installed.folder)) return installed;
  }
  throw new Error("No PostgreSQL for the tests: neither the embedded binaries nor one of this system can be executed.");
}

function launch(server: {
  binaries: PostgresBinaries;
  folder: string;
  data: string;
  runAs: RunAs | undefined;
}): number {
  const { binaries, folder, data, runAs } = server;
  const settings = { ...SETTINGS, unix_socket_directories: folder };
  const log = openSync(join(folder, "postgres.log"), "a");
  const child = spawn(
    join(binaries.folder, "postgres"),
    ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    { cwd: data, env: { LC_ALL: "C", TZ: "UTC" }, detached: true, stdio: ["ignore", log, log], ...runAs },
  );
  closeSync(log);
  child.unref();
  if (child.pid === undefined) throw new Error(`${binaries.source} could not be started.`);
  return child.pid;
}

async function makeTemplate(socketFolder: string): Promise<void> {
  await waitForServer(socketFolder);
  await administer(socketFolder, `create database ${TEMPLATE}`);
  const db = connect(
    { host: socketFolder, user: POSTGRES_USER, database: TEMPLATE },
    { poolMax: 2, applicationName: "test" },
  );
  try {
    await migrate(db);
  } finally {
    await db.destroy();
  }
}

async function waitForServer(socketFolder: string): Promise<void> {
  for (const deadline = Date.now() + START_MS; ; await sleep(25)) {
    try {
      await administer(socketFolder, "select 1");
      return;
    } catch (error) {
      // No socket yet, nobody listening yet, or still starting up.
      const passing = ["ENOENT", "ECONNREFUSED", "57P03"].includes(String((error as { code?: string }).code));
      if (!passing || Date.now() > deadline) throw error;
    }
  }
}

/** One statement on a server of the tests, outside any test's database unless one is named. Returns its rows. */
export async function administer(
  socketFolder: string,
  statement: string,
  database = "postgres",
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ host: socketFolder, user: POSTGRES_USER, database });
  await client.connect();
  try {
    return (await client.query(statement)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}
