import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { createReport, readDependencyList } from "./dependency-list.ts";
import { decodeText } from "./text-files.ts";
import { readToml, tableOf } from "./toml.ts";

const PROJECT_BYTES_MAX = 256 * 1024;
const FOLDERS_DEEP_MAX = 8;
const BACKEND = /^[A-Za-z_][A-Za-z0-9_.]*(?::[A-Za-z_][A-Za-z0-9_.]*)?$/;

/** What a package's source says about how it is built. */
export interface BuildSystem {
  readonly requires: readonly string[];
  readonly backend: string;
  /** Folders of the source that the backend may be imported from. */
  readonly backendPath: readonly string[];
}

/** Of a source without `[build-system]`: what setuptools made of a `setup.py` before there was one. */
const LEGACY: BuildSystem = {
  requires: ["setuptools>=40.8.0", "wheel"],
  backend: "setuptools.build_meta:__legacy__",
  backendPath: [],
};

/**
 * The one source folder in an installer's cache: `…/src` below a folder for sources, as every uv that knows that name lays
 * it out. Follows no link. Undefined when there is none.
 */
export async function findSourceFolder(cacheDir: string, depth = 0): Promise<string | undefined> {
  if (depth > FOLDERS_DEEP_MAX) return undefined;
  for (const entry of await readdir(cacheDir, { withFileTypes: true })) {
    if (!entry.isDirectory() || (depth === 0 && !entry.name.startsWith("sdists-"))) continue;
    const path = join(cacheDir, entry.name);
    const found = entry.name === "src" ? path : await findSourceFolder(path, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Reads `[build-system]` of a source's `pyproject.toml`. A text says what is wrong with it. */
export async function readBuildSystem(sourceDir: string): Promise<BuildSystem | string> {
  const path = join(sourceDir, "pyproject.toml");
  if ((await lstat(path).catch(() => undefined)) === undefined) return LEGACY;
  const content = await readForeignFile(path, PROJECT_BYTES_MAX);
  const decoded = content === undefined ? undefined : decodeText(content, PROJECT_BYTES_MAX);
  if (decoded?.ok !== true) return "its pyproject.toml cannot be read";
  const toml = readToml(decoded.text);
  if (!toml.ok) return `its pyproject.toml is no valid TOML (line ${toml.line})`;
  const system = tableOf(toml.table, "build-system");
  if (system === undefined) return LEGACY;
  const { problems, report } = createReport("pyproject.toml");
  const list = readDependencyList(system.requires, "build-system.requires", toml.findPlace("build-system"), report);
  const [problem] = problems;
  if (problem !== undefined) return `its build-system.requires cannot be used: ${problem.message}`;
  const backend = system["build-backend"] ?? LEGACY.backend;
  const backendPath = system["backend-path"] ?? [];
  if (typeof backend !== "string" || !BACKEND.test(backend)) return "its build-backend is not understood";
  if (!Array.isArray(backendPath) || backendPath.some((each) => typeof each !== "string"))
    return "its backend-path is not understood";
  return { requires: list.map(({ text }) => text), backend, backendPath: backendPath as string[] };
}

/** A plain file that foreign code may have made, or undefined: never through a link, never from a pipe, never too much. */
export async function readForeignFile(path: string, bytesMax: number): Promise<Buffer | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  );
  try {
    const stats = await file?.stat();
    if (file === undefined || stats?.isFile() !== true || stats.size > bytesMax) return undefined;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size), 0, stats.size, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file?.close();
  }
}
