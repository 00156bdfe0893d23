import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import type { Python } from "../../environments/lock.ts";
import { examinePython } from "../../src/setup/python.ts";
import { runCommand } from "../../src/setup/servers/command.ts";

/** Not /tmp, which is empty in every sandbox. */
const COPIES = "/var/tmp";
const NOT_NEEDED = new Set([
  "site-packages",
  "dist-packages",
  "test",
  "idlelib",
  "tkinter",
  "ensurepip",
  "__pycache__",
]);
const DESCRIBE =
  "import json, sys; print(json.dumps([sys.executable, '%d.%d' % sys.version_info[:2], '.'.join(map(str, sys.version_info[:3])), sys.base_prefix]))";

export interface TwoPythons {
  readonly standard: Python;
  /** Another interpreter with another minor version. */
  readonly second: Python;
}

/**
 * Two interpreters that the unprivileged user can start. The second is of another version where this machine has one
 * anywhere; it is copied to where everybody can read it. Where there is only one Python, the standard one is a copy of it
 * that is said to be 3.99, which nothing of it then is asked to prove.
 */
export async function findTwoPythons(
  python: Python,
  runAs: { uid: number; gid: number } | undefined,
): Promise<TwoPythons> {
  const minor = python.version.split(".").slice(0, 2).join(".");
  for (const program of listPrograms()) {
    const facts = describe(program);
    if (facts === undefined || facts.minor === minor || Number(facts.minor.split(".")[1]) < 10) continue;
    const second = await examinePython(copyIntoReach(facts), { env: {}, runAs, run: runCommand });
    if (typeof second !== "string") return { standard: python, second };
  }
  const own = describe(python.path);
  if (own === undefined) throw new Error(`${python.path} does not start.`);
  const copy = await examinePython(copyIntoReach(own), { env: {}, runAs, run: runCommand });
  if (typeof copy === "string") throw new Error(`A copy of ${python.path} cannot be used: ${copy}.`);
  return { standard: { ...copy, version: "3.99.0" }, second: python };
}

function listPrograms(): string[] {
  const home = process.env.HOME ?? "/nonexistent";
  const managed = [join(home, ".pyenv/versions"), join(home, ".local/share/uv/python")].flatMap((folder) =>
    existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name, "bin")) : [],
  );
  const folders = [...(process.env.PATH ?? "").split(":"), "/usr/bin", "/usr/local/bin", ...managed];
  return folders.filter(existsSync).flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => /^python3\.\d+$/.test(name))
      .map((name) => join(folder, name)),
  );
}

interface Facts {
  readonly path: string;
  readonly minor: string;
  readonly version: string;
  readonly prefix: string;
}

function describe(program: string): Facts | undefined {
  try {
    const text = execFileSync(program, ["-I", "-c", DESCRIBE], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [path = "", minor = "", version = "", prefix = ""] = JSON.parse(text) as string[];
    return { path, minor, version, prefix };
  } catch {
    return undefined;
  }
}

/** Program, standard library and shared libraries, once a machine. */
function copyIntoReach({ path, minor, version, prefix }: Facts): string {
  const folder = join(COPIES, `treadle-tests-python-${version}`);
  const program = join(folder, `bin/python${minor}`);
  if (existsSync(program)) return program;
  const draft = mkdtempSync(`${folder}.`);
  const library = `lib/python${minor}`;
  for (const name of ["bin", "lib"]) mkdirSync(join(draft, name));
  cpSync(join(prefix, library), join(draft, library), {
    recursive: true,
    dereference: true,
    filter: (from) => !NOT_NEEDED.has(basename(from)),
  });
  for (const name of readdirSync(join(prefix, "lib")).filter((each) => each.startsWith(`libpython${minor}`)))
    cpSync(join(prefix, "lib", name), join(draft, "lib", name), { dereference: true });
  writeFileSync(join(draft, `bin/python${minor}`), relocate(readFileSync(path), `${prefix}/lib`), { mode: 0o755 });
  execFileSync("chmod", ["-R", "a+rX", draft]);
  chmodSync(draft, 0o755);
  if (!existsSync(program)) renameSync(draft, folder);
  return program;
}

/** The program looking for its shared library beside itself, where it names a folder of the build. */
function relocate(program: Buffer, libraryDir: string): Buffer {
  const name = Buffer.from(`\0${libraryDir}\0`);
  const at = program.indexOf(name);
  const beside = "$ORIGIN/../lib";
  if (at >= 0 && libraryDir.length >= beside.length)
    program.write(beside.padEnd(libraryDir.length, "\0"), at + 1, "latin1");
  return program;
}
