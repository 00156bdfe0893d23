import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { runCommand } from "../../src/setup/servers/command.ts";
import { freePort } from "../../src/setup/servers/free-port.ts";
import { findCacheDir } from "../../src/setup/servers/temporal-cache.ts";

const NEEDS = "This test needs PgBouncer on the PATH, or Debian's packages.";
const READY_MS_MAX = 30_000;
/** Fewer than the processes of a test ask for together, so that they do share sessions. */
export const POOLER_SESSIONS = 6;
/** As docs/operating.md has them. */
const LIMITS =
  "set statement_timeout = 30000; set lock_timeout = 10000; set idle_in_transaction_session_timeout = 30000";

export interface Pooler {
  /** Leads to the database through PgBouncer, each transaction by any session. */
  readonly url: string;
  /** Returns how many transactions it has carried so far. */
  countTransactions(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts PgBouncer in transaction mode, in front of a database that is reached by a socket. The caller stops it. */
export async function startPooler(address: { host: string; user: string; database: string }): Promise<Pooler> {
  const { program, libraries } = await findPgBouncer();
  const folder = await mkdtemp(join(tmpdir(), "treadle-pooler-"));
  await chmod(folder, 0o755);
  const port = await freePort("127.0.0.1");
  const users = join(folder, "users.txt");
  const file = join(folder, "pgbouncer.ini");
  await writeFile(users, `"${address.user}" ""\n`);
  const lines = [
    "[databases]",
    `${address.database} = host=${address.host} connect_query='${LIMITS}'`,
    "[pgbouncer]",
    [`listen_addr = 127.0.0.1`, `listen_port = ${port}`, "unix_socket_dir =", "auth_type = trust"],
    // It refuses to be root.
    process.getuid?.() === 0 ? ["user = nobody"] : [],
    [
      `auth_file = ${users}`,
      `stats_users = ${address.user}`,
      "pool_mode = transaction",
      `default_pool_size = ${POOLER_SESSIONS}`,
      "max_client_conn = 500",
    ],
  ].flat();
  await writeFile(file, `${lines.join("\n")}\n`);
  const env = { PATH: process.env["PATH"], LD_LIBRARY_PATH: libraries };
  // It ends when its standard input does, and so with this process, however that ends.
  const script = '"$@" & read -r _; kill $!; wait $!';
  const child = spawn("/bin/sh", ["-c", script, "sh", program, "--quiet", file], {
    env,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const ended = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const url = `postgresql://${address.user}@127.0.0.1:${port}/${address.database}`;
  for (const deadline = Date.now() + READY_MS_MAX; !(await answers(url)); await sleep(50)) {
    if (Date.now() < deadline && child.exitCode === null) continue;
    await stop();
    throw new Error(`PgBouncer (${program}) did not answer within ${READY_MS_MAX} ms.`);
  }
  const countTransactions = async (): Promise<number> => {
    const client = new pg.Client({ connectionString: url.replace(/[^/]*$/, "pgbouncer") });
    await client.connect();
    try {
      const { rows } = await client.query<{ database: string; total_xact_count: bigint }>("show stats");
      return Number(rows.find(({ database }) => database === address.database)?.total_xact_count ?? 0);
    } finally {
      await client.end();
    }
  };
  return { url, countTransactions, stop };
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString });
  client.on("error", () => undefined);
  const isThere = await client.connect().then(
    () => true,
    () => false,
  );
  await client.end().catch(() => undefined);
  return isThere;
}

/** The system's, else that of Debian's package, unpacked into the cache: nothing is installed, and nothing else started. */
async function findPgBouncer(): Promise<{ program: string; libraries: string | undefined }> {
  const system = await runCommand("pgbouncer", ["--version"], { env: { PATH: `${process.env["PATH"]}:/usr/sbin` } });
  if (system.code === 0) return { program: "/usr/sbin/pgbouncer", libraries: undefined };
  const cache = join(findCacheDir(process.env), "test");
  const kept = join(cache, "pgbouncer");
  const libraries = join(kept, "usr/lib", `${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`);
  const found = { program: join(kept, "usr/sbin/pgbouncer"), libraries };
  if (await exists(found.program)) return found;
  await mkdir(cache, { recursive: true });
  const making = await mkdtemp(join(cache, "unpacking-"));
  try {
    await chmod(making, 0o755);
    await mkdir(join(making, "archives/partial"), { recursive: true });
    await mkdir(join(making, "root"));
    await fetchPackages(join(making, "archives"));
    for (const name of (await readdir(join(making, "archives"))).filter((each) => each.endsWith(".deb")))
      await perform("dpkg", ["-x", join(making, "archives", name), join(making, "root")]);
    await rename(join(making, "root"), kept);
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return found;
}

/** PgBouncer's package, and those that it needs and this system lacks. */
async function fetchPackages(folder: string): Promise<void> {
  const download = [
    "install",
    "--download-only",
    "--yes",
    "--no-install-recommends",
    "-o",
    `Dir::Cache::archives=${folder}`,
  ];
  const options = [...download, "-o", "Debug::NoLocking=1", "pgbouncer"];
  await perform("apt-get", options).catch(async () => {
    await perform("apt-get", ["update"]);
    await perform("apt-get", options);
  });
}

async function perform(command: string, args: string[]): Promise<void> {
  const { code, tail } = await runCommand(command, args, { env: process.env });
  if (code !== 0) throw new Error(`${NEEDS} ${command} ${args[0]} failed: ${tail.slice(-3).join(" | ")}`);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
