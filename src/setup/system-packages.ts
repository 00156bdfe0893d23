import { listPrograms } from "./programs.ts";
import { withProgress } from "./progress.ts";
import type { RunCommand } from "./servers/command.ts";
import { SYSTEM_PATH } from "./user.ts";

const INSTALL_TIMEOUT_MS = 300_000;

interface PackageManager {
  readonly command: "apt-get" | "dnf" | "apk";
  readonly install: readonly string[];
  /** Fetches the list of packages; needed where a fresh system has none. */
  readonly refresh?: readonly string[];
}

const MANAGERS: readonly PackageManager[] = [
  {
    command: "apt-get",
    install: ["-o", "DPkg::Lock::Timeout=60", "install", "--yes", "--no-install-recommends"],
    refresh: ["update"],
  },
  { command: "dnf", install: ["install", "--assumeyes", "--setopt=install_weak_deps=False"] },
  { command: "apk", install: ["add", "--no-cache"] },
];

/** What a package is called by each package manager. */
export type PackageNames = Readonly<Record<PackageManager["command"], string>>;

export type InstallOutcome =
  | { readonly kind: "installed" }
  /** Why not, and the one command that a person can type. */
  | { readonly kind: "not_installed"; readonly problem: string };

/**
 * Installs a package with the system's package manager, without questions, and says so. It does not when that is
 * forbidden (`TREADLE_INSTALL=never`), when we are not root, or without a manager known here. Then it returns what to
 * type.
 */
export async function installPackage(
  names: PackageNames,
  deps: {
    readonly isRoot: boolean;
    readonly mayInstall: boolean;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly report: (line: string) => void;
    readonly run: RunCommand;
    /** Where the package managers are looked for. */
    readonly path?: string;
  },
): Promise<InstallOutcome> {
  const { isRoot, mayInstall, report, run } = deps;
  const manager = await findManager(deps.path ?? SYSTEM_PATH);
  if (manager === undefined) {
    return { kind: "not_installed", problem: `Install ${names["apt-get"]} with this system's package manager.` };
  }
  const { command } = manager;
  const advice = `Install it: ${isRoot ? "" : "sudo "}${command} ${command === "apk" ? "add" : "install"} ${names[command]}`;
  if (!mayInstall)
    return { kind: "not_installed", problem: `${advice} (TREADLE_INSTALL=never keeps Treadle from doing it.)` };
  if (!isRoot) return { kind: "not_installed", problem: advice };

  const env = { ...deps.env, PATH: SYSTEM_PATH, DEBIAN_FRONTEND: "noninteractive" };
  const attempt = (args: readonly string[]) => run(command, args, { env, timeoutMs: INSTALL_TIMEOUT_MS });
  const result = await withProgress(
    { report, what: `Installing ${names[command]} with ${command}`, usual: "5 to 60 s" },
    async () => {
      const first = await attempt([...manager.install, names[command]]);
      if (first.code === 0 || manager.refresh === undefined) return first;
      await attempt(manager.refresh);
      return attempt([...manager.install, names[command]]);
    },
  );
  if (result.code === 0) return { kind: "installed" };
  const said = result.tail.filter((line) => /^E:|error|unable|not found|could not|failed/i.test(line)).slice(-3);
  return {
    kind: "not_installed",
    problem: `${command} could not install ${names[command]}: ${said.join(" ") || `exit code ${result.code}`}. ${advice}`,
  };
}

async function findManager(path: string): Promise<PackageManager | undefined> {
  for (const manager of MANAGERS) {
    if ((await listPrograms(manager.command, path)).length > 0) return manager;
  }
  return undefined;
}
