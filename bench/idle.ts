import { setTimeout as sleep } from "node:timers/promises";
import { readTree } from "./processes.ts";
import type { BenchService } from "./service.ts";

/**
 * Caches fill and code is compiled for a while after a start, and V8 tidies up behind it: three to five full collections
 * 30 to 41 s after the start, which would be half of what a minute of idling uses, and never come again (`--trace-gc`).
 */
const SETTLE_MS = 60_000;

/** Less than this share of a core is no work that is still being done. */
const QUIET_SHARE = 0.1;
const QUIET_WINDOW_MS = 5_000;

/** Waits until the service and its servers have done what they were given; answers how many seconds that took. */
export async function waitUntilQuiet(service: BenchService): Promise<number> {
  const startedAt = performance.now();
  const readSeconds = async (): Promise<number> =>
    [...(await readTree(service.ready.pid, "living")).values()].reduce((sum, used) => sum + used, 0);
  for (let before = await readSeconds(); ; ) {
    await sleep(QUIET_WINDOW_MS);
    const after = await readSeconds();
    if (after - before < (QUIET_SHARE * QUIET_WINDOW_MS) / 1_000) return (performance.now() - startedAt) / 1_000;
    before = after;
  }
}

/** What the service and its servers use of one core while nobody calls, over `seconds`, by program. */
export async function measureIdle(service: BenchService, seconds: number) {
  await sleep(SETTLE_MS);
  const before = await readTree(service.ready.pid, "living");
  const startedAt = performance.now();
  await sleep(seconds * 1000);
  const after = await readTree(service.ready.pid, "living");
  const elapsed = (performance.now() - startedAt) / 1000;
  const percentByProgram = Object.fromEntries(
    [...after].map(([name, used]) => [name, ((used - (before.get(name) ?? 0)) / elapsed) * 100]),
  );
  const percent = Object.values(percentByProgram).reduce((sum, value) => sum + value, 0);
  return { percentOfOneCore: percent, percentByProgram };
}
