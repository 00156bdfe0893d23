import { join } from "node:path";
import { claimLock } from "./lock.ts";
import { placeFolder } from "./reachability.ts";

/**
 * Makes the folder of a server and takes its lock, which `release` gives back. Throws where another Treadle has it: two
 * servers must never write the same data.
 */
export async function claimFolder(
  place: Parameters<typeof placeFolder>[0],
): Promise<{ folder: string; release: () => Promise<void> }> {
  const folder = await placeFolder(place);
  const lock = await claimLock(join(folder, "treadle.lock"));
  if (lock.kind === "claimed") return { folder, release: lock.release };
  throw new Error(
    `Another Treadle (process ${lock.pid}) is using the data dir ${place.dataDir}. Stop it, or give this one another data dir (TREADLE_DATA_DIR).`,
  );
}
