import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { prepareRunnerFolder } from "../sandbox/runner-folder.ts";
import {
  createSandbox,
  type LaneRequest,
  type SandboxLimits,
  type SandboxRequest,
  type SandboxResult,
} from "../sandbox/sandbox.ts";

const RUNNER = fileURLToPath(new URL("../../runner", import.meta.url));
const MIB = 1024 * 1024;
/**
 * Where the files of executions are: ext4 without a journal looks at each inode that was deleted in the last five minutes
 * before it takes one (`recently_deleted` of `fs/ext4/ialloc.c`), so that what ran before would be measured, too.
 */
const IN_MEMORY = "/dev/shm";
const LIMITS: SandboxLimits = {
  timeoutSeconds: 60,
  memoryBytes: 512 * MIB,
  cpu: 1,
  processes: 64,
  openFiles: 512,

  fileBytesMax: 2048 * MIB,
  scratchBytes: 256 * MIB,
  outputBytesMax: 2048 * MIB,
  outputFilesMax: 1_000,
  logBytesMax: 10 * MIB,
};

/** The sandbox of a service without the service: what an execution costs from launch to result. */
export interface BenchSandbox {
  readonly folder: string;
  /** A commit that is one file. */
  addCommit(
    code: string,
    more?: { readonly environmentDir?: string; readonly limits?: Partial<SandboxLimits> },
  ): Promise<BenchCommit>;
  close(): Promise<void>;
  /** Removes its folder. */
  remove(): Promise<void>;
}

export interface BenchCommit {
  readonly mainPath: string;
  warm(): Promise<void>;
  /** One execution; its spool folder stays until the end. */
  run(): Promise<{ ms: number; path: SandboxResult["path"] }>;
  /** One that may come to any end. Its spool folder is removed. */
  tryToRun(): Promise<{ status: string }>;
}

export async function openSandbox(interpreter: string, user: { uid: number; gid: number }): Promise<BenchSandbox> {
  const folder = await mkdtemp(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), "treadle-bench-sandbox-"));
  await chmod(folder, 0o755);
  for (const name of ["lanes", "spool"]) await mkdir(join(folder, name), { mode: 0o711 });
  const runnerDir = join(folder, "runner");
  await prepareRunnerFolder({
    sourceDir: RUNNER,
    targetDir: runnerDir,
    interpreterPath: interpreter,
  });
  const bounds = { lanesMax: 2 * availableParallelism() + 8, idleBytesMax: 4096 * MIB, idleMs: 3_600_000 };
  const sandbox = createSandbox({
    isolation: "bubblewrap",
    bwrapPath: "/usr/bin/bwrap",
    interpreter: { path: interpreter, version: "3", prefix: "/usr", bindPaths: [] },
    runnerDir,
    runAs: process.getuid?.() === 0 ? user : undefined,
    limits: LIMITS,
    lanes: { ...bounds, dir: join(folder, "lanes") },
  });
  let count = 0;
  const addCommit: BenchSandbox["addCommit"] = async (code, more = {}) => {
    const commitDir = join(folder, `commit-${++count}`);
    await mkdir(commitDir);
    await chmod(commitDir, 0o755);
    await writeFile(join(commitDir, "main.py"), code);
    await chmod(join(commitDir, "main.py"), 0o644);
    const published: LaneRequest = {
      commitDir,
      environmentDir: more.environmentDir ?? null,
      entrypoint: "main.py",
      kinds: { name: "string" },
      limits: { ...LIMITS, ...more.limits },
    };
    const start = async () => {
      const spoolDir = join(folder, "spool", String(++count));
      await mkdir(spoolDir, { mode: 0o711 });
      const request: SandboxRequest = {
        ...published,
        executionId: "ex_bench",
        spoolDir,
        inputs: { name: "Ada" },
        files: [],
        declaredOutputs: null,
      };
      const startedAt = performance.now();
      const { outcome, path } = await sandbox.run(request);
      return { ms: performance.now() - startedAt, outcome, path, spoolDir };
    };
    return {
      mainPath: join(commitDir, "main.py"),
      async warm() {
        const warmth = await sandbox.warm(published);
        if (!warmth.warm) throw new Error(`There is no lane: ${warmth.reason}`);
      },
      async run() {
        const { ms, outcome, path } = await start();
        if (outcome.status !== "success") throw new Error(outcome.message);
        return { ms, path };
      },
      async tryToRun() {
        const { outcome, spoolDir } = await start();
        await rm(spoolDir, { recursive: true, force: true });
        return outcome;
      },
    };
  };
  return {
    folder,
    addCommit,
    async close() {
      await sandbox.close();
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The environment of `sales-report` in a data folder: the one with pandas in it. */
export async function findEnvironment(dataDir: string): Promise<string> {
  const environments = join(dataDir, "environments");
  for (const name of await readdir(environments)) {
    if (/^[0-9a-f]{64}$/.test(name)) return join(environments, name);
  }
  throw new Error(`There is no environment in ${environments}.`);
}
