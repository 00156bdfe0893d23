import { type BuildSteps, EnvironmentError } from "./build-steps.ts";
import { type Confinement, confineWithNetwork } from "./confinement.ts";
import { type Installer, PATH } from "./installer.ts";
import type { Python } from "./lock.ts";
import type { Variables } from "./package-settings.ts";
import { createPip } from "./pip.ts";
import { createUv } from "./uv.ts";

/** pip learned to work for another interpreter, and to say what it would do, in this one. */
const PIP_LEAST = [22, 3];
/** The pip of the interpreter, then the one it would put into a virtual environment. */
const LIST_PIPS = `
import glob, os
try:
    import pip
    print(os.path.dirname(os.path.abspath(pip.__file__)))
except ImportError:
    pass
folders = ["/usr/share/python-wheels"]
try:
    import ensurepip
    folders.insert(0, os.path.join(os.path.dirname(ensurepip.__file__), "_bundled"))
except ImportError:
    pass
for folder in folders:
    for wheel in sorted(glob.glob(os.path.join(folder, "pip-*.whl")), reverse=True):
        print(wheel + "/pip")
`;

export interface InstallerSources {
  readonly confinement: Confinement;
  readonly python: Python;
  readonly uv: { readonly path: string } | undefined;
  /** The machine's package settings; its `PATH`, when given, is where other pips are looked for. */
  readonly settings: Variables;
}

/**
 * The best tool that the unprivileged user can really run here: uv, then a pip of at least 22.3 wherever one is.
 * Throws with what was tried and what to do when there is none. `ownDir` is a folder of that user.
 */
export async function findInstaller(sources: InstallerSources, steps: BuildSteps, ownDir: string): Promise<Installer> {
  const ask = async (command: string, args: readonly string[]): Promise<string | undefined> => {
    const program = {
      command,
      args,
      env: { PATH: sources.settings.PATH ?? PATH, HOME: ownDir, PIP_CONFIG_FILE: "/dev/null" },
    };
    const confined = confineWithNetwork(sources.confinement, program, ownDir);
    const { code, output } = await steps.run(confined, { quiet: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT" && error.code !== "EACCES") throw error;
      return { code: 127, output: error.message };
    });
    if (code !== 0)
      steps.say(`${command} ${args.join(" ").slice(0, 40).trim()}: ${output.trim() || `exit code ${code}`}`);
    return code === 0 ? output : undefined;
  };

  if (sources.uv !== undefined) {
    const version = /^uv (\S+)/.exec((await ask(sources.uv.path, ["--version"])) ?? "")?.[1];
    if (version !== undefined) return createUv({ path: sources.uv.path, version }, sources.settings);
  }
  const { path: python } = sources.python;
  const listings = [
    async () => ((await ask(python, ["-I", "-c", LIST_PIPS])) ?? "").split("\n"),
    ...["pip3", "pip"].map((name) => async () => [
      / from (.+?) \(python/.exec((await ask(name, ["--version"])) ?? "")?.[1] ?? "",
    ]),
  ];
  for (const list of listings) {
    for (const path of (await list()).filter((line) => line.startsWith("/"))) {
      const version = /^pip (\S+)/.exec((await ask(python, ["-I", path, "--version"])) ?? "")?.[1];
      if (version !== undefined && isRecent(version)) return createPip({ path, version }, sources.settings);
    }
  }
  throw new EnvironmentError(
    "no_installer",
    "Python packages cannot be installed on this machine: there is no uv, and no pip of version 22.3 or later, that the service's " +
      "unprivileged user can run. Install uv, or your system's pip package (python3-pip), and publish again.",
    steps.log(),
  );
}

function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [leastMajor = 0, leastMinor = 0] = PIP_LEAST;
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}
