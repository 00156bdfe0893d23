import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BuildSteps, StepResult, StepWatch } from "./build-steps.ts";
import { type Binding, confineWithNetwork } from "./confinement.ts";
import { type BuildPlace, type Installer, PATH, runInEnvironment } from "./installer.ts";
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
/** A cache of its own for every build: whatever a hostile archive does to it ends with the build. */
const CACHE: Omit<Binding, "from"> = { to: "/cache", writable: true };
const TOOL = "/tools/uv";

/**
 * The installer that uses uv. It has no command that only downloads: `fetch` installs into a folder that is thrown
 * away, and the cache that this fills is all that `install` gets to see.
 */
export function createUv(uv: { path: string; version: string }, settings: Variables): Installer {
  const variables = toUvVariables(settings);
  const sources = toUvArguments(settings);
  const plain = { NO_COLOR: "1", UV_NO_PROGRESS: "1", UV_LINK_MODE: "copy" };

  const online: RunUv = (steps, place, args, { hidden = [], cacheDir = join(place.ownDir, "cache"), ...watch }) => {
    const { ownDir, confinement } = place;
    const folders = { PATH, HOME: ownDir, TMPDIR: join(ownDir, "tmp"), UV_CACHE_DIR: cacheDir };
    const program = { command: uv.path, args: ["pip", ...args], env: { ...variables, ...plain, ...folders } };
    return steps.run(confineWithNetwork(confinement, program, ownDir, hidden), { dir: ownDir, ...watch });
  };
  const withSources = createUvSteps(online, sources);

  return {
    name: `uv ${uv.version}`,

    async resolve(steps, place) {
      if (place.build === "source") return resolveWithSources(withSources, steps, place);
      const result = join(place.ownDir, "resolved.txt");
      const args = ["compile", ...sources, ...WHEELS_ONLY, ...COMPILE, "--python", place.python.path];
      const { code, output } = await online(steps, place, [...args, "--output-file", result, place.listPath], {});
      return code === 0 ? { ok: true, pins: parseLock(await readFile(result, "utf8")) } : { ok: false, output };
    },

    async fetch(steps, place) {
      const target = ["--target", join(place.ownDir, "unpacked"), "--python", place.python.path];
      if (place.build === "wheels")
        return online(
          steps,
          place,
          ["install", ...sources, ...target, ...LOCKED, "-r", place.listPath],
          inCache(place),
        );
      const fetched = await fetchWithSources(withSources, steps, place, join(place.ownDir, "wheels"));
      if (!fetched.ok) return { code: 1, output: fetched.output };
      const { wheels, built } = fetched.result;
      await writePublic(wheelsListOf(place), writeLock(wheels));
      await writePublic(builtListOf(place), built.map(({ name, version }) => `${name}==${version}\n`).join(""));
      return { code: 0, output: "" };
    },

    async install(steps, place) {
      const install = async (listPath: string, args: readonly string[], bindings: readonly Binding[]) =>
        (await readFile(listPath, "utf8")) === ""
          ? { code: 0, output: "" }
          : installOffline(steps, { ...place, listPath }, [...sources, ...args], bindings);
      if (place.build === "wheels") return install(place.listPath, LOCKED, []);
      const locked = await install(wheelsListOf(place), LOCKED, []);
      if (locked.code !== 0) return locked;
      const wheels: Binding = { from: join(place.ownDir, "wheels"), to: "/wheels" };
      const noIndex = sources.length > 0 ? [] : ["--no-index"]; // uv takes it once only
      const built = ["--no-deps", ...WHEELS_ONLY, ...noIndex, "--find-links", wheels.to];
      return install(builtListOf(place), built, [wheels]);
    },
  };

  /** Installs what is in the cache, or in a binding, where there is no network. */
  function installOffline(
    steps: BuildSteps,
    place: BuildPlace,
    args: readonly string[],
    bindings: readonly Binding[],
  ): Promise<StepResult> {
    const tool: Binding = { from: uv.path, to: TOOL };
    const cache: Binding = { ...CACHE, from: join(place.ownDir, "cache") };
    const folders = localFoldersOf(variables).map((path) => ({ from: path, to: path }));
    const all = [tool, cache, ...folders, ...bindings];
    return runInEnvironment(steps, place, all, ({ environmentDir, listPath, at }) => {
      const python = ["--python", join(environmentDir, "bin/python3")];
      return {
        command: at(tool),
        args: ["pip", "install", "--offline", ...args, ...python, "-r", listPath],
        env: { ...withoutCredentials(variables), ...plain, UV_CACHE_DIR: at(cache) },
      };
    });
  }
}

function wheelsListOf({ listPath }: BuildPlace): string {
  return join(dirname(listPath), "wheels.txt");
}

function builtListOf({ listPath }: BuildPlace): string {
  return join(dirname(listPath), "built.txt");
}

/** Runs `uv pip` with the network and what it downloads in `cacheDir`. */
type RunUv = (
  steps: BuildSteps,
  place: BuildPlace,
  args: readonly string[],
  watch: StepWatch & { readonly hidden?: readonly string[]; readonly cacheDir?: string },
) => Promise<StepResult>;

/** What is downloaded counts once, although it is unpacked too. */
function inCache({ ownDir }: BuildPlace): StepWatch {
  return { dir: join(ownDir, "cache") };
}

/**
 * uv's part in building from source. It may download sources, and would run them to learn about them; so the interpreter
 * has no standard library where uv has the network, and cannot start. uv knows the interpreter from asking it before.
 */
function createUvSteps(online: RunUv, sources: readonly string[]): UvSteps {
  const prepare = async (steps: BuildSteps, place: BuildPlace, cacheDir?: string): Promise<{ hidden: string[] }> => {
    await online(steps, place, ["list", "--python", place.python.path], {
      quiet: true,
      ...(cacheDir === undefined ? {} : { cacheDir }),
    });
    return { hidden: await findInterpreterFolders(steps, place) };
  };
  const unbuilt = ["--no-build-isolation"];

  return {
    async compile(steps, place, configDir) {
      const result = join(place.ownDir, "resolved.txt");
      const args = ["compile", "--project", configDir, ...sources, ...unbuilt, ...COMPILE];
      const files = ["--python", place.python.path, "--output-file", result, place.listPath];
      const outcome = await online(steps, place, [...args, ...files], {
        ...(await prepare(steps, place)),
        quiet: true,
      });
      return { ...outcome, text: outcome.code === 0 ? await readFile(result, "utf8") : "" };
    },

    async fetchLocked(steps, place) {
      const target = ["--target", join(place.ownDir, "unpacked"), "--python", place.python.path];
      const args = [
        "install",
        ...sources,
        ...unbuilt,
        "--no-deps",
        "--require-hashes",
        ...target,
        "-r",
        place.listPath,
      ];
      return online(steps, place, args, { ...(await prepare(steps, place)), ...inCache(place), quiet: true });
    },

    async fetchSource(steps, place, { name, version, hashes }, cacheDir) {
      const listPath = join(dirname(place.listPath), "source.txt");
      const list = hashes === undefined ? `${name}==${version}\n` : writeLock([{ name, version, hashes }]);
      await writePublic(listPath, list);
      const target = ["--target", join(place.ownDir, "tmp", "unpacked"), "--python", place.python.path];
      const checked = hashes === undefined ? [] : ["--require-hashes"];
      const args = ["install", ...sources, ...unbuilt, "--no-deps", "--no-binary", name, ...checked, ...target];
      const hidden = await prepare(steps, place, cacheDir);
      return online(steps, place, [...args, "-r", listPath], { ...hidden, cacheDir, quiet: true });
    },

    fetchTools(steps, place, listPath, targetDir) {
      const target = ["--target", targetDir, "--python", place.python.path];
      return online(steps, place, ["install", ...sources, ...WHEELS_ONLY, ...target, "-r", listPath], {});
    },
  };
}
