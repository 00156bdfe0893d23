import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requirePrograms } from "../../sandbox/network/programs.ts";
import { prepareNetworkTools } from "./network-tools.ts";
import { findPython } from "./python.ts";
import { runCommand } from "./servers/command.ts";
import { resolveTemporalBinary } from "./servers/temporal-binary.ts";
import { findCacheDir } from "./servers/temporal-cache.ts";
import { prepareTools, type ToolNeed } from "./tools.ts";
import { prepareServiceUser } from "./user.ts";
import { probeUserNamespaces } from "./user-namespaces.ts";
import { findUv } from "./uv.ts";

/** What the service itself does without. */
const TEST_TOOLS: readonly ToolNeed[] = [
  {
    command: "chromium",
    purpose: "the tests of the editor's pages open them in it",
    packages: { "apt-get": "chromium", dnf: "chromium", apk: "chromium" },
  },
];

/**
 * Gets what the tests need of this machine, as the service does. That is the unprivileged user, Python, bubblewrap, uv,
 * and a browser. Answers what could not be had; the tests that need it then fail and say so. Temporal's server may take
 * minutes to build: `temporal` resolves when it is in the cache, with what was in the way if anything was.
 */
export async function prepareTestMachine(deps: {
  env: Readonly<Record<string, string | undefined>>;
  report: (line: string) => void;
}): Promise<{ readonly problems: readonly string[]; readonly temporal: Promise<string | undefined> }> {
  const { env, report } = deps;
  const problems: string[] = [];
  const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> =>
    work().catch((error: Error) => {
      problems.push(error.message);
      return undefined;
    });
  const run = runCommand;
  const isRoot = process.getuid?.() === 0;
  const runAs = await attempt(() => prepareServiceUser({ isRoot, report, run }));
  const common = { env, isRoot, mayInstall: env.TREADLE_INSTALL !== "never", runAs, report, run };
  const cacheDir = findCacheDir(env);

  const python = await attempt(() => findPython(common));
  const tools = await prepareTools(common);
  problems.push(...tools.problems);
  // Tests open it as the user who runs them.
  problems.push(...(await prepareTools({ ...common, runAs: undefined, needs: TEST_TOOLS })).problems);
  const network = await prepareNetworkTools({ ...common, becomes: undefined });
  const lacking = requirePrograms(network.programs);
  if ("problem" in lacking) problems.push(lacking.problem);
  const bwrapPath = tools.found.bwrap?.path;
  if (bwrapPath !== undefined) {
    const refusal = await probeUserNamespaces({ bwrapPath, runAs, run });
    if (refusal !== undefined) problems.push(refusal);
  }
  if (python !== undefined) {
    const runtimeDir = await mkdtemp(join(tmpdir(), "treadle-uv-"));
    await attempt(() =>
      findUv({ ...common, cacheDir, runtimeDir, runAs: undefined, pythonPath: python.path, now: Date.now }),
    );
    await rm(runtimeDir, { recursive: true, force: true });
  }
  const temporal = resolveTemporalBinary({ env, cacheDir, report, fetch, run }).then(
    () => undefined,
    (error: Error) => error.message,
  );
  return { problems, temporal };
}
