import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import nodeVersion from "./node-version.cjs";
import { prepareCheckout } from "./setup.mjs";

const checkout = realpathSync(dirname(dirname(fileURLToPath(import.meta.url))));
const { env } = process;

/** Progress is for people: standard error, so that standard output holds the answer alone. */
const report = (line) => void process.stderr.write(`${line}\n`);

/** Runs one command and sets the exit code. Whatever goes wrong before the command can answer is told in words. */
export async function runCommandLine(argv) {
  try {
    await prepareCheckout({ checkout, env, report });
    // One data folder for a checkout, wherever in it a command is typed.
    env.TREADLE_DATA_DIR ||= join(checkout, ".treadle");
    const { runCli } = await import("../dist/command/main.js");
    const { createProcessIo } = await import("../dist/command/process-io.js");
    const parts = { start, checkMachine, measureSpeed, backup, restore, rotateMaster, migrate };
    process.exitCode = await runCli(argv, createProcessIo(env), parts);
  } catch (error) {
    report(describe(error));
    process.exitCode = 1;
  }
  // What a service that failed to start has left open must not keep the process: its servers end with it.
  if (started && process.exitCode === 0) process.exit();
  if (started) await import("../dist/command/lifecycle.js").then(({ endProcess }) => endProcess(process.exitCode));
}

let started = false;

/** `start`: prepares the machine, as root where that is who we are, and becomes the service. Resolves when it has stopped. */
async function start({ port, dataDir, open }) {
  started = true;
  if (port !== undefined) env.TREADLE_PORT = String(port);
  if (dataDir !== undefined) env.TREADLE_DATA_DIR = dataDir;
  const warning = nodeVersion.warnOfOldNode(process.versions.node);
  if (warning !== undefined) report(warning);
  const { loadSettings } = await import("../dist/command/config.js");
  const settings = loadSettings(env);
  const { prepareMachine } = await import("../dist/command/machine.js");
  // What starts the servers, in the time in which the machine's programs answer. What is wrong with it shows later.
  import("../dist/command/start.js").catch(() => {});
  const machine = await prepareMachine({ env, settings, checkout, report });
  const { runStart } = await import("../dist/command/start.js");
  await runStart({
    env: machine.env,
    settings,
    machine,
    examplesDir: join(checkout, "examples"),
    report,
    opensPage: open,
  });
  return 0;
}

/** Not through the service: it is to work when that is down. */
async function backup({ dataDir, target, withFiles, report: say }) {
  const { loadSettings } = await import("../dist/command/config.js");
  const { backUpInstallation } = await import("../dist/command/installation.js");
  return backUpInstallation({ env, settings: loadSettings(env), dataDir, target, withFiles, report: say });
}

async function restore({ dataDir, source, open, report: say }) {
  const { loadSettings } = await import("../dist/command/config.js");
  const { restoreBackup } = await import("../dist/command/restore.js");
  return restoreBackup({ env, settings: loadSettings(env), dataDir, source, open, report: say });
}

async function rotateMaster({ dataDir, report: say }) {
  const { loadSettings } = await import("../dist/command/config.js");
  const { rotateInstallationKey } = await import("../dist/command/rotation.js");
  return rotateInstallationKey({ env, settings: loadSettings(env), dataDir, report: say });
}

async function migrate() {
  const { loadSettings } = await import("../dist/command/config.js");
  const { migrateExternal } = await import("../dist/command/migration.js");
  return migrateExternal(loadSettings(env));
}

async function checkMachine(dataDir) {
  const { loadSettings } = await import("../dist/command/config.js");
  const { inspectMachine } = await import("../dist/command/inspection.js");
  return inspectMachine({ env, settings: loadSettings(env), dataDir });
}

async function measureSpeed(dataDir, signal) {
  const { measureSpeed: measure } = await import("../dist/command/speed.js");
  return measure({ env, checkout, dataDir, signal });
}

/** The words of an error that we threw for people; the whole story of one that is a fault in the program. */
function describe(error) {
  if (!(error instanceof Error)) return String(error);
  const isFault = error instanceof TypeError || error instanceof ReferenceError || env.TREADLE_LOG_LEVEL === "debug";
  // Of a host with two addresses that answers on neither, Node says nothing but what each attempt came to.
  const said =
    error.message === "" && error instanceof AggregateError ? error.errors.map(describe).join("; ") : error.message;
  const words = isFault ? (error.stack ?? said) : said;
  return error.cause instanceof Error ? `${words}\n  because: ${describe(error.cause)}` : words;
}
