import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const LOOKS = 8;
const LOOK_MS = 150;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/**
 * Returns the bytes that are really held, by the service and by its callers: both are this process. Pages that were freed go
 * back to the system a while after the garbage was collected, so the lowest of several looks counts.
 */
export async function measureHeldMemory(): Promise<{ heap: number; rss: number }> {
  let lowest = { heap: Number.POSITIVE_INFINITY, rss: Number.POSITIVE_INFINITY };
  for (let look = 0; look < LOOKS; look += 1) {
    collectGarbage();
    const { heapUsed, external, rss } = process.memoryUsage();
    lowest = { heap: Math.min(lowest.heap, heapUsed + external), rss: Math.min(lowest.rss, rss) };
    await sleep(LOOK_MS);
  }
  return lowest;
}
