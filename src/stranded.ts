import type { Activities } from "../activities/index.ts";
import type { Db } from "../db/connect.ts";
import { listStranded, notePresence, type Stranded } from "../db/stranded.ts";
import type { Log } from "./log.ts";
import { type Repeating, repeat } from "./repeating.ts";
import type { Driver } from "./temporal.ts";

const PRESENCE_EVERY_MS = 10_000;
/** A host may be restarted, or moved with its volume, within this time. */
const GONE_AFTER_MS = 5 * 60_000;
/** Longer between two looks, the database was away perhaps, and no host could say that it is there. */
const LOOKS_APART_MAX_MS = 60_000;
const LIMIT = 200;

/** Keeps saying that this host is there, until it is closed. */
export function startPresence(deps: { db: Db; hostId: string; processId: string; log: Log }): Repeating {
  return repeat(
    async () => {
      await notePresence(deps.db, deps);
      return false;
    },
    {
      everyMs: PRESENCE_EVERY_MS,
      onFault: (error) =>
        deps.log.warn({ event: "fault", error }, "The record could not be told that this host is there."),
    },
  );
}

interface StrandedDeps {
  readonly db: Db;
  readonly driver: Pick<Driver, "terminate">;
  readonly activities: Pick<Activities, "releaseCredits">;
  readonly onEnded: (execution: Stranded) => Promise<void>;
}

/**
 * Returns what looks for executions that wait for a host that is gone with their outputs, and ends them uncharged: at once
 * where somebody wants them cancelled, otherwise when the host has not been there for five minutes of looks.
 */
export function createStrandedWatch(now: () => number = () => performance.now()) {
  let absent = new Map<string, { readonly since: number }>();
  let lookedAt = Number.NEGATIVE_INFINITY;

  return async (deps: StrandedDeps): Promise<void> => {
    const stranded = await listStranded(deps.db, LIMIT);
    const at = now();
    const known = at - lookedAt > LOOKS_APART_MAX_MS ? new Map<string, { since: number }>() : absent;
    lookedAt = at;
    absent = new Map(stranded.map(({ hostId }) => [hostId, known.get(hostId) ?? { since: at }]));
    for (const execution of stranded) {
      const isGone = at - (absent.get(execution.hostId)?.since ?? at) >= GONE_AFTER_MS;
      if (execution.cancelled || isGone) await end(deps, execution);
    }
  };
}

/** The record first: whoever drives the execution in Temporal finds it ended. */
async function end({ driver, activities, onEnded }: StrandedDeps, execution: Stranded): Promise<void> {
  const { id: executionId, cancelled } = execution;
  await activities.releaseCredits({ executionId, cause: cancelled ? "stranded_cancelled" : "stranded" });
  await onEnded(execution);
  await driver.terminate(executionId);
}
