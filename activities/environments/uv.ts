import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Binding, confineWithNetwork, type Program } from "./confinement.ts";
import { type BuildPlace, type Installer, PATH, runInEnvironment } from "./installer.ts";
import { parseLock } from "./lock.ts";
import {
  localFoldersOf,
  toUvArguments,
  toUvVariables,
  type Variables,
  withoutCredentials,
} from "./package-settings.ts";

const WHEELS_ONLY = ["--only-binary", ":all:"];
/** One pinned package a line, nothing taken from elsewhere, every file checked. */
const LOCKED = ["--no-deps", "--require-hashes", ...WHEELS_ONLY];
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

  const online = (place: BuildPlace, args: readonly string[]): Program => {
    const { ownDir, confinement } = place;
    const folders = { PATH, HOME: ownDir, TMPDIR: join(ownDir, "tmp"), UV_CACHE_DIR: join(ownDir, "cache") };
    const program = { command: uv.path, args, env: { ...variables, ...plain, ...folders } };
    return confineWithNetwork(confinement, program, ownDir);
  };

  return {
    name: `uv ${uv.version}`,

    async resolve(steps, place) {
      const result = join(place.ownDir, "resolved.txt");
      const options = [
        "--generate-hashes",
        ...WHEELS_ONLY,
        "--no-header",
        "--no-annotate",
        "--quiet",
        "--python",
        place.python.path,
      ];
      const program = online(place, [
        "pip",
        "compile",
        ...sources,
        ...options,
        "--output-file",
        result,
        place.listPath,
      ]);
      const { code, output } = await steps.run(program, { dir: place.ownDir });
      if (code !== 0) return { ok: false, output };
      return { ok: true, pins: parseLock(await readFile(result, "utf8")) };
    },

    fetch(steps, place) {
      const target = ["--target", join(place.ownDir, "unpacked"), "--python", place.python.path];
      const program = online(place, ["pip", "install", ...sources, ...target, ...LOCKED, "-r", place.listPath]);
      return steps.run(program, { dir: join(place.ownDir, "cache") });
    },

    install(steps, place) {
      const tool: Binding = { from: uv.path, to: TOOL };
      const cache: Binding = { ...CACHE, from: join(place.ownDir, "cache") };
      const folders = localFoldersOf(variables).map((path) => ({ from: path, to: path }));
      return runInEnvironment(steps, place, [tool, cache, ...folders], ({ environmentDir, listPath, at }) => ({
        command: at(tool),
        args: [
          "pip",
          "install",
          "--offline",
          ...sources,
          ...LOCKED,
          "--python",
          join(environmentDir, "bin/python3"),
          "-r",
          listPath,
        ],
        env: { ...withoutCredentials(variables), ...plain, UV_CACHE_DIR: at(cache) },
      }));
    },
  };
}
