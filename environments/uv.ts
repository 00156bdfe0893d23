import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BuildSteps, StepResult, StepWatch } from "./build-steps.ts";
import { type Binding, confineWithNetwork } from "./confinement.ts";
import { type BuildContext, type Installer, PATH, runInEnvironment } from "./installer.ts";
import { findInterpreterFolders } from "./interpreter-folders.ts";
import { parseLock, writeLock } from "./lock.ts";
import {
  localFoldersOf,
  toUvArguments,
  toUvVariables,
  type Variables,
  withoutCredentials,
} from "./package-settings.ts";
import { fetchWithSources, resolveWithSources, type UvSteps, writePublic } from "./uv-sources.ts";

const WHEELS_ONLY = ["--only-binary", ":all:"];
/** One pinned package a line, nothing taken from elsewhere, every file checked. */
const LOCKED = ["--no-deps", "--require-hashes", ...WHEELS_ONLY];
const COMPILE = ["--generate-hashes", "--no-header", "--no-annotate", "--quiet"];
/** For a folder that is thrown away: what is unpacked in the cache takes no second place on the disk. */
const LINKED = ["--link-mode", "hardlink"];
/** A cache of its own for every build: anything that a hostile archive does to it ends with the build. */
const CACHE: Omit<Binding, "from"> = { to: "/cache", writable: true };
const TOOL = "/tools/uv";

/**
 * The installer that uses uv. It has no command that only downloads. `fetch` installs into a folder that is thrown
 * away. The cache that this fills is all that `install` gets to see.
 */
export function createUv(uv: { path: string; version: string }, settings: Variables): Installer {
  const variables = toUvVariables(settings);
  const sources = toUvArguments(settings);
  const plain = { NO_COLOR: "1", UV_NO_PROGRESS: "1", UV_LINK_MODE: "copy" };

  const online: RunUv = (steps, context, args, { hidden = [], cacheDir = join(context.ownDir, "cache"), ...watch }) => {
    const { ownDir, confinement } = context;
    const folders = { PATH, HOME: ownDir, TMPDIR: join(ownDir, "tmp"), UV_CACHE_DIR: cacheDir };
    const program = { command: uv.path, args: ["pip", ...args], env: { ...variables, ...plain, ...folders } };
    return steps.run(confineWithNetwork(confinement, program, ownDir, hidden), { dir: ownDir, ...watch });
  };
  const withSources = createUvSteps(online, sources);

  return {
    name: `uv ${uv.version}`,

    async resolve(steps, context) {
      if (context.build === "source") return resolveWithSources(withSources, steps, context);
      const result = join(context.ownDir, "resolved.txt");
      const args = ["compile", ...sources, ...WHEELS_ONLY, ...COMPILE, "--python", context.python.path];
      const { code, output } = await online(steps, context, [...args, "--output-file", result, context.listPath], {});
      return code === 0 ? { ok: true, pins: parseLock(await readFile(result, "utf8")) } : { ok: false, output };
    },

    async fetch(steps, context) {
      const target = ["--target", join(context.ownDir, "unpacked"), "--python", context.python.path];
      if (context.build === "wheels")
        return online(
          steps,
          context,
          ["install", ...sources, ...LINKED, ...target, ...LOCKED, "-r", context.listPath],
          inCache(context),
        );
      const fetched = await fetchWithSources(withSources, steps, context, join(context.ownDir, "wheels"));
      if (!fetched.ok) return { code: 1, output: fetched.output };
      const { wheels, built } = fetched.result;
      await writePublic(wheelsListOf(context), writeLock(wheels));
      await writePublic(builtListOf(context), built.map(({ name, version }) => `${name}==${version}\n`).join(""));
      return { code: 0, output: "" };
    },

    async install(steps, context) {
      const install = async (listPath: string, args: readonly string[], bindings: readonly Binding[]) =>
        (await readFile(listPath, "utf8")) === ""
          ? { code: 0, output: "" }
          : installOffline(steps, { ...context, listPath }, [...sources, ...args], bindings);
      if (context.build === "wheels") return install(context.listPath, LOCKED, []);
      const locked = await install(wheelsListOf(context), LOCKED, []);
      if (locked.code !== 0) return locked;
      const wheels: Binding = { from: join(context.ownDir, "wheels"), to: "/wheels" };
      const noIndex = sources.length > 0 ? [] : ["--no-index"]; // uv takes it once only
      const built = ["--no-deps", ...WHEELS_ONLY, ...noIndex, "--find-links", wheels.to];
      return install(builtListOf(context), built, [wheels]);
    },
  };

  /** Installs what is in the cache, or in a binding, where there is no network. */
  function installOffline(
    steps: BuildSteps,
    context: BuildContext,
    args: readonly string[],
    bindings: readonly Binding[],
  ): Promise<StepResult> {
    const tool: Binding = { from: uv.path, to: TOOL };
    const cache: Binding = { ...CACHE, from: join(context.ownDir, "cache") };
    const folders = localFoldersOf(variables).map((path) => ({ from: path, to: path }));
    const all = [tool, cache, ...folders, ...bindings];
    return runInEnvironment(steps, context, all, ({ environmentDir, listPath, at }) => {
      const python = ["--python", join(environmentDir, "bin/python3")];
      return {
        command: at(tool),
        args: ["pip", "install", "--offline", ...args, ...python, "-r", listPath],
        env: { ...withoutCredentials(variables), ...plain, UV_CACHE_DIR: at(cache) },
      };
    });
  }
}

function wheelsListOf({ listPath }: BuildContext): string {
  return join(dirname(listPath), "wheels.txt");
}

function builtListOf({ listPath }: BuildContext): string {
  return join(dirname(listPath), "built.txt");
}

/** Runs `uv pip` with the network and what it downloads in `cacheDir`. */
type RunUv = (
  steps: BuildSteps,
  context: BuildContext,
  args: readonly string[],
  watch: StepWatch & { readonly hidden?: readonly string[]; readonly cacheDir?: string },
) => Promise<StepResult>;

/** What is downloaded counts once, although it is unpacked too. */
function inCache({ ownDir }: BuildContext): StepWatch {
  return { dir: join(ownDir, "cache") };
}

/**
 * uv's part in building from source. It may download sources, and would run them to learn about them. So where uv has
 * the network, the interpreter has no standard library and cannot start. uv has asked the interpreter before.
 */
function createUvSteps(online: RunUv, sources: readonly string[]): UvSteps {
  const prepare = async (
    steps: BuildSteps,
    context: BuildContext,
    cacheDir?: string,
  ): Promise<{ hidden: string[] }> => {
    await online(steps, context, ["list", "--python", context.python.path], {
      quiet: true,
      ...(cacheDir === undefined ? {} : { cacheDir }),
    });
    return { hidden: await findInterpreterFolders(steps, context) };
  };
  const unbuilt = ["--no-build-isolation"];

  return {
    async compile(steps, context, configDir) {
      const result = join(context.ownDir, "resolved.txt");
      const args = ["compile", "--project", configDir, ...sources, ...unbuilt, ...COMPILE];
      const files = ["--python", context.python.path, "--output-file", result, context.listPath];
      const outcome = await online(steps, context, [...args, ...files], {
        ...(await prepare(steps, context)),
        quiet: true,
      });
      return { ...outcome, text: outcome.code === 0 ? await readFile(result, "utf8") : "" };
    },

    async fetchLocked(steps, context) {
      const target = ["--target", join(context.ownDir, "unpacked"), "--python", context.python.path];
      const args = [
        "install",
        ...sources,
        ...unbuilt,
        ...LINKED,
        "--no-deps",
        "--require-hashes",
        ...target,
        "-r",
        context.listPath,
      ];
      return online(steps, context, args, { ...(await prepare(steps, context)), ...inCache(context), quiet: true });
    },

    async fetchSource(steps, context, { name, version, hashes }, cacheDir) {
      const listPath = join(dirname(context.listPath), "source.txt");
      const list = hashes === undefined ? `${name}==${version}\n` : writeLock([{ name, version, hashes }]);
      await writePublic(listPath, list);
      const target = ["--target", join(context.ownDir, "tmp", "unpacked"), "--python", context.python.path];
      const checked = hashes === undefined ? [] : ["--require-hashes"];
      const args = ["install", ...sources, ...unbuilt, "--no-deps", "--no-binary", name, ...checked, ...target];
      const hidden = await prepare(steps, context, cacheDir);
      return online(steps, context, [...args, "-r", listPath], { ...hidden, cacheDir, quiet: true });
    },

    fetchTools(steps, context, listPath, targetDir) {
      const target = ["--target", targetDir, "--python", context.python.path];
      return online(steps, context, ["install", ...sources, ...WHEELS_ONLY, ...target, "-r", listPath], {});
    },
  };
}
