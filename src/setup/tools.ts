import { listPrograms } from "./programs.ts";
import type { RunAs } from "./servers/child.ts";
import type { RunCommand } from "./servers/command.ts";
import { installPackage, type PackageNames } from "./system-packages.ts";
import { SYSTEM_PATH } from "./user.ts";

const VERSION_TIMEOUT_MS = 5_000;

/** A program of the system that sandboxes are made with. */
export interface ToolNeed {
  readonly command: string;
  readonly purpose: string;
  readonly packages: PackageNames;
}

const SANDBOX_TOOLS: readonly ToolNeed[] = [
  {
    command: "bwrap",
    purpose: "bubblewrap makes the sandboxes that programs run in",
    packages: { "apt-get": "bubblewrap", dnf: "bubblewrap", apk: "bubblewrap" },
  },
];

export interface Tool {
  readonly path: string;
  readonly version: string;
}

export interface Tools {
  /** By command. */
  readonly found: Readonly<Record<string, Tool>>;
  /** What is missing, what for, and what to do. */
  readonly problems: readonly string[];
}

/**
 * Finds each tool where `runAs` can execute it, and installs what is missing where that is possible and allowed. Never
 * rejects because of a missing tool: whether to go on without is the caller's decision.
 */
export async function prepareTools(deps: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isRoot: boolean;
  readonly mayInstall: boolean;
  readonly runAs: RunAs | undefined;
  readonly report: (line: string) => void;
  readonly run: RunCommand;
  readonly needs?: readonly ToolNeed[];
  readonly install?: typeof installPackage;
}): Promise<Tools> {
  const found: Record<string, Tool> = {};
  const problems: string[] = [];
  for (const need of deps.needs ?? SANDBOX_TOOLS) {
    let tool = await findTool(need.command, deps);
    if (tool === undefined) {
      const outcome = await (deps.install ?? installPackage)(need.packages, deps);
      tool = outcome.kind === "installed" ? await findTool(need.command, deps) : undefined;
      if (tool === undefined) {
        const advice = outcome.kind === "installed" ? "It was installed, but cannot be executed." : outcome.problem;
        problems.push(`${need.command} is missing: ${need.purpose}. ${advice}`);
      } else deps.report(`Installed ${need.command} ${tool.version}.`);
    }
    if (tool !== undefined) found[need.command] = tool;
  }
  return { found, problems };
}

/** The first program of this name that this user can execute, with what it says its version is. */
async function findTool(
  command: string,
  { env, runAs, run }: { env: Readonly<Record<string, string | undefined>>; runAs: RunAs | undefined; run: RunCommand },
): Promise<Tool | undefined> {
  for (const path of await listPrograms(command, `${env.PATH ?? ""}:${SYSTEM_PATH}`)) {
    const { code, stdout } = await run(path, ["--version"], {
      env: { PATH: SYSTEM_PATH },
      runAs,
      timeoutMs: VERSION_TIMEOUT_MS,
    });
    if (code === 0) return { path, version: /\d+(\.\d+)+/.exec(stdout)?.[0] ?? "unknown" };
  }
  return undefined;
}
