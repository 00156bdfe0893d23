import { closeSync, fdatasyncSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect, queryRows } from "../db/connect.ts";
import { findMoneyFaults } from "../db/ledger/audit.ts";
import { migrate } from "../db/migrate.ts";
import { runCommand } from "../src/setup/servers/command.ts";
import { startPostgres } from "../src/setup/servers/postgres.ts";
import { prepareServiceUser } from "../src/setup/user.ts";
import { openCpuMeter } from "./cpu-meter.ts";
import { toFigure } from "./figures.ts";
import { type Arm, CALLERS, measureReservations, prepareAccount, type Window } from "./reservations.ts";
import { makeDataDir, removeDataDir } from "./service.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ROUNDS = Number(process.env.TREADLE_BENCH_ROUNDS ?? 7);
const WINDOW_MS = 500;
/** Before each window. */
const SYNCS = 25;
/** The pool of the service. */
const POOL_MAX = 20;
const GOALS = "at 128 callers: at least 50,000 a second, p99 below 5 ms";

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Says what it takes, in the median, to bring one page to the disk that holds the database. */
function openSyncGauge(folder: string): { measure: () => number; close: () => void } {
  const file = openSync(join(folder, "sync"), "w");
  const page = Buffer.alloc(8_192, 1);
  const measure = (): number => {
    const series = Array.from({ length: SYNCS }, () => {
      writeSync(file, page, 0, page.length, 0);
      const startedAt = performance.now();
      fdatasyncSync(file);
      return performance.now() - startedAt;
    });
    return toFigure(series).p50;
  };
  return { measure, close: () => closeSync(file) };
}

/** The median of the windows of an arm, with the lowest and the highest. */
function summarize(windows: readonly Window[], read: (window: Window) => number, digits = 2): string {
  const series = windows.map(read).sort((a, b) => a - b);
  const [lowest = 0, highest = 0] = [series[0], series.at(-1)];
  return `${toFigure(series).p50.toFixed(digits)} (${lowest.toFixed(digits)}–${highest.toFixed(digits)})`;
}

function report(windows: readonly Window[]): void {
  for (const callers of CALLERS) {
    const of = (arm: Arm) => windows.filter((window) => window.arm === arm && window.callers === callers);
    const ratios = of("shared").map((window, round) => window.perSecond / (of("plain")[round]?.perSecond ?? 0));
    const ratio = toFigure(ratios).p50.toFixed(1);
    say(
      `${callers} ${callers === 1 ? "caller" : "callers"}: shared statements ${ratio} × the plain pool in the same round`,
    );
    for (const arm of ["plain", "single", "shared"] as const) {
      const rate = summarize(of(arm), (window) => window.perSecond, 0);
      const [p50, p99] = [summarize(of(arm), (window) => window.p50), summarize(of(arm), (window) => window.p99)];
      say(`  ${arm.padEnd(6)} ${rate} a second, p50 ${p50} ms, p99 ${p99} ms`);
      const syncs = summarize(of(arm), (window) => window.p50 / window.syncMs, 1);
      const node = summarize(of(arm), (window) => window.nodeMicros, 1);
      const server = summarize(of(arm), (window) => window.serverMicros ?? Number.NaN, 1);
      say(
        `         p50 is ${syncs} × one page to disk just before; µs of a core each: node ${node}, PostgreSQL ${server}`,
      );
    }
  }
}

// Before anything is started that is to be counted.
const readCpuMs = openCpuMeter();
const dataDir = await makeDataDir();
const user = await prepareServiceUser({ isRoot: process.getuid?.() === 0, report: say, run: runCommand });
const postgres = await startPostgres({ env: {}, dataDir, runAs: user, report: say, log: () => undefined });
const sync = openSyncGauge(dataDir);
const db = connect(postgres.connection, { poolMax: POOL_MAX, applicationName: "bench" });
try {
  await migrate(db);
  await prepareAccount(db);
  const [settings] = await queryRows<Record<string, string>>(
    db,
    `select current_setting('server_version') as version, current_setting('fsync') as fsync,
            current_setting('synchronous_commit') as "synchronousCommit"`,
  );
  const gauges = { measureSyncMs: sync.measure, readCpuMs };
  const windows = await measureReservations(db, { rounds: ROUNDS, windowMs: WINDOW_MS, gauges });
  const syncs = summarize(windows, (window) => window.syncMs);
  say(`PostgreSQL ${JSON.stringify(settings)}; one page to disk: ${syncs} ms. Goals ${GOALS}.`);
  report(windows);
  const faults = await findMoneyFaults(db);
  if (faults.length > 0) throw new Error(`The money is wrong afterwards: ${String(faults.map(({ what }) => what))}`);
  const [held] = await queryRows<{ count: number }>(db, "select count(*)::int as count from reservations");
  say(`Afterwards: reserved = Σ of ${held?.count} open reservations, balance = Σ ledger.`);

  const at = new Date().toISOString();
  const machine = `${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB`;
  mkdirSync(join(ROOT, "bench/results"), { recursive: true });
  const file = join(ROOT, "bench/results", `${at.slice(0, 10)}-reservations.json`);
  writeFileSync(file, `${JSON.stringify({ at, machine, settings, windowMs: WINDOW_MS, windows })}\n`);
  say(`Raw numbers: ${file.slice(ROOT.length)}`);
} finally {
  sync.close();
  await db.destroy();
  await postgres.stop();
  await removeDataDir(dataDir);
}
