import { access, constants, readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { minorVersionOf } from "../sandbox/interpreter.ts";
import type { Python } from "./lock.ts";

/** The oldest Python that a manifest may ask for is 3.10; see `docs/manifest.md`. */
const LEAST_MINOR = 10;
/** No interpreter of these is made yet; a name more costs one look into a folder. */
const NEWEST_MINOR = 19;
const USUAL_FOLDERS = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];

export interface InterpreterSearch {
  /** The interpreter of commits that ask for no version. */
  readonly standard: Python;
  /** Starts an interpreter as programs will, and asks it for itself. Otherwise answers why it cannot be used. */
  readonly examine: (path: string) => Promise<Python | string>;
  /** `PATH`, and where uv keeps its Pythons: `UV_PYTHON_INSTALL_DIR`, `XDG_DATA_HOME`, `HOME`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Looked into after the `PATH`; what tests replace. */
  readonly usualFolders?: readonly string[];
}

/** The Pythons that commits can run with on this machine, one for each minor version. */
export interface Interpreters {
  readonly standard: Python;
  /** The one for a `python` of a manifest; null asks for the standard one. Looks at the machine when it knows none. */
  find(minorVersion: string | null): Promise<Python | undefined>;
  /** All there are now, oldest first. */
  list(): Promise<readonly Python[]>;
}

/** Interpreters of this machine that the unprivileged user can start: the system's, and those uv has installed. Nothing is ever downloaded. */
export function createInterpreters(search: InterpreterSearch): Interpreters {
  const { standard } = search;
  const known = new Map([[minorVersionOf(standard), standard]]);
  let looking: Promise<void> | undefined;

  function look(): Promise<void> {
    looking ??= findAll(search)
      .then((pythons) => {
        for (const minor of known.keys()) if (minor !== minorVersionOf(standard)) known.delete(minor);
        for (const python of pythons) {
          const minor = minorVersionOf(python);
          if (!known.has(minor)) known.set(minor, python);
        }
      })
      .finally(() => {
        looking = undefined;
      });
    return looking;
  }

  return {
    standard,
    async find(minorVersion) {
      if (minorVersion === null) return standard;
      const python = known.get(minorVersion);
      // An update by uv puts the next patch version into another folder and removes this one.
      if (python !== undefined && (python === standard || (await isProgram(python.path)))) return python;
      await look();
      return known.get(minorVersion);
    },
    async list() {
      await look();
      return [...known.values()].sort((a, b) => minorOf(a) - minorOf(b));
    },
  };
}

async function findAll(search: InterpreterSearch): Promise<Python[]> {
  const pythons: Python[] = [];
  const seen = new Set<string>();
  for (const path of await listCandidates(search)) {
    const target = await realpath(path).catch(() => path);
    if (seen.has(target)) continue;
    seen.add(target);
    const python = await search.examine(path);
    if (typeof python !== "string") pythons.push(python); // otherwise a shim of another tool, or not for our user
  }
  return pythons;
}

/** Programs called `python3.N`: on the PATH, in the usual folders, and where uv has installed them, newest patch first. */
async function listCandidates({ env, usualFolders = USUAL_FOLDERS }: InterpreterSearch): Promise<string[]> {
  const onPath = (env.PATH ?? "").split(":").filter((folder) => folder.startsWith("/"));
  const folders = [...onPath, ...usualFolders, ...(await listManaged(env))];
  const names = Array.from({ length: NEWEST_MINOR - LEAST_MINOR + 1 }, (_, index) => `python3.${LEAST_MINOR + index}`);
  const found: string[] = [];
  for (const folder of new Set(folders)) {
    const inside = new Set(await readdir(folder).catch(() => []));
    for (const name of names) {
      const path = join(folder, name);
      if (inside.has(name) && (await isProgram(path))) found.push(path);
    }
  }
  return found;
}

/** Folders of uv's own Pythons, each `cpython-3.12.4-linux-x86_64-gnu/bin`. */
async function listManaged(env: InterpreterSearch["env"]): Promise<string[]> {
  const data = env.XDG_DATA_HOME ?? (env.HOME === undefined ? undefined : join(env.HOME, ".local/share"));
  const dir = env.UV_PYTHON_INSTALL_DIR ?? (data === undefined ? undefined : join(data, "uv/python"));
  if (dir === undefined || !dir.startsWith("/")) return [];
  const names = await readdir(dir).catch(() => []);
  const installed = names.filter((name) => /^cpython-3\.\d+\.\d+-/.test(name));
  const patchOf = (name: string): number => Number(/^cpython-3\.\d+\.(\d+)/.exec(name)?.[1]);
  return installed.sort((a, b) => patchOf(b) - patchOf(a)).map((name) => join(dir, name, "bin"));
}

function minorOf({ version }: Python): number {
  return Number(version.split(".")[1]);
}

async function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
