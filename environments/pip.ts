import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { EnvironmentError } from "./build-steps.ts";
import { type Binding, confineWithNetwork, type Program } from "./confinement.ts";
import { type BuildContext, type Installer, PATH, runInEnvironment } from "./installer.ts";
import type { Pin } from "./lock.ts";
import { toPipVariables, type Variables } from "./package-settings.ts";

const WHEELS_ONLY = ["--only-binary", ":all:"];
const QUIET = ["--disable-pip-version-check", "--no-input", "--no-cache-dir", "--progress-bar", "off", "--no-color"];
const WHEELS: Omit<Binding, "from"> = { to: "/wheels" };
/**
 * Starts pip so that it cannot start anything else. A wheel may ask for another package by URL. pip would fetch its
 * source and run its setup.py in spite of `--only-binary`. Without processes it cannot. Not for root, whom the limit
 * does not bind: the installers never run as root where there is anybody else.
 */
const PIP_ALONE = `
import sys, runpy
import resource
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
`;

const NEEDS_UV =
  "build: source needs uv, which this installation has not. Let its operator install uv, or remove build: source and name packages that have wheels.";

/** A pip that any Python can run: the folder of the package, or the same folder inside its wheel. */
export interface Pip {
  readonly path: string;
  readonly version: string;
}

/** The installer that uses a pip of the machine. Slower than uv, and it downloads twice: once to lock, once to build. */
export function createPip(pip: Pip, settings: Variables): Installer {
  const variables = toPipVariables(settings);

  const online = (context: BuildContext, args: readonly string[]): Program => {
    const { ownDir, confinement, python } = context;
    const env = { ...variables, PATH, HOME: ownDir, TMPDIR: join(ownDir, "tmp") };
    const program = {
      command: python.path,
      args: ["-I", "-c", PIP_ALONE, pip.path, "download", ...QUIET, ...WHEELS_ONLY, ...args],
      env,
    };
    return confineWithNetwork(confinement, program, ownDir);
  };

  return {
    name: `pip ${pip.version}`,

    async resolve(steps, context) {
      if (context.build === "source") throw new EnvironmentError("refused", NEEDS_UV, steps.log());
      const wheelsDir = join(context.ownDir, "wheels");
      const program = online(context, ["--dest", wheelsDir, "-r", context.listPath]);
      const { code, output } = await steps.run(program, { dir: context.ownDir });
      if (code !== 0) return { ok: false, output };
      const names = await readdir(wheelsDir);
      return { ok: true, pins: await Promise.all(names.map((name) => pinWheel(wheelsDir, name))) };
    },

    async fetch(steps, context) {
      if (context.build === "source") throw new EnvironmentError("refused", NEEDS_UV, steps.log());
      const wheelsDir = join(context.ownDir, "wheels");
      const program = online(context, ["--no-deps", "--require-hashes", "--dest", wheelsDir, "-r", context.listPath]);
      return steps.run(program, { dir: context.ownDir });
    },

    install(steps, context) {
      const isWheel = dirname(pip.path).endsWith(".whl");
      const tool: Binding = isWheel
        ? { from: dirname(pip.path), to: "/tools/pip.whl" }
        : { from: pip.path, to: "/tools/pip" };
      const wheels: Binding = { ...WHEELS, from: join(context.ownDir, "wheels") };
      return runInEnvironment(steps, context, [tool, wheels], ({ environmentDir, listPath, at }) => {
        const source = ["--no-index", "--find-links", at(wheels), "--no-deps", "--require-hashes", ...WHEELS_ONLY];
        const quiet = [...QUIET, "--no-compile", "--no-warn-script-location"];
        return {
          command: join(environmentDir, "bin/python3"),
          args: ["-I", isWheel ? `${at(tool)}/pip` : at(tool), "install", ...quiet, ...source, "-r", listPath],
          env: { PIP_CONFIG_FILE: "/dev/null" },
        };
      });
    },
  };
}

/** Name and version are the first two parts of a wheel's file name; neither can hold a hyphen there. */
async function pinWheel(folder: string, fileName: string): Promise<Pin> {
  const [name, version] = fileName.split("-");
  if (name === undefined || version === undefined || !fileName.endsWith(".whl")) {
    throw new Error(`pip downloaded ${JSON.stringify(fileName)}, which is no wheel.`);
  }
  const hash = createHash("sha256");
  await pipeline(createReadStream(join(folder, fileName)), hash);
  return { name, version, hashes: [hash.digest("hex")] };
}
