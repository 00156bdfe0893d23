// The Python, the user, the uv and the package index of the tests in this folder.
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "@jest/globals";
import {
  createEnvironments,
  type Environments,
  type EnvironmentsSettings,
  type Python,
} from "../../environments/builder.ts";
import { type Requirements, readRequirements } from "../../environments/requirements.ts";
import { removeTree } from "../../system/trees/remove-tree.ts";

const UV_VERSION = "0.13.8";
const DESCRIBE =
  "import json,platform,sys,sysconfig; print(json.dumps([sys.executable, platform.python_version(), sys.base_prefix, sysconfig.get_platform()]))";

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await removeTree(folder);
});

const isRoot = process.getuid?.() === 0;
const askId = (flag: string): number => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));

/** Whom installers and sandboxes run as: an unprivileged user when we are root, ourselves otherwise. */
export const RUN_AS = isRoot ? { uid: askId("-u"), gid: askId("-g") } : undefined;

/** The system's Python where there is one: root's own may be where nobody else can read it. */
export const PYTHON = describePython(existsSync("/usr/bin/python3") ? "/usr/bin/python3" : "python3");

function describePython(command: string): Python {
  const [path, version, prefix, platform] = JSON.parse(
    execFileSync(command, ["-I", "-c", DESCRIBE], { encoding: "utf8" }),
  ) as string[];
  const bindPaths = prefix === undefined || prefix.startsWith("/usr") ? [] : [prefix];
  return {
    path: realpathSync(path ?? ""),
    version: version ?? "",
    prefix: prefix ?? "",
    platform: platform ?? "",
    bindPaths,
  };
}

/** A folder that every user may enter, gone after this test file. */
export function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "treadle-environments-"));
  chmodSync(folder, 0o755);
  folders.push(folder);
  return folder;
}

/** uv from the package index, readable by everybody, installed once a machine. */
export function findUv(): { path: string } {
  const folder = join(tmpdir(), `treadle-tests-uv-${UV_VERSION}`);
  const path = join(folder, "bin/uv");
  if (!existsSync(path)) {
    const draft = mkdtempSync(`${folder}.`);
    execFileSync("python3", ["-m", "pip", "install", "--quiet", "--target", draft, `uv==${UV_VERSION}`], {
      stdio: "inherit",
    });
    execFileSync("chmod", ["-R", "a+rX", draft]);
    if (!existsSync(path)) renameSync(draft, folder);
  }
  return { path };
}

/** What the machine says about its package index, for the few tests that ask the real one. */
export const MACHINE_SETTINGS = process.env;

/** Settings under which only one local folder has packages. */
export function onlyFrom(folder: string): Record<string, string> {
  return { PATH: process.env.PATH ?? "", PIP_NO_INDEX: "1", PIP_FIND_LINKS: folder };
}

export interface TestEnvironments extends Environments {
  readonly dir: string;
  /** Environments that were really built. */
  readonly builds: string[];
}

export function someEnvironments(
  changes: Partial<EnvironmentsSettings> & Pick<EnvironmentsSettings, "env">,
): TestEnvironments {
  const dir = changes.dir ?? join(aFolder(), "environments");
  const builds: string[] = [];
  const log = {
    info: (facts: { event?: string; environment?: string }) =>
      facts.event === "environment.built" && builds.push(String(facts.environment)),
    warn: () => {},
  };
  const base = {
    dir,
    python: PYTHON,
    uv: findUv(),
    bwrapPath: "bwrap",
    isolation: "bubblewrap" as const,
    runAs: RUN_AS,
    users: undefined,
    log,
  };
  return { ...createEnvironments({ ...base, ...changes }), dir, builds };
}

export function theRequirements(...lines: string[]): Requirements {
  const reading = readRequirements([{ path: "requirements.txt", content: Buffer.from(lines.join("\n")) }]);
  if (!reading.ok || reading.requirements === null) throw new Error(`no requirements: ${JSON.stringify(reading)}`);
  return reading.requirements;
}

/** Locks requirements that are known to be good. */
export async function lockOf(environments: Environments, ...lines: string[]): Promise<{ key: string; lock: string }> {
  const result = await environments.lock(theRequirements(...lines));
  if (!result.ok) throw new Error(JSON.stringify(result));
  return result;
}

export interface Package {
  readonly name: string;
  readonly version?: string;
  /** Text by path in the package's archive. */
  readonly files?: Record<string, string>;
  readonly requires?: readonly string[];
  /** Console scripts, such as `{ greet: "hello:main" }`. */
  readonly scripts?: Record<string, string>;
}

const WRITE_PACKAGES = `
import io, json, os, sys, tarfile, zipfile
folder, packages, kind = json.loads(sys.argv[1])
for p in packages:
    name, version = p["name"], p.get("version", "1.0")
    meta = "Metadata-Version: 2.1\\nName: %s\\nVersion: %s\\n" % (name, version)
    meta += "".join("Requires-Dist: %s\\n" % r for r in p.get("requires", []))
    files = dict(p.get("files", {}))
    if kind == "sdist":
        root = "%s-%s/" % (name, version)
        with tarfile.open(os.path.join(folder, root[:-1] + ".tar.gz"), "w:gz") as tar:
            for path, text in {"PKG-INFO": meta, **files}.items():
                info = tarfile.TarInfo(root + path)
                data = text.encode()
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        continue
    info = "%s-%s.dist-info/" % (name, version)
    files[info + "METADATA"] = meta
    files[info + "WHEEL"] = "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    if p.get("scripts"):
        files[info + "entry_points.txt"] = "[console_scripts]\\n" + "".join("%s = %s\\n" % s for s in p["scripts"].items())
    files[info + "RECORD"] = "".join("%s,,\\n" % path for path in [*files, info + "RECORD"])
    with zipfile.ZipFile(os.path.join(folder, "%s-%s-py3-none-any.whl" % (name, version)), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, text in files.items():
            wheel.writestr(zipfile.ZipInfo(path), text * p.get("times", 1) if path.endswith(".big") else text)
`;

/** A folder that serves as package index, with these wheels. */
export function anIndex(...wheels: (Package & { times?: number })[]): string {
  const folder = join(aFolder(), "index");
  mkdirSync(folder);
  addPackages(folder, "wheel", wheels);
  return folder;
}

export function addPackages(folder: string, kind: "wheel" | "sdist", packages: readonly Package[]): void {
  execFileSync(PYTHON.path, ["-c", WRITE_PACKAGES, JSON.stringify([folder, packages, kind])]);
  execFileSync("chmod", ["-R", "a+rX", folder]);
}

/** Runs code with an environment as sandboxes do: read-only at `/env`, as the unprivileged user. */
export function runWith(environmentDir: string, command: readonly string[]): string {
  const places = [
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--symlink",
    "usr/bin",
    "/bin",
  ];
  const binds = PYTHON.bindPaths.flatMap((path) => ["--ro-bind", path, path]);
  const args = [
    "--unshare-all",
    "--clearenv",
    "--setenv",
    "PATH",
    "/env/bin:/usr/bin",
    ...places,
    ...binds,
    "--ro-bind",
    environmentDir,
    "/env",
  ];
  return execFileSync("bwrap", [...args, "--", ...command], {
    encoding: "utf8",
    ...RUN_AS,
    stdio: ["ignore", "pipe", "pipe"],
  });
}
