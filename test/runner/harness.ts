import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonValue } from "../../domain/manifest/json-values.ts";
import type { InputKind } from "../../domain/manifest/manifest.ts";
import type { Interpreter } from "../../sandbox/interpreter.ts";
import { prepareRunnerFolder } from "../../sandbox/runner-folder.ts";
import {
  createSandbox,
  type LaneSettings,
  type LogLine,
  type Progress,
  type SandboxDeps,
  type SandboxLimits,
  type SandboxRequest,
  type SandboxResult,
  type Warmth,
} from "../../sandbox/sandbox.ts";
import { type KernelUsers, openKernelUsers } from "../../sandbox/users/kernel-users.ts";
import { chooseSandboxIds, findSelf, readIdFiles } from "../../src/setup/sandbox-ids.ts";
import { removeTree } from "../../system/trees/remove-tree.ts";
import { makeFolder, openPath, writeFolder } from "./folders.ts";

const MIB = 1024 * 1024;
/** Nobody's user id: what the tests' sandboxes run as when the tests run as root. */
export const UNPRIVILEGED = { uid: 64321, gid: 64321 };
/** Whose rights a service of the tests has. */
export const SERVICE_USER = process.getuid?.() === 0 ? UNPRIVILEGED : findSelf();
export const RUNNER_SOURCE = fileURLToPath(new URL("../../runner", import.meta.url));

/** The long form of the tests of the cold path: `TREADLE_TEST_RUNSC` is the path of a `runsc`, and they run in gVisor. */
export const IN_GVISOR = process.env["TREADLE_TEST_RUNSC"]
  ? { runscPath: process.env["TREADLE_TEST_RUNSC"] }
  : undefined;

export const LIMITS: SandboxLimits = {
  timeoutSeconds: 20,
  memoryBytes: 256 * MIB,
  cpu: 1,
  processes: 32,
  openFiles: 256,
  fileBytesMax: 64 * MIB,
  scratchBytes: 32 * MIB,
  outputBytesMax: 32 * MIB,
  outputFilesMax: 50,
  logBytesMax: MIB,
};

type Handed = "variables" | "secrets" | "laneVariables" | "isScratchOnDisk" | "heldBytesMax";

export interface Program extends Pick<SandboxRequest, Handed> {
  readonly code: string;
  /** More files of the commit, by path. */
  readonly commit?: Readonly<Record<string, string>>;
  readonly entrypoint?: string;
  readonly environmentDir?: string;
  readonly inputs?: Readonly<Record<string, JsonValue>>;
  /** JSON of some of them as it was sent. */
  readonly inputTexts?: Readonly<Record<string, string>>;
  readonly kinds?: Readonly<Record<string, InputKind>>;
  readonly files?: readonly {
    input: string;
    list?: boolean;
    files: readonly { content: string; fileName: string }[];
  }[];
  readonly outputs?: readonly string[];
  readonly limits?: Partial<SandboxLimits>;
  readonly network?: boolean;
  readonly accountId?: SandboxRequest["accountId"];
  readonly signal?: AbortSignal;
  readonly onLine?: (line: LogLine) => void;
}

export interface Ran extends SandboxResult {
  readonly log: readonly LogLine[];
  readonly stdout: string;
  readonly stderr: string;
  readonly progress: readonly Progress[];
  /** Text of each output, by output name. */
  readonly texts: Readonly<Record<string, string>>;
  /** Output name → file name. */
  readonly names: Readonly<Record<string, string>>;
  readonly elapsedMs: number;
}

/** A commit's folder that stays, so that several executions are of the same code. */
export interface Commit {
  readonly commitDir: string;
  warm(): Promise<Warmth>;
  run(program?: Omit<Program, "code" | "commit">): Promise<Ran>;
}

export interface Bench {
  readonly root: string;
  readonly settings: SandboxDeps;
  run(program: Program): Promise<Ran>;
  /** `program` gives the files, and what else decides about a lane; its inputs are given to each run. */
  commit(program: Program): Commit;
  laneProblem(): string | undefined;
  /** An environment whose packages are these files. */
  environment(packages: Readonly<Record<string, string>>): string;
  selfTest(): Promise<string[]>;
  close(): Promise<void>;
}

/** A Python that an unprivileged user can start: the system's, as one below somebody's home is of no use in a sandbox. */
export function findInterpreter(): Interpreter {
  const path = ["/usr/bin/python3", "/usr/local/bin/python3", "/opt/homebrew/bin/python3"].find((candidate) =>
    existsSync(candidate),
  );
  if (path === undefined) throw new Error("These tests need a Python 3.10 or newer in /usr/bin or /usr/local/bin.");
  const script = "import sys; print(sys.version.split()[0]); print(sys.base_prefix)";
  const [version = "", prefix = ""] = execFileSync(path, ["-I", "-c", script], { encoding: "utf8" }).trim().split("\n");
  return { path: realpathSync(path), version, prefix, bindPaths: prefix.startsWith("/usr") ? [] : [prefix] };
}

/** Lanes in the bench's folder. */
export const LANES = {
  lanesMax: 8,
  idleBytesMax: 1024 * MIB,
  idleMs: 600_000,
  retryAfterMs: 1_000,
  startBurstSeconds: 3_600,
};

/** A bench whose executions are served by lanes. */
export function openWarmBench(
  change: Partial<SandboxDeps> = {},
  bounds: Partial<LaneSettings> = {},
  runnerSource = RUNNER_SOURCE,
): Promise<Bench> {
  return openBench({ ...change, lanes: { dir: "", ...LANES, ...bounds } }, runnerSource);
}

/**
 * Kernel users for sandboxes: as root gives them, and no other process of the tests has them; else the subordinate ids of who
 * runs the tests, and undefined without.
 */
export async function openUsers(runAs = SERVICE_USER): Promise<KernelUsers | undefined> {
  const isRoot = process.getuid?.() === 0;
  const [first, count] = [0x7000_0000 + (process.pid % 4_000) * 65_536, 65_536];
  const own = { ...findSelf(), isRoot, dataDir: tmpdir() };
  const ids = isRoot ? { firstId: first, firstGroupId: first, count } : chooseSandboxIds(await readIdFiles(), own);
  if (ids === undefined) return undefined;
  const giveMap = async (pid: number) => {
    for (const [kind, self, firstId] of [
      ["uid", runAs.uid, ids.firstId],
      ["gid", runAs.gid, ids.firstGroupId],
    ] as const)
      if (isRoot) writeFileSync(`/proc/${pid}/${kind}_map`, `0 ${self} 1\n1 ${firstId} ${ids.count}\n`);
      else execFileSync(`new${kind}map`, [pid, 0, self, 1, 1, firstId, ids.count].map(String));
  };
  const settings = { python: findInterpreter().path, nsenter: "/usr/bin/nsenter", giveMap };
  return openKernelUsers({ ...ids, ...settings, runAs: isRoot ? runAs : undefined });
}

/** A sandbox with everything it needs, in a temporary folder of its own. `close` removes it all. */
export async function openBench(change: Partial<SandboxDeps> = {}, runnerSource = RUNNER_SOURCE): Promise<Bench> {
  const root = makeFolder("bench");
  const interpreter = findInterpreter();
  const runnerDir = join(root, "runner");
  await prepareRunnerFolder({
    sourceDir: runnerSource,
    targetDir: runnerDir,
    interpreterPath: interpreter.path,
  });
  mkdirSync(join(root, "lanes"), { mode: 0o711 });
  const users = "users" in change ? change.users : await openUsers(change.runAs);
  const settings: SandboxDeps = {
    users,
    isolation: "bubblewrap",
    bwrapPath: "/usr/bin/bwrap",
    gvisor: change.lanes === undefined ? IN_GVISOR : undefined,
    interpreter,
    runnerDir,
    runAs: process.getuid?.() === 0 ? UNPRIVILEGED : undefined,
    limits: {
      ...LIMITS,
      timeoutSeconds: 300,
      memoryBytes: 4096 * MIB,
      outputBytesMax: 4096 * MIB,
      outputFilesMax: 10_000,
    },
    ...change,
    lanes: change.lanes && { ...change.lanes, dir: join(root, "lanes") },
  };
  const sandbox = createSandbox(settings);
  let count = 0;
  const nextFolder = () => join(root, `execution-${++count}`);
  return {
    root,
    settings,
    run: (program) => {
      const folder = nextFolder();
      return runProgram(sandbox, folder, writeCommit(folder, program), program);
    },
    commit(program) {
      const commitDir = writeCommit(nextFolder(), program);
      return {
        commitDir,
        warm: () => sandbox.warm(toRequest(program, { commitDir, spoolDir: "", files: [] })),
        run: (given) => runProgram(sandbox, nextFolder(), commitDir, { ...program, ...given }),
      };
    },
    laneProblem: () => sandbox.laneProblem(),
    environment(packages) {
      const folder = join(nextFolder(), "environment");
      writeFolder(
        join(folder, `lib/python${interpreter.version.split(".").slice(0, 2).join(".")}/site-packages`),
        packages,
      );
      openPath(folder);
      return folder;
    },
    selfTest: () => sandbox.selfTest(),
    async close() {
      await sandbox.close();
      await users?.close();
      await removeTree(root);
    },
  };
}

function writeCommit(folder: string, program: Program): string {
  return writeFolder(join(folder, "commit"), { [program.entrypoint ?? "main.py"]: program.code, ...program.commit });
}

function toRequest(
  program: Omit<Program, "code">,
  { commitDir, spoolDir, files }: Pick<SandboxRequest, "commitDir" | "spoolDir" | "files">,
): SandboxRequest {
  const fileKinds = (program.files ?? []).map(
    ({ input, list }) => [input, list === true ? "file_list" : "file"] as const,
  );
  return {
    executionId: "ex_0123456789abcdef",
    ...(program.accountId === undefined ? {} : { accountId: program.accountId }),
    commitDir,
    environmentDir: program.environmentDir ?? null,
    entrypoint: program.entrypoint ?? "main.py",
    spoolDir,
    inputs: program.inputs ?? {},
    inputTexts: program.inputTexts ?? {},
    kinds: {
      ...Object.fromEntries(Object.keys(program.inputs ?? {}).map((name) => [name, "json"] as const)),
      ...program.kinds,
      ...Object.fromEntries(fileKinds),
    },
    variables: program.variables,
    secrets: program.secrets,
    laneVariables: program.laneVariables,
    files,
    declaredOutputs: program.outputs ?? null,
    network: program.network ?? false,
    isScratchOnDisk: program.isScratchOnDisk,
    heldBytesMax: program.heldBytesMax,
    limits: { ...LIMITS, ...program.limits },
  };
}

async function runProgram(
  sandbox: ReturnType<typeof createSandbox>,
  folder: string,
  commitDir: string,
  program: Omit<Program, "code">,
): Promise<Ran> {
  const spoolDir = writeFolder(join(folder, "spool"), {});
  const progress: Progress[] = [];
  const files = (program.files ?? []).map(({ input, list, files: own }) => ({
    input,
    list: list === true,
    files: own.map(({ content, fileName }, index) => {
      const path = join(folder, `${input}-${index}`);
      writeFileSync(path, content);
      return { path, fileName };
    }),
  }));
  const started = performance.now();
  const result = await sandbox.run(toRequest(program, { commitDir, spoolDir, files }), {
    signal: program.signal,
    onLine: program.onLine,
    onProgress: (event) => progress.push(event),
  });
  const elapsedMs = performance.now() - started;
  const logPath = join(spoolDir, "log.ndjson");
  const logText = result.logText ?? (existsSync(logPath) ? readFileSync(logPath, "utf8") : "");
  const lines = logText.split("\n").filter(Boolean);
  const log = lines.map((line) => JSON.parse(line) as LogLine);
  const textOf = (stream: string) =>
    log
      .filter((line) => line.stream === stream)
      .map((line) => line.text)
      .join("\n");
  return {
    ...result,
    log,
    stdout: textOf("stdout"),
    stderr: textOf("stderr"),
    progress,
    elapsedMs,
    names: Object.fromEntries(result.outputs.map((output) => [output.name, output.fileName])),
    texts: Object.fromEntries(
      result.outputs
        .filter((output) => output.bytes < MIB)
        .map(({ name, path, content }) => [name, (content ?? readFileSync(path)).toString("utf8")]),
    ),
  };
}

/** The JSON output `name`, parsed. Fails with the execution's own words where there is none. */
export function jsonOf<T>(ran: Ran, name = "result"): T {
  const text = ran.texts[name];
  if (text === undefined)
    throw new Error(`No output ${name}: ${ran.outcome.status}, ${ran.outcome.message}\n${ran.stderr}`);
  return JSON.parse(text) as T;
}
