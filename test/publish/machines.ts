import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createProgramRunner, createWarmer } from "../../activities/program.ts";
import { createSpool } from "../../activities/spool.ts";
import { findCommit } from "../../db/commits/commits.ts";
import { type Db } from "../../db/connect.ts";
import type { ExecutionWork } from "../../db/executions/attempts.ts";
import type { AccountId, CommitId, WorkflowId } from "../../domain/ids.ts";
import { DEFAULT_BOUNDS } from "../../domain/manifest/bounds.ts";
import { createCheckouts } from "../../environments/checkout.ts";
import { createCommitEnvironments } from "../../environments/commit-environments.ts";
import { createInterpreters } from "../../environments/interpreters.ts";
import type { Python } from "../../environments/lock.ts";
import { prepareRunnerFolder } from "../../sandbox/runner-folder.ts";
import { createRuntimes } from "../../sandbox/runtimes.ts";
import { createSandbox, type SandboxSettings } from "../../sandbox/sandbox.ts";
import { createExecutionId } from "../../src/ids.ts";
import { createCommitReader } from "../../src/publish/commit-files.ts";
import { createPreview } from "../../src/publish/preview.ts";
import { createPublisher, type PublishRequest } from "../../src/publish/publish.ts";
import { createPythonCheck } from "../../src/publish/python-check.ts";
import { createPythonWarnings } from "../../src/publish/python-warnings.ts";
import { createSourceReader } from "../../src/publish/source-reader.ts";
import { aFolder, onlyFrom, PYTHON, RUN_AS, someEnvironments } from "../environments/machine.ts";
import { anIndexOfSources, aSource } from "../environments/source-index.ts";
import { SILENT } from "../http/editor/parts.ts";
import { LANES, LIMITS, RUNNER_SOURCE } from "../runner/harness.ts";
import { anAccount, TEST_SECRET_BOX } from "../support/builders.ts";
import { aDatabase } from "../support/postgres.ts";
import { TEST_THREADS } from "../support/threads.ts";
import { findTwoPythons } from "../support/two-pythons.ts";

interface MachineParts {
  readonly db: Db;
  readonly accountId: AccountId;
  readonly standard: Python;
  /** Besides the standard one. */
  readonly others: readonly Python[];
  /** The folder that packages come from. */
  readonly index: string;
}

/** Publisher, sandbox with lanes and everything between them, on a machine of its own. */
async function aMachine({ db, accountId, standard, others, index }: MachineParts) {
  const root = aFolder();
  for (const name of ["lanes", "spool", "commits", "readings"]) mkdirSync(join(root, name), { mode: 0o711 });
  const environments = someEnvironments({ python: standard, env: onlyFrom(index) });
  const interpreters = createInterpreters({
    standard,
    env: { PATH: others.map(({ path }) => join(path, "..")).join(":") },
    usualFolders: [],
    examine: async (path) => others.find((one) => one.path === path) ?? "it is no interpreter of this test",
  });
  const sources = { sourceDir: RUNNER_SOURCE, targetDir: join(root, "runner") };
  await prepareRunnerFolder({ ...sources, interpreterPath: standard.path });
  const ceilings = {
    ...LIMITS,
    timeoutSeconds: 3600,
    memoryBytes: 8 * 1024 ** 3,
    cpu: 8,
    scratchBytes: 384 * 1024 ** 2,
  };
  const sandboxSettings: SandboxSettings = {
    isolation: "bubblewrap",
    bwrapPath: "bwrap",
    interpreter: standard,
    runnerDir: sources.targetDir,
    runAs: RUN_AS,
    limits: ceilings,
  };
  const sandbox = createSandbox({ ...sandboxSettings, lanes: { ...LANES, dir: join(root, "lanes") } });
  const own = { dir: join(root, "commits"), runAs: RUN_AS, isolation: "bubblewrap" } as const;
  const readFiles = createCommitReader(db);
  const checkouts = createCheckouts({ ...own, readFiles });
  const spool = createSpool(join(root, "spool"));
  const runtimes = createRuntimes(standard, sources);
  const commitEnvironments = createCommitEnvironments({
    db,
    environments,
    interpreters,
    readFiles,
    threads: TEST_THREADS,
    log: SILENT,
  });
  const code = { db, sandbox, checkouts, commitEnvironments, runtimes, ceilings };
  const { runProgram } = createProgramRunner({
    ...code,
    spool,
    hostId: "host1",
    storage: {} as never,
    smallBytesMax: 0,
    hostProblem: () => undefined,
    takeValues: async () => ({ secrets: new Map(), variables: new Map() }),
    openSecrets: () => ({}),
  });
  const bounds = {
    ...DEFAULT_BOUNDS,
    timeoutSecondsMax: ceilings.timeoutSeconds,
    memoryBytesMax: ceilings.memoryBytes,
    cpuMax: ceilings.cpu,
    processesMax: ceilings.processes,
    openFilesMax: ceilings.openFiles,
    scratchBytesMax: ceilings.scratchBytes,
  };
  const readSource = createSourceReader({ sandbox, runtimes, ceilings, dir: join(root, "readings") });
  const checkPython = createPythonCheck(readSource);
  const checks = { checkPython, findPythonWarnings: createPythonWarnings(TEST_THREADS) };
  const abilities = {
    interpreters,
    networkAvailable: () => false,
    bounds: () => bounds,
    threads: TEST_THREADS,
    ...checks,
  };
  const made = { environments, commitEnvironments };
  const publish = createPublisher({ db, secretBox: TEST_SECRET_BOX, ...made, log: SILENT, ...abilities });
  const toFiles = (files: Record<string, string>) =>
    Object.entries({ "config.yaml": "name: x\n", "main.py": "", ...files }).map(([path, content]) => ({
      path,
      content: Buffer.from(content),
      executable: false,
    }));
  return {
    standard,
    environments,
    commitEnvironments,
    sandbox,
    sandboxSettings,
    spool,
    checkouts,
    warm: createWarmer(code),
    preview: (files: Record<string, string>) =>
      createPreview({ db, secretBox: TEST_SECRET_BOX, ...abilities })({
        workflowId: null,
        accountId,
        files: toFiles(files),
      }),
    publish: (files: Record<string, string>, change: Partial<PublishRequest> = {}) =>
      publish({ workflowId: null, accountId, name: "x", message: "", files: toFiles(files), ...change }),
    /** What `main` of a commit returned, and which path it took. */
    async run(workflowId: WorkflowId, commitId: CommitId) {
      const commit = await findCommit(db, workflowId, commitId);
      const executionId = createExecutionId();
      const work = { executionId, accountId, workflowId, commitId, manifest: commit?.manifest } as ExecutionWork;
      const outcome = await runProgram(
        {
          ...work,
          environmentKey: commit?.environmentKey ?? null,
          python: commit?.python ?? null,
          tick: null,
          inputs: {},
          secretInputs: null,
          files: [],
          previous: null,
        },
        new AbortController().signal,
      );
      const [output] = (await spool.readResult(executionId))?.outputs ?? [];
      if (output === undefined) throw new Error(`${outcome.status}: ${outcome.message}`);
      const text = await readFile(output.path, "utf8");
      return output.fileName.endsWith(".json") ? (JSON.parse(text) as unknown) : text;
    },
    close: () => sandbox.close(),
  };
}

/** A machine with two Pythons and one small package index; `another` gives more of them on the same database. */
export async function aHost() {
  const database = await aDatabase();
  const { db } = database;
  const { standard, second } = await findTwoPythons(PYTHON, RUN_AS);
  const index = anIndexOfSources(
    [aSource("sourceonly")],
    [
      { name: "hello", files: { "hello.py": "import sys\nWHERE = sys.prefix\n" } },
      { name: "slow", files: { "slow.py": "import time\ntime.sleep(2)\n" } },
      { name: "picky", requires: ["hello>=2"] },
    ],
  );
  const parts: MachineParts = { db, accountId: await anAccount(db), standard, others: [second], index };
  const machines = [await aMachine(parts)];
  const [first] = machines as [Awaited<ReturnType<typeof aMachine>>];
  return {
    ...first,
    db,
    second,
    async another(change: Partial<MachineParts>) {
      const machine = await aMachine({ ...parts, ...change });
      machines.push(machine);
      return machine;
    },
    async close() {
      for (const machine of machines) await machine.close();
      await database.drop();
    },
  };
}

/** `3.11` of `3.11.2`. */
export const minorOf = (version: string): string => version.split(".").slice(0, 2).join(".");
