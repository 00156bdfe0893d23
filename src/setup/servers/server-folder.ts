import { join } from "node:path";
import type { RunAs } from "./child.ts";
import { toDiskFullError } from "./disk-full.ts";
import { claimLock } from "./lock.ts";
import { OUTSIDE_FOLDER, placeFolder } from "./reachability.ts";

/**
 * Starts a server in a folder of its own, under a lock that `release` gives back. Throws where another Treadle has that
 * lock: two servers must never write the same data. A start that fails gives the lock back.
 */
export async function startInFolder<Started>(
  name: string,
  options: {
    readonly dataDir: string;
    readonly runAs?: RunAs | undefined;
    readonly report: (line: string) => void;
    readonly outsideFolder?: string;
  },
  start: (folder: string, release: () => Promise<void>) => Promise<Started>,
): Promise<Started> {
  const { dataDir, runAs, report, outsideFolder = OUTSIDE_FOLDER } = options;
  try {
    const folder = await placeFolder({ dataDir, name, runAs, outsideFolder, report });
    const lock = await claimLock(join(folder, "treadle.lock"));
    if (lock.kind === "held")
      throw new Error(
        `Another Treadle (process ${lock.pid}) is using the data dir ${dataDir}. Stop it, or give this one another data dir (TREADLE_DATA_DIR).`,
      );
    return await start(folder, lock.release).catch(async (error: unknown) => {
      await lock.release();
      throw error;
    });
  } catch (error) {
    throw toDiskFullError(error, dataDir) ?? error;
  }
}
