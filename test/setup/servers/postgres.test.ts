import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import pg from "pg";
import { runCommand } from "../../../src/setup/servers/command.ts";
import { type Postgres, type PostgresOptions, startPostgres } from "../../../src/setup/servers/postgres.ts";
import { findEmbeddedPackage, findSystemPostgres } from "../../../src/setup/servers/postgres-binaries.ts";
import { isRunning } from "../../../src/setup/servers/process-identity.ts";
import { aFolder, afterwards, aRunner, IS_ROOT, RUN_AS, STOP_MS_MAX, until } from "./surroundings.ts";

const NO_EMBEDDED = async () => undefined;
const NO_SYSTEM = { env: { PATH: "" }, systemFolders: [] };

async function aPostgres(
  options: Partial<PostgresOptions> = {},
): Promise<{ postgres: Postgres; dataDir: string; reports: string[] }> {
  const dataDir = options.dataDir ?? join(aFolder(), "data");
  const reports: string[] = [];
  const postgres = await startPostgres({
    env: { PATH: process.env.PATH },
    dataDir,
    runAs: RUN_AS,
    outsideFolder: join(dataDir, "..", "outside"),
    report: (line) => reports.push(line),
    log: () => {},
    ...options,
  });
  afterwards(() => postgres.stop());
  return { postgres, dataDir, reports };
}

async function ask(postgres: Postgres, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(postgres.connection);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

function aDataFolder(dataDir: string, files: Record<string, string>): string {
  const data = join(dataDir, "postgres", "data");
  mkdirSync(data, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(data, name), content);
  return data;
}

test("startPostgres, on a fresh machine, runs the embedded server on a socket only and keeps data over a restart", async () => {
  const { postgres, dataDir } = await aPostgres();
  expect(postgres.source).toMatch(/^embedded PostgreSQL 18/);
  const data = join(dataDir, "postgres", "data");
  expect(statSync(data).mode & 0o777).toBe(0o700);
  expect(statSync(data).uid).toBe(RUN_AS?.uid ?? process.getuid?.());
  const [settings] = await ask(
    postgres,
    `select current_database() as database, current_setting('listen_addresses') as addresses, current_setting('fsync') as fsync,
            current_setting('shared_buffers') as buffers, current_setting('max_connections') as connections, current_setting('server_encoding') as encoding`,
  );
  expect(settings).toEqual({
    database: "treadle",
    addresses: "",
    fsync: "on",
    buffers: "64MB",
    connections: "100",
    encoding: "UTF8",
  });
  const { host } = postgres.connection as { host: string };
  expect(statSync(host).mode & 0o777).toBe(0o700);
  await ask(postgres, "create table kept as select 42 as answer");

  const startedAt = Date.now();
  await Promise.all([postgres.stop(), postgres.stop()]);
  expect(Date.now() - startedAt).toBeLessThan(STOP_MS_MAX);
  const again = await aPostgres({ dataDir });
  expect(await ask(again.postgres, "select answer from kept")).toEqual([{ answer: 42 }]);
  expect(again.reports).toEqual([]);
  await again.postgres.stop();
  expect(again.postgres.pid()).toBeUndefined();
});

test("startPostgres, when the system's server is the only one, runs that; when there is none at all, lists what to do", async () => {
  const installed = await findSystemPostgres({ path: process.env.PATH, run: runCommand });
  if (installed.length > 0) {
    const { postgres } = await aPostgres({ findEmbedded: NO_EMBEDDED });
    expect(postgres.source).toBe(installed[0]?.source);
    expect(await ask(postgres, "select current_database() as name")).toEqual([{ name: "treadle" }]);
    await postgres.stop();
  }
  const nothing = aPostgres({ findEmbedded: NO_EMBEDDED, ...NO_SYSTEM });
  await expect(nothing).rejects.toThrow(
    /^No PostgreSQL to start\. Tried:\n {2}- the embedded PostgreSQL: npm has no package.*\n {2}- a PostgreSQL 14 to 18.*\nInstall PostgreSQL.*DATABASE_URL/,
  );
});

test("startPostgres, when the data were made by another major version, refuses, names both and changes nothing", async () => {
  const dataDir = join(aFolder(), "data");
  const data = aDataFolder(dataDir, { PG_VERSION: "19\n", "postgresql.conf": "" });
  await expect(aPostgres({ dataDir })).rejects.toThrow(
    new RegExp(
      `The database in ${data} was made by PostgreSQL 19, and no PostgreSQL 19 that fits is here[^]*embedded PostgreSQL 18.*other data format[^]*Update Treadle[^]*Nothing was changed`,
    ),
  );
  expect(readdirSync(data).sort()).toEqual(["PG_VERSION", "postgresql.conf"]);
  expect(existsSync(join(dataDir, "postgres", "treadle.lock"))).toBe(false);
});

test("startPostgres, when a system server fits the data and the embedded one does not, takes the fitting one", async () => {
  const dataDir = join(aFolder(), "data");
  aDataFolder(dataDir, { PG_VERSION: "16\n" });
  const folder = aFolder();
  for (const [name, version] of [
    ["17", "17.1"],
    ["16", "16.4"],
  ] as const) {
    mkdirSync(join(folder, name));
    writeFileSync(
      join(folder, name, "postgres"),
      `#!/bin/sh\necho "postgres (PostgreSQL) ${version}"; [ "$1" = --version ]`,
      { mode: 0o755 },
    );
    writeFileSync(join(folder, name, "initdb"), "#!/bin/sh\nexit 0", { mode: 0o755 });
  }
  if (RUN_AS !== undefined) chownSync(join(dataDir, "postgres", "data"), RUN_AS.uid, RUN_AS.gid);
  const started = aPostgres({ dataDir, env: { PATH: "" }, systemFolders: [join(folder, "*")] });
  await expect(started).rejects.toThrow(`PostgreSQL 16.4 in ${join(folder, "16")} did not start`);
});

test("startPostgres, when the data folder holds something else, refuses; when an attempt was interrupted, begins anew", async () => {
  const dataDir = join(aFolder(), "data");
  const data = aDataFolder(dataDir, { "holiday.jpg": "" });
  await expect(aPostgres({ dataDir })).rejects.toThrow(`${data} is not empty, but holds no PostgreSQL data`);
  rmSync(data, { recursive: true });
  mkdirSync(join(dataDir, "postgres", "data.new-1234", "base"), { recursive: true });
  const { postgres } = await aPostgres({ dataDir });
  expect(readdirSync(join(dataDir, "postgres")).filter((name) => name.startsWith("data"))).toEqual(["data"]);
  await postgres.stop();
});

test("startPostgres, when initdb finds the disk full, says so and leaves nothing that counts", async () => {
  const { run } = aRunner(async (call) =>
    call.command.endsWith("initdb") && call.args[0] === "-D"
      ? { code: 1, stderr: ['initdb: error: could not write to file "pg_wal/xlogtemp.7": No space left on device'] }
      : runCommand(call.command, call.args, call.options),
  );
  const dataDir = join(aFolder(), "data");
  await expect(aPostgres({ dataDir, run })).rejects.toThrow(
    /^The disk that holds .* is full \(.*No space left on device\)\. Free space/,
  );
  expect(readdirSync(join(dataDir, "postgres")).filter((name) => name.startsWith("data"))).toEqual([]);
});

test("startPostgres, when two start on one data dir, refuses the second by name; on two data dirs, runs both", async () => {
  const { postgres, dataDir } = await aPostgres();
  await expect(aPostgres({ dataDir })).rejects.toThrow(
    `Another Treadle (process ${process.pid}) is using the data dir ${dataDir}`,
  );
  const other = await aPostgres();
  await ask(other.postgres, "create table only_here (a int)");
  expect(await ask(postgres, "select to_regclass('only_here') as found")).toEqual([{ found: null }]);
  await Promise.all([postgres.stop(), other.postgres.stop()]);
});

test("startPostgres, when the server crashes, is back at the same socket with the same data", async () => {
  const { postgres, reports } = await aPostgres();
  await ask(postgres, "create table kept as select 42 as answer");
  const pid = postgres.pid() ?? 0;
  process.kill(pid, "SIGKILL");
  await until("another server runs", () => ![undefined, pid].includes(postgres.pid()), 20_000);
  expect(await ask(postgres, "select answer from kept")).toEqual([{ answer: 42 }]);
  expect(reports.join()).toContain("PostgreSQL ended unexpectedly (SIGKILL)");
  await postgres.stop();
});

/** The package's own binaries, or the copy made of them where the user of the server cannot enter the checkout. */
async function findReachableBinaries(dataDir: string): Promise<string> {
  const copy = readdirSync(join(dataDir, "postgres")).find((name) => name.startsWith("postgres-"));
  return copy === undefined ? ((await findEmbeddedPackage())?.native ?? "") : join(dataDir, "postgres", copy);
}

test("startPostgres, when a killed start left its server running, ends that one first", async () => {
  const { postgres, dataDir } = await aPostgres();
  const { host } = postgres.connection as { host: string };
  await ask(postgres, "create table kept as select 42 as answer");
  await postgres.stop();
  const data = join(dataDir, "postgres", "data");
  const left = spawn(
    join(await findReachableBinaries(dataDir), "bin", "postgres"),
    ["-D", data, "-c", "listen_addresses=", "-c", `unix_socket_directories=${host}`],
    {
      cwd: data,
      stdio: "ignore",
      ...RUN_AS,
    },
  );
  afterwards(() => left.kill("SIGKILL"));
  await until("the left-over server is ready", () => existsSync(join(host, ".s.PGSQL.5432")));
  const gone = once(left, "exit");
  const again = await aPostgres({ dataDir });
  await gone;
  expect(again.reports[0]).toContain(`process ${left.pid}`);
  expect(await ask(again.postgres, "select answer from kept")).toEqual([{ answer: 42 }]);
  await again.postgres.stop();
});

test("startPostgres, when the pid of an old server now belongs to a stranger of the same user, starts and leaves the stranger alone", async () => {
  const { postgres, dataDir } = await aPostgres();
  await postgres.stop();
  const stranger = spawn("/bin/sleep", ["60"], { ...RUN_AS });
  afterwards(() => stranger.kill("SIGKILL"));
  const data = join(dataDir, "postgres", "data");
  writeFileSync(join(data, "postmaster.pid"), `${stranger.pid}\n${data}\n`);
  const again = await aPostgres({ dataDir });
  expect(await isRunning(stranger.pid ?? 0)).toBe(true);
  await again.postgres.stop();
});

test("startPostgres, when the data dir is too deep for a socket, puts the socket into a short private folder", async () => {
  const runtimeDir = aFolder();
  const { postgres } = await aPostgres({ dataDir: join(aFolder(), "deep/".repeat(20), "data"), runtimeDir });
  const { host } = postgres.connection as { host: string };
  expect(host.startsWith(`${runtimeDir}/treadle-`)).toBe(true);
  expect(statSync(host).mode & 0o777).toBe(0o700);
  expect(await ask(postgres, "select 1 as one")).toEqual([{ one: 1 }]);
  await postgres.stop();
});

test("startPostgres, when there is a DATABASE_URL, starts nothing, and when it is wrong, says so without the password", async () => {
  const { postgres } = await aPostgres();
  const { host } = postgres.connection as { host: string };
  const url = (database: string) =>
    `postgresql://treadle:hush-hush@localhost/${database}?host=${encodeURIComponent(host)}`;
  const external = await aPostgres({ url: url("treadle") });
  expect(external.postgres.connection).toEqual({ connectionString: url("treadle") });
  expect(external.postgres.source).toBe("DATABASE_URL (localhost)");
  expect(external.postgres.pid()).toBeUndefined();
  expect(existsSync(external.dataDir)).toBe(false);

  const refusal = await aPostgres({ url: url("nowhere") }).catch((error: Error) => error.message);
  expect(refusal).toContain('Cannot use the database of DATABASE_URL (localhost): database "nowhere" does not exist');
  expect(refusal).not.toContain("hush");
  await postgres.stop();
});

if (IS_ROOT) {
  test("startPostgres, when root names no user, refuses before making anything", async () => {
    const dataDir = join(aFolder(), "data");
    await expect(aPostgres({ dataDir, runAs: undefined })).rejects.toThrow("PostgreSQL refuses to run as root");
    expect(existsSync(dataDir)).toBe(false);
  });

  test("startPostgres, when checkout and data dir are in a 0700 home and no install script ran, still runs as the user", async () => {
    const home = aFolder();
    const embedded = await findEmbeddedPackage();
    cpSync(embedded?.native ?? "", join(home, "native"), {
      recursive: true,
      filter: (path) => !/\.so\.\d+$/.test(path) || !path.includes("libicu"),
    });
    chmodSync(home, 0o700);
    const outsideFolder = join(aFolder(), "outside");
    const options = {
      dataDir: join(home, ".treadle"),
      outsideFolder,
      findEmbedded: async () => ({ native: join(home, "native"), version: "18.4.0", major: 18 }),
    };
    const { postgres, reports } = await aPostgres(options);
    const { host } = postgres.connection as { host: string };
    expect(host.startsWith(outsideFolder)).toBe(true);
    expect(reports.filter((line) => line.startsWith("Copied native"))).toHaveLength(1);
    expect(await ask(postgres, "select pg_catalog.current_setting('data_directory') as folder")).toEqual([
      { folder: join(host, "..", "data") },
    ]);
    await postgres.stop();
    const again = await aPostgres(options);
    expect(again.reports).toEqual([]);
    await again.postgres.stop();
    expect(statSync(home).mode & 0o777).toBe(0o700);
  });
}
