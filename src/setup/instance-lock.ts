import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { claimLock, isLockHeld } from "./servers/lock.ts";

const LOCK_FILE = "instance.lock";

/**
 * Makes this process the one service of a data folder; answers what gives it up again. Rejects with pid and address of
 * the one that has it. A service that was killed holds nothing: the lock names pid and start time.
 */
export async function claimInstance(dataDir: string): Promise<() => Promise<void>> {
  const claim = await claimLock(join(dataDir, LOCK_FILE));
  if (claim.kind === "claimed") return claim.release;
  const url = await readUrl(dataDir, claim.pid);
  throw new Error(
    `Another Treadle (process ${claim.pid}${url === undefined ? "" : `, ${url}`}) is running on the data folder ${dataDir}.\n` +
      `Stop it (kill ${claim.pid}), or give this one a data folder and a port of its own: bin/treadle start --data-dir … --port …`,
  );
}

/** Returns whether a living service has the data folder. Writes nothing, and so works on a full disk. */
export function isServed(dataDir: string): Promise<boolean> {
  return isLockHeld(join(dataDir, LOCK_FILE));
}

/** The address in `ready.json`, when it is of that process. */
async function readUrl(dataDir: string, pid: number): Promise<string | undefined> {
  try {
    const ready = JSON.parse(await readFile(join(dataDir, "ready.json"), "utf8")) as { url?: unknown; pid?: unknown };
    return ready.pid === pid && typeof ready.url === "string" ? ready.url : undefined;
  } catch {
    return undefined; // still starting, or not ours to read
  }
}
