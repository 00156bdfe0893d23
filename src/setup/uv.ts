import { cp, mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { listPrograms } from "./programs.ts";
import { withProgress } from "./progress.ts";
import type { RunAs } from "./servers/child.ts";
import type { RunCommand } from "./servers/command.ts";
import { copyIntoReach } from "./servers/reachability.ts";

/** The version that is installed where none is on the PATH. */
export const UV_VERSION = "0.13.8";

const ANSWER_TIMEOUT_MS = 10_000;
const INSTALL_TIMEOUT_MS = 120_000;
/** How long a machine that could not install it is not asked again: it would cost every start some seconds. */
const RETRY_AFTER_MS = 3_600_000;
/** pip understands `--target` with wheels of every kind since then; the same as environments need. */
const PIP_MIN = [22, 3] as const;

export interface UvOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Shared by all checkouts of the user we are; kept between starts. */
  readonly cacheDir: string;
  /** In the data folder, within reach of `runAs`: where a copy goes that it can execute. */
  readonly runtimeDir: string;
  /** The interpreter of programs: its pip is asked first. */
  readonly pythonPath: string;
  readonly runAs: RunAs | undefined;
  readonly report: (line: string) => void;
  readonly run: RunCommand;
  readonly now: () => number;
}

/**
 * A `uv` that `runAs` can execute: on the PATH, in our cache, or installed there from the index of this machine's pip.
 * That is one pinned version, as a wheel, so that no code of it runs. Undefined where there is none and none can be
 * had: environments are then built with pip. A machine without network fails within seconds.
 */
export async function findUv(options: UvOptions): Promise<{ readonly path: string } | undefined> {
  for (const path of await listPrograms("uv", options.env.PATH)) {
    if (await isUv(path, options)) return { path };
  }
  const cached = join(options.cacheDir, `uv-${UV_VERSION}-${process.platform}-${process.arch}`);
  if (!(await isUv(cached, { ...options, runAs: undefined })) && !(await installOnce(cached, options)))
    return undefined;
  const path = await copyIntoReach({
    source: cached,
    folder: options.runtimeDir,
    name: `uv-${UV_VERSION}`,
    works: (candidate) => isUv(candidate, options),
    report: options.report,
  });
  return path === undefined ? undefined : { path };
}

async function isUv(path: string, { run, runAs }: Pick<UvOptions, "run" | "runAs">): Promise<boolean> {
  const { code, stdout } = await run(path, ["--version"], { env: {}, runAs, timeoutMs: ANSWER_TIMEOUT_MS });
  return code === 0 && /^uv \d/.test(stdout);
}

async function installOnce(target: string, options: UvOptions): Promise<boolean> {
  const failure = `${target}.failed`;
  const failedAt = (await stat(failure).catch(() => undefined))?.mtimeMs;
  if (failedAt !== undefined && options.now() - failedAt < RETRY_AFTER_MS) return false;
  await mkdir(options.cacheDir, { recursive: true });
  const problem = await withProgress(
    { report: options.report, what: `Installing uv ${UV_VERSION} with pip`, usual: "2 to 20 s" },
    () => install(target, options),
  );
  if (problem === undefined) {
    await rm(failure, { force: true });
    return true;
  }
  options.report(`uv could not be installed (${problem}); environments are built with pip, which takes longer.`);
  await writeFile(failure, `${problem}\n`);
  return false;
}

/** Installs into a folder of its own and keeps the one program. Answers what went wrong, or undefined. */
async function install(target: string, options: UvOptions): Promise<string | undefined> {
  const pip = await findPip(options);
  if (pip === undefined) return `there is no pip ${PIP_MIN.join(".")} or later`;
  const folder = await mkdtemp(join(options.cacheDir, "making-uv-"));
  try {
    const [command = "", ...before] = pip;
    const wanted = [
      "install",
      "--target",
      folder,
      "--only-binary",
      ":all:",
      "--no-deps",
      "--no-compile",
      `uv==${UV_VERSION}`,
    ];
    const patience = ["--timeout", "5", "--retries", "0", "--no-input", "--disable-pip-version-check"];
    const { code, tail } = await options.run(command, [...before, ...wanted, ...patience], {
      env: options.env,
      timeoutMs: INSTALL_TIMEOUT_MS,
    });
    if (code !== 0) return explainPip(code, tail);
    const program = join(folder, "bin", "uv");
    if (!(await isUv(program, { ...options, runAs: undefined }))) return "the installed program cannot be executed";
    const draft = join(dirname(folder), `${target.slice(options.cacheDir.length + 1)}.${process.pid}`);
    await cp(program, draft);
    await rename(draft, target);
    return undefined;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A pip that we, the starting user, can run with our own settings: of the programs' interpreter, or of another one. */
async function findPip(options: UvOptions): Promise<readonly string[] | undefined> {
  const { env, run } = options;
  const pythons = [options.pythonPath, ...(await listPrograms("python3", env.PATH)), "/usr/bin/python3"];
  const pips = [...(await listPrograms("pip3", env.PATH)), ...(await listPrograms("pip", env.PATH))];
  const commands = [...new Set(pythons)].map((python) => [python, "-m", "pip"]).concat(pips.map((pip) => [pip]));
  for (const [command = "", ...args] of commands) {
    const { code, stdout } = await run(command, [...args, "--version"], { env, timeoutMs: ANSWER_TIMEOUT_MS });
    const [, major = 0, minor = 0] = (/^pip (\d+)\.(\d+)/.exec(stdout) ?? []).map(Number);
    if (code === 0 && (major > PIP_MIN[0] || (major === PIP_MIN[0] && minor >= PIP_MIN[1]))) return [command, ...args];
  }
  return undefined;
}

/** pip's last error, without what stands between `://` and `@`: an index may carry a password. */
function explainPip(code: number | undefined, tail: readonly string[]): string {
  if (code === undefined) return "pip did not finish in time";
  const line = tail.filter((one) => /error/i.test(one)).at(-1) ?? tail.at(-1) ?? `pip ended with code ${code}`;
  return line.replaceAll(/:\/\/[^/@\s]*@/g, "://").slice(0, 300);
}
