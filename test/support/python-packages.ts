import { mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { collectPackageSettings, toUvArguments, toUvVariables } from "../../environments/package-settings.ts";
import { findPython } from "../../src/setup/python.ts";
import { runCommand } from "../../src/setup/servers/command.ts";
import { findCacheDir } from "../../src/setup/servers/temporal-cache.ts";
import { findUv } from "../../src/setup/uv.ts";

const INSTALL_MS = 300_000;

/** A virtual environment in a folder of its own. */
export interface PythonPackages {
  readonly dir: string;
  /** Where its programs are. */
  readonly bin: string;
  remove(): Promise<void>;
}

/** Installs a pinned list, each package compared with its SHA-256, by uv, as this machine is set to install packages. */
export async function installPythonPackages(requirements: string): Promise<PythonPackages> {
  const dir = await mkdtemp(join(tmpdir(), "treadle-python-packages-"));
  const { env } = process;
  const common = { env, runAs: undefined, isRoot: process.getuid?.() === 0, mayInstall: false, run: runCommand };
  const report = (): void => undefined;
  const python = await findPython({ ...common, report });
  const places = { cacheDir: findCacheDir(env), runtimeDir: dir, pythonPath: python.path };
  const uv = await findUv({ ...common, ...places, report, now: Date.now });
  if (uv === undefined) throw new Error(`There is no uv, and pip could not install it: ${requirements} cannot be had.`);
  const settings = await collectPackageSettings(env, homedir());
  const surroundings = { PATH: env.PATH, HOME: homedir(), ...toUvVariables(settings), UV_NO_PROGRESS: "1" };
  const venv = join(dir, "venv");
  const wheels = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", requirements];
  for (const args of [
    ["venv", "--python", python.path, venv],
    ["pip", "install", ...toUvArguments(settings), "--python", join(venv, "bin/python"), ...wheels],
  ]) {
    const { code, tail } = await runCommand(uv.path, args, { env: surroundings, timeoutMs: INSTALL_MS });
    if (code !== 0) throw new Error(`uv ${args[0]} failed:\n${tail.join("\n")}`);
  }
  return { dir, bin: join(venv, "bin"), remove: () => rm(dir, { recursive: true, force: true }) };
}
