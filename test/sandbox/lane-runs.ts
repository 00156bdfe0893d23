import { setTimeout as sleep } from "node:timers/promises";
import type { Commit, Program, Ran } from "../runner/harness.ts";

const TRIES_MAX = 20;

/**
 * Runs a commit in a lane. A lane may be retired after any execution, and where the machine has no time its next fork may
 * not be ready: such an execution goes cold, which `onCold` hears of. There packages may also look unfit, for a while
 * (SeeminglyUnfitError). Throws when none is served by a lane.
 */
export async function runInLane(
  commit: Commit,
  given: Omit<Program, "code" | "commit"> = {},
  onCold: (ran: Ran) => void = () => undefined,
): Promise<Ran> {
  let problem = "";
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const warmth = await commit.warm();
    if (warmth.warm) {
      const ran = await commit.run(given);
      if (ran.path === "lane") return ran;
      onCold(ran);
    } else problem = ` There is none: ${warmth.reason}`;
    await sleep(10 * (tries + 1));
  }
  throw new Error(`No execution of ${TRIES_MAX} was served by a lane.${problem}`);
}
