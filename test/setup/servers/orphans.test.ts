import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "@jest/globals";
import { runCommand } from "../../../src/setup/servers/command.ts";
import { findEmbeddedPackage } from "../../../src/setup/servers/postgres-binaries.ts";
import { isRunning } from "../../../src/setup/servers/process-identity.ts";
import { resolveTemporalBinary } from "../../../src/setup/servers/temporal-binary.ts";
import { findCacheDir } from "../../../src/setup/servers/temporal-cache.ts";
import { aFolder, afterwards, HERE, IS_ROOT, NODE_ARGUMENTS, RUN_AS, STOP_MS_MAX, until } from "./surroundings.ts";

const GONE_MS_MAX = 20_000;
const BUILD_MS = 30 * 60_000;

interface Started {
  readonly postgres: number;
  readonly temporal: number;
  readonly socket: string;
}

/** A service in small, as a process of its own: everything that a start does, as JSON lines. */
async function aService(how: Record<string, unknown>) {
  const service = spawn(process.execPath, [...NODE_ARGUMENTS, join(HERE, "start-both.ts"), JSON.stringify(how)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  afterwards(() => service.kill("SIGKILL"));
  const lines = createInterface({ input: service.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error("the service ended without a word");
    return JSON.parse(value) as unknown;
  };
  return { service, started: (await next()) as Started, next };
}

async function countRunning(pids: readonly number[]): Promise<number> {
  return (await Promise.all(pids.map(isRunning))).filter(Boolean).length;
}

async function expectNoOrphans(how: Record<string, unknown>): Promise<void> {
  const first = await aService(how);
  const pids = [first.started.postgres, first.started.temporal];
  expect(await countRunning(pids)).toBe(2);
  first.service.kill("SIGKILL");
  await until("both servers are gone", async () => (await countRunning(pids)) === 0, GONE_MS_MAX);
  expect(existsSync(join(first.started.socket, ".s.PGSQL.5432"))).toBe(false);
}

test(
  "a service killed with SIGKILL, started by this user, leaves no server, and the next start is clean and stops in time",
  async () => {
    const how = { dataDir: join(aFolder(), "data"), cacheDir: findCacheDir(process.env), runAs: RUN_AS };
    await expectNoOrphans(how);
    // At once after a kill, without waiting for the end of what it left.
    const second = await aService(how);
    second.service.kill("SIGKILL");
    const third = await aService(how);
    third.service.stdin.write("stop\n");
    const { stoppedMs } = (await third.next()) as { stoppedMs: number };
    expect(stoppedMs).toBeLessThan(STOP_MS_MAX);
    const pids = [second, third].flatMap(({ started }) => [started.postgres, started.temporal]);
    await until("no server is left", async () => (await countRunning(pids)) === 0, GONE_MS_MAX);
  },
  BUILD_MS,
);

if (IS_ROOT) {
  test(
    "a service of an ordinary user, killed with SIGKILL, leaves no server",
    async () => {
      // The checkout may be closed to that user, so the programs are laid where everybody reaches them.
      const folder = aFolder();
      const embedded = await findEmbeddedPackage();
      cpSync(embedded?.native ?? "", join(folder, "native"), { recursive: true, verbatimSymlinks: true });
      const binary = await resolveTemporalBinary({
        env: process.env,
        cacheDir: findCacheDir(process.env),
        report: () => {},
        fetch,
        run: runCommand,
      });
      cpSync(binary.path, join(folder, "temporal"));
      const home = mkdtempSync(join(folder, "home-"));
      await runCommand("chown", [`${RUN_AS?.uid}:${RUN_AS?.gid}`, home], { env: {} });
      const dataDir = join(home, "data");
      await expectNoOrphans({
        dataDir,
        cacheDir: home,
        become: RUN_AS,
        native: join(folder, "native"),
        cli: join(folder, "temporal"),
      });
      expect(statSync(join(dataDir, "postgres")).uid).toBe(RUN_AS?.uid);
      expect(statSync(join(dataDir, "postgres")).mode & 0o777).toBe(0o700);
    },
    BUILD_MS,
  );
}
