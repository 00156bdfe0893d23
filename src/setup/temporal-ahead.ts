import { stat } from "node:fs/promises";
import type { RunAs } from "./servers/child.ts";
import type { RunCommand } from "./servers/command.ts";
import { copyIntoReach } from "./servers/reachability.ts";
import { resolveTemporalBinary } from "./servers/temporal-binary.ts";
import { checkBinary, type TemporalBinary } from "./servers/temporal-version.ts";

/**
 * Finds, or makes, Temporal's server while we are still root, with root's cache, Go and settings, and puts it where the
 * user that the service becomes can execute it. Undefined when `TEMPORAL_ADDRESS` says that none is started.
 */
export async function fetchTemporalAhead(options: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cacheDir: string;
  readonly runtimeDir: string;
  readonly user: RunAs;
  readonly report: (line: string) => void;
  readonly run: RunCommand;
  readonly signal: AbortSignal;
}): Promise<TemporalBinary | undefined> {
  const { env, run, report, user, signal } = options;
  if (env.TEMPORAL_ADDRESS !== undefined && env.TEMPORAL_ADDRESS !== "") return undefined;
  const found = await resolveTemporalBinary({
    env,
    cacheDir: options.cacheDir,
    report,
    fetch,
    run,
    signal,
  });
  const { path: source, version } = found;
  const { size, mtimeMs } = await stat(source);
  const runAsUser: RunCommand = (command, args, how) => run(command, args, { ...how, runAs: user });
  const path = await copyIntoReach({
    source,
    folder: options.runtimeDir,
    name: `temporal-${version}-${size}-${Math.round(mtimeMs)}`,
    works: async (candidate) => (await checkBinary(candidate, runAsUser)).kind === "suitable",
    report,
  });
  if (path === undefined)
    throw new Error(
      `User ${user.uid} can execute neither ${source} nor its copy in ${options.runtimeDir}. Is that disk mounted with noexec?`,
    );
  return { ...found, path };
}
