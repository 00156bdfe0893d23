import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname } from "node:path";
import type { Python } from "../../environments/lock.ts";
import { listPrograms } from "./programs.ts";
import type { RunAs } from "./servers/child.ts";
import type { RunCommand } from "./servers/command.ts";
import type { InstallOutcome } from "./system-packages.ts";
import { installPackage } from "./system-packages.ts";

const PROBE_TIMEOUT_MS = 10_000;
const NAMES = ["python3.13", "python3.12", "python3.11", "python3.10", "python3"];
const USUAL_FOLDERS = "/usr/bin:/usr/local/bin:/opt/homebrew/bin";
const VERSION_MIN = [3, 10] as const;
const PACKAGES = { "apt-get": "python3", dnf: "python3", apk: "python3" };

/** Asks an interpreter for itself: of a virtual environment or a wrapper script, for the real one behind it. */
const PROBE = `
import json, os, sys, sysconfig
try:
    libc = os.confstr("CS_GNU_LIBC_VERSION").replace(" ", "")
except (ValueError, OSError, AttributeError):
    libc = ""
of = sysconfig.get_config_var
library = os.path.join(of("LIBDIR") or "", of("LDLIBRARY") or "") if of("Py_ENABLE_SHARED") else ""
print(json.dumps({
    "executable": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
    "version": list(sys.version_info[:3]),
    "implementation": sys.implementation.name,
    "prefix": sys.base_prefix,
    # One that was moved since it was built, as those of uv are, names a library folder that is not there.
    "folders": [path for path in (sys.base_exec_prefix, sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.dirname(library)) if os.path.isdir(path)],
    "platform": sysconfig.get_platform() + "-" + (libc or ("musl" if "musl" in str(of("SOABI")) else "libc")),
}))
`;

interface Answer {
  readonly executable: string;
  readonly version: readonly [number, number, number];
  readonly implementation: string;
  readonly prefix: string;
  readonly folders: readonly string[];
  readonly platform: string;
}

export interface PythonOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly runAs: RunAs | undefined;
  readonly isRoot: boolean;
  readonly mayInstall: boolean;
  readonly report: (line: string) => void;
  readonly run: RunCommand;
  /** What tests replace. */
  readonly usualFolders?: string;
  readonly install?: typeof installPackage | undefined;
}

/**
 * The interpreter of all programs: CPython 3.10 or later that `runAs` can really execute. `TREADLE_PYTHON`, which must
 * do when it is set; else the newest known name on PATH, then in the usual folders. Else the system's package, where it
 * may be installed. Rejects with what was tried and what to do.
 */
export async function findPython(options: PythonOptions): Promise<Python> {
  const { TREADLE_PYTHON: named } = options.env;
  if (named !== undefined && named !== "") {
    const answer = await examinePython(named, options);
    if (typeof answer !== "string") return answer;
    throw new Error(`TREADLE_PYTHON is ${named}, but ${answer}. Correct it, or unset it to let Treadle find a Python.`);
  }
  const tried: string[] = [];
  const found = await search(options, tried);
  if (found !== undefined) return found;
  const outcome: InstallOutcome = await (options.install ?? installPackage)(PACKAGES, options);
  if (outcome.kind === "installed") {
    const installed = await search(options, []);
    if (installed !== undefined) {
      options.report(`Installed Python ${installed.version}.`);
      return installed;
    }
  }
  const list =
    tried.map((line) => `\n  - ${line}`).join("") || " nothing: no python3 on the PATH or in the usual folders.";
  const advice = outcome.kind === "installed" ? "The system's own Python is too old, too." : outcome.problem;
  throw new Error(
    `No Python ${VERSION_MIN.join(".")} or later to run programs with. Tried:${list}\n${advice} Or set TREADLE_PYTHON to one.`,
  );
}

async function search(options: PythonOptions, tried: string[]): Promise<Python | undefined> {
  const path = `${options.env.PATH ?? ""}:${options.usualFolders ?? USUAL_FOLDERS}`;
  const seen = new Set<string>();
  for (const name of NAMES) {
    for (const candidate of await listPrograms(name, path)) {
      const target = await realpath(candidate);
      if (seen.has(target)) continue;
      seen.add(target);
      const answer = await examinePython(candidate, options);
      if (typeof answer !== "string") return answer;
      tried.push(`${candidate}: ${answer}`);
    }
  }
  return undefined;
}

/** What an interpreter is when that user starts it, or why it cannot be used. */
export async function examinePython(
  path: string,
  surroundings: Pick<PythonOptions, "env" | "runAs" | "run">,
): Promise<Python | string> {
  const answer = await examine(path, surroundings);
  return typeof answer === "string" ? answer : toPython(answer);
}

/** What the interpreter says of itself when that user starts it, or what is wrong with it. */
async function examine(path: string, options: Pick<PythonOptions, "env" | "runAs" | "run">): Promise<Answer | string> {
  const answer = await ask(path, options);
  if (typeof answer === "string" || answer.executable === path) return answer;
  // The path that sandboxes will start, without what a wrapper script or a virtual environment set up.
  return ask(answer.executable, options);
}

async function ask(
  path: string,
  { env, runAs, run }: Pick<PythonOptions, "env" | "runAs" | "run">,
): Promise<Answer | string> {
  const surroundings = runAs === undefined ? { PATH: env.PATH, HOME: env.HOME } : { PATH: env.PATH };
  const { code, stdout, tail } = await run(path, ["-I", "-S", "-c", PROBE], {
    env: surroundings,
    runAs,
    timeoutMs: PROBE_TIMEOUT_MS,
  });
  if (code !== 0)
    return `${runAs === undefined ? "it cannot" : `user ${runAs.uid}, as which programs run, cannot`} execute it (${tail.at(-1) ?? `code ${code}`})`;
  let answer: Answer;
  try {
    answer = JSON.parse(stdout) as Answer;
  } catch {
    return "it does not answer like a Python";
  }
  const [major, minor] = answer.version;
  if (answer.implementation !== "cpython") return `it is ${answer.implementation}; needed is CPython`;
  if (major !== VERSION_MIN[0] || minor < VERSION_MIN[1])
    return `it is version ${answer.version.join(".")}; needed is ${VERSION_MIN.join(".")} or later`;
  return answer;
}

function toPython(answer: Answer): Python {
  return {
    path: answer.executable,
    version: answer.version.join("."),
    prefix: answer.prefix,
    platform: answer.platform,
    bindPaths: toBindPaths(answer),
  };
}

/**
 * Folders outside `/usr` that a sandbox must show. Of a home or the root of the disk they are only the prefix's parts.
 * Otherwise it is the whole prefix (its `lib` may hold OpenSSL and more).
 */
export function toBindPaths({
  executable,
  prefix,
  folders,
}: Pick<Answer, "executable" | "prefix" | "folders">): string[] {
  const wanted = [prefix, dirname(executable), ...folders].filter(
    (path) => path.startsWith("/") && !isOpenAnyway(path) && !isTooWide(path),
  );
  const unique = [...new Set(wanted)].sort((a, b) => a.length - b.length);
  return unique.filter((path, index) => !unique.slice(0, index).some((above) => path.startsWith(`${above}/`)));
}

/** Every sandbox has `/usr`, and `/bin` and `/lib` as the host has them. */
function isOpenAnyway(path: string): boolean {
  return /^\/(usr|bin|sbin|lib|lib32|lib64|libx32)(\/|$)/.test(path);
}

function isTooWide(path: string): boolean {
  return (
    path === "/" ||
    path === homedir() ||
    /^\/(root|home|opt|srv|var|etc|tmp|Users)$/.test(path) ||
    /^\/(home|Users)\/[^/]+$/.test(path)
  );
}
