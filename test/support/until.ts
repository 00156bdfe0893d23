import { setTimeout as sleep } from "node:timers/promises";

/** Waits until something is true. Throws after 20 seconds. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 20_000; !(await isTrue()); await sleep(20))
    if (Date.now() > deadline) throw new Error("It did not come true within 20 s.");
}
