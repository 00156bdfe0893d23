import { fileURLToPath } from "node:url";
import { createCheckouts } from "../activities/commits/checkout.ts";
import { createEnvironments } from "../activities/environments/builder.ts";
import { createProgramRunner, createWarmer } from "../activities/program.ts";
import { prepareRunnerFolder } from "../activities/sandbox/runner-folder.ts";
import type { LaneSettings, SandboxLimits } from "../activities/sandbox/sandbox.ts";
import { createSandbox } from "../activities/sandbox/sandbox.ts";
import { createSlots } from "../activities/slots.ts";
import { createSpool } from "../activities/spool.ts";
import type { Storage } from "../activities/storage/storage.ts";
import type { Db } from "../db/connect.ts";
import { DEFAULT_BOUNDS } from "../domain/manifest/bounds.ts";
import type { Settings } from "./config.ts";
import type { SecretBox } from "./keys/secret-box.ts";
import type { Log } from "./log.ts";
import { createCommitReader } from "./publish/commit-files.ts";
import type { Machine } from "./setup/machine.ts";

const RUNNER = fileURLToPath(new URL("../runner/", import.meta.url));

/** Everything this host needs to run programs: sandbox, code, environments, spool, and places to run. */
export async function openPrograms(deps: {
  db: Db;
  storage: Storage;
  settings: Settings;
  machine: Machine;
  slotCount: number;
  secretBox: SecretBox;
  log: Log;
}) {
  const { machine, settings, db } = deps;
  const limits = ceilingsOf(settings);
  await prepareRunnerFolder({
    sourceDir: RUNNER,
    targetDir: machine.paths.runner,
    interpreterPath: machine.python.path,
    architecture: process.arch,
  });
  const sandbox = createSandbox({
    isolation: settings.TREADLE_ISOLATION === "none" ? "none" : "bubblewrap",
    bwrapPath: machine.bwrapPath,
    interpreter: machine.python,
    runnerDir: machine.paths.runner,
    runAs: machine.runAs,
    limits,
    lanes: lanesOf(settings, machine.paths.lanes),
  });
  const environments = createEnvironments({
    dir: machine.paths.environments,
    python: machine.python,
    uv: machine.uv,
    bwrapPath: machine.bwrapPath,
    isolation: settings.TREADLE_ISOLATION === "none" ? "none" : "bubblewrap",
    runAs: machine.runAs,
    env: machine.packageSettings,
    log: deps.log,
  });
  const checkouts = createCheckouts({
    dir: machine.paths.commits,
    runAs: machine.runAs,
    readFiles: createCommitReader(db),
  });
  const spool = createSpool(machine.paths.spool);
  const slots = createSlots(deps.slotCount);
  const { runProgram, runsByPath } = createProgramRunner({
    db,
    sandbox,
    checkouts,
    environments,
    storage: deps.storage,
    spool,
    slots,
    ceilings: limits,
    openSecrets: (sealed, executionId) =>
      JSON.parse(deps.secretBox.open(sealed, executionId).toString("utf8")) as Record<string, string>,
  });
  const warm = createWarmer({ db, sandbox, checkouts, environments, ceilings: limits });
  return { sandbox, environments, checkouts, spool, slots, runProgram, runsByPath, warm };
}

function lanesOf(settings: Settings, dir: string): LaneSettings | undefined {
  if (settings.TREADLE_LANES_MAX === 0) return undefined;
  return {
    dir,
    lanesMax: settings.TREADLE_LANES_MAX,
    idleBytesMax: settings.TREADLE_LANES_BYTES_MAX,
    idleMs: settings.TREADLE_LANE_IDLE_SECONDS * 1000,
  };
}

/** The most one execution may use on this installation, whatever its manifest says. */
function ceilingsOf(settings: Settings): SandboxLimits {
  return {
    timeoutSeconds: DEFAULT_BOUNDS.timeoutSecondsMax,
    memoryBytes: DEFAULT_BOUNDS.memoryBytesMax,
    cpu: DEFAULT_BOUNDS.cpuMax,
    processes: 64,
    openFiles: 512,
    fileBytesMax: settings.TREADLE_OUTPUT_BYTES_MAX,
    scratchBytes: 256 * 1024 * 1024,
    outputBytesMax: settings.TREADLE_OUTPUT_BYTES_MAX,
    outputFilesMax: 1_000,
    logBytesMax: settings.TREADLE_LOG_BYTES_MAX,
  };
}
