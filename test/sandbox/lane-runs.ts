import { setTimeout as sleep } from "node:timers/promises";
import type { Commit, Program, Ran } from "../runner/harness.ts";

const TRIES_MAX = 20;

/**
 * Runs a commit in a lane. A lane may be retired after any execution, and where the machine has no time its next fork may
 * not be ready: such an execution goes cold, which `onCold` hears of. Throws when none is served by a lane.
 */
export async function runInLane(
  commit: Commit,
  given: Omit<Program, "code" | "commit"> = {},
  onCold: (ran: Ran) => void = () => undefined,
): Promise<Ran> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const warmth = await commit.warm();
    if (!warmth.warm) throw new Error(`There is no lane: ${warmth.reason}`);
    const ran = await commit.run(given);
    if (ran.path === "lane") return ran;
    onCold(ran);
    await sleep(10 * (tries + 1));
  }
  throw new Error(`None of ${TRIES_MAX} executions was served by a lane.`);
}
