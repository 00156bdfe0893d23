import { chmod, chown, mkdir, symlink, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { minorVersionOf } from "../sandbox/interpreter.ts";
import type { BuildSteps, StepResult } from "./build-steps.ts";
import { type Binding, type Confinement, confineWithoutNetwork, type Program } from "./confinement.ts";
import { type BuildSpec, type Pin, type Python } from "./lock.ts";

export const PATH = "/usr/local/bin:/usr/bin:/bin";
/** Where environments are seen inside every sandbox; console scripts have it in their first line. */
const INSIDE_ENVIRONMENT = "/env";
/** Executions on the same machine need its processors, too. */
const COMPILERS_MAX = 4;
/** A hostile source file can make the compiler take a lot; 2 GiB is four times what the largest honest ones need. */
const COMPILER_MEMORY_KIB = 2 * 1024 * 1024;
/**
 * Tests of packages, which their programs never import: of pandas and numpy more than half of the modules. Compiling them
 * too took three times as long.
 */
const UNCOMPILED = "/site-packages/.*/tests/(.*/)?test_[^/]*[.]py$";
/** Where a virtual environment says which Python it is of. */
const SETTINGS_FILE = "pyvenv.cfg";

/** Where a build does its work. `ownDir` belongs to the unprivileged user and is all it can write. */
export interface BuildContext extends BuildSpec {
  readonly confinement: Confinement;
  readonly ownDir: string;
  readonly environmentDir: string;
  /** The requirements, or the lock, depending on the step; readable by everybody. */
  readonly listPath: string;
}

export type Resolution =
  | { readonly ok: true; readonly pins: readonly Pin[] }
  | { readonly ok: false; readonly output: string };

/** A tool that resolves, downloads and installs wheels. Returns its failures as results, with its own message. */
export interface Installer {
  /** Such as `uv 0.9.3`. */
  readonly name: string;
  resolve(steps: BuildSteps, context: BuildContext): Promise<Resolution>;
  /** Downloads what the lock names, and checks the hashes. */
  fetch(steps: BuildSteps, context: BuildContext): Promise<StepResult>;
  /** Installs what was downloaded, without the network. */
  install(steps: BuildSteps, context: BuildContext): Promise<StepResult>;
}

/** Makes the folders of a build below `workDir`, owned by the user the installers run as. */
export async function makeContext(
  confinement: Confinement,
  spec: BuildSpec,
  workDir: string,
  list: string,
): Promise<BuildContext> {
  const ownDir = join(workDir, "own");
  const environmentDir = join(ownDir, "env");
  const listPath = join(workDir, "requirements.txt");
  await writeFile(listPath, list);
  await chmod(listPath, 0o644);
  for (const path of [ownDir, join(ownDir, "tmp"), join(ownDir, "cache"), join(ownDir, "wheels")]) {
    await mkdir(path);
    await chmod(path, 0o755);
    if (confinement.runAs !== undefined) await chown(path, confinement.runAs.uid, confinement.runAs.gid);
  }
  return { ...spec, confinement, ownDir, environmentDir, listPath };
}

/** Links of an environment's skeleton, by their paths in it. */
export function environmentLinks(python: Python): Map<string, string> {
  return new Map([
    ["bin/python3", python.path],
    ["bin/python", "python3"],
    ["lib64", "lib"],
    ["site-packages", packagesPathOf(python)],
  ]);
}

/** Files and links that each host makes by itself, because they name its Python, by their paths in an environment. */
export function partsOfHost(python: Python): string[] {
  return [SETTINGS_FILE, ...environmentLinks(python).keys()];
}

/**
 * Makes an empty virtual environment without pip, as `venv --without-pip` makes it, but without starting an
 * interpreter. So `python3` and console scripts inside a sandbox find the packages too. `site-packages` at its top is a
 * link to where the packages are.
 */
export async function makeSkeleton(context: BuildContext): Promise<void> {
  const { python, environmentDir, confinement } = context;
  const packages = packagesPathOf(python);
  const folders = ["", "bin", "lib", dirname(packages), packages].map((name) => join(environmentDir, name));
  const settings = [
    `home = ${dirname(python.path)}`,
    "include-system-site-packages = false",
    `version = ${python.version}`,
  ];
  for (const path of folders) await mkdir(path);
  await writeFile(join(environmentDir, SETTINGS_FILE), `${settings.join("\n")}\n`);
  for (const [name, target] of environmentLinks(python)) await symlink(target, join(environmentDir, name));
  for (const path of folders) {
    await chmod(path, 0o755);
    if (confinement.runAs !== undefined) await chown(path, confinement.runAs.uid, confinement.runAs.gid);
  }
  await chmod(join(environmentDir, SETTINGS_FILE), 0o644);
}

/** Paths as a program in the environment's sandbox sees them. */
export interface InsidePaths {
  readonly environmentDir: string;
  readonly listPath: string;
  /** Where a binding is seen. */
  readonly at: (binding: Binding) => string;
}

/** Runs a program with the environment at its final place, without the network; `bindings` are what else it sees. */
export function runInEnvironment(
  steps: BuildSteps,
  context: BuildContext,
  bindings: readonly Binding[],
  toProgram: (paths: InsidePaths) => Program,
): Promise<StepResult> {
  const isConfined = context.confinement.isolation !== "none";
  const at = (binding: Binding): string => (isConfined ? binding.to : binding.from);
  const environment: Binding = { from: context.environmentDir, to: INSIDE_ENVIRONMENT, writable: true };
  const list: Binding = { from: context.listPath, to: "/requirements.txt" };
  const interpreter = context.python.bindPaths.map((path) => ({ from: path, to: path }));
  const program = toProgram({ environmentDir: at(environment), listPath: at(list), at });
  const env = { PATH, HOME: isConfined ? "/tmp" : context.ownDir, ...program.env };
  const confined = confineWithoutNetwork(context.confinement, { ...program, env }, [
    ...interpreter,
    list,
    environment,
    ...bindings,
  ]);
  return steps.run(confined, { dir: context.environmentDir });
}

/**
 * Compiles every module but tests once, for good: sandboxes see the environment read-only and never check sources against
 * their bytecode (`unchecked-hash`). A file that does not compile is left as it is, as pip does: packages carry
 * templates and old syntax. The interpreter starts without `site`, so that no `.pth` file of a package is run.
 */
export async function compileModules(steps: BuildSteps, context: BuildContext): Promise<void> {
  const workers = String(Math.min(cpus().length, COMPILERS_MAX));
  const limited = `ulimit -v ${COMPILER_MEMORY_KIB} 2>/dev/null; exec "$@"`;
  const compile = ["-I", "-S", "-m", "compileall", "-q", "-q", "-j", workers, "--invalidation-mode", "unchecked-hash"];
  const at = (environmentDir: string): string => join(environmentDir, packagesPathOf(context.python));
  const { code } = await runInEnvironment(steps, context, [], ({ environmentDir }) => ({
    command: "/bin/sh",
    args: ["-c", limited, "sh", context.python.path, ...compile, "-x", UNCOMPILED, at(environmentDir)],
    env: {},
  }));
  if (code !== 0)
    steps.say("Some files of the packages are no valid Python for this interpreter; they were not compiled.");
}

/** Where an environment's packages are, inside of it. */
function packagesPathOf(python: Python): string {
  return `lib/python${minorVersionOf(python)}/site-packages`;
}
