import type { RunAs } from "./servers/child.ts";
import type { RunCommand } from "./servers/command.ts";
import { resolveTemporalBinary } from "./servers/temporal-binary.ts";
import { bringIntoReach } from "./servers/temporal-reach.ts";
import type { TemporalBinary } from "./servers/temporal-version.ts";

/**
 * Finds, or makes, Temporal's server while we are still root, with root's cache, Go and settings. Puts it where the
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
  return bringIntoReach(found, { folder: options.runtimeDir, user, report, run });
}
