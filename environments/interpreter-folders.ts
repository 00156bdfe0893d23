import type { BuildSteps } from "./build-steps.ts";
import { EnvironmentError } from "./build-steps.ts";
import { confineWithNetwork } from "./confinement.ts";
import { type BuildContext, PATH } from "./installer.ts";

const LIST_FOLDERS = `
import json, os, sys, sysconfig
found = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")} | set(sys.path)
print(json.dumps(sorted({os.path.realpath(path) for path in found if path and os.path.isdir(path)})))
`;

/**
 * The folders of the interpreter's standard library. Where they are hidden it cannot start. That is tried here, because
 * nothing else keeps an installer with a network from running what it downloaded. Throws where it starts all the same,
 * and where there are no sandboxes.
 */
export async function findInterpreterFolders(steps: BuildSteps, context: BuildContext): Promise<string[]> {
  const { confinement, ownDir, python } = context;
  const refuse = (reason: string): EnvironmentError =>
    new EnvironmentError("refused", `build: source is not possible on this installation: ${reason}`, steps.log());
  if (confinement.isolation === "none") {
    throw refuse("packages are built in sandboxes, and those are switched off. Name packages that have wheels.");
  }
  const start = (args: readonly string[], hidden: readonly string[]) => {
    const program = { command: python.path, args, env: { PATH, HOME: ownDir } };
    return steps.run(confineWithNetwork(confinement, program, ownDir, hidden), { quiet: true });
  };
  const listing = await start(["-I", "-S", "-c", LIST_FOLDERS], []);
  const folders = listing.code === 0 ? (JSON.parse(listing.output) as string[]) : [];
  const own = folders.filter((path, index) => !folders.slice(0, index).some((above) => path.startsWith(`${above}/`)));
  for (const flags of [["-I", "-S"], []]) {
    const { code } = await start([...flags, "-c", "pass"], own);
    if (own.length === 0 || code === 0)
      throw refuse(`Python ${python.version} cannot be kept from running code there. Name packages that have wheels.`);
  }
  return own;
}
