import type { createSmallObjects } from "../../db/executions/small-objects.ts";
import type { ObjectStore } from "../../storage/storage.ts";
import { type Repeating, repeat } from "../../system/repeating.ts";
import type { Log } from "../log.ts";

const EVERY_MS = 15_000;
/** Most outputs that are read are read within a minute of their end, and the database answers sooner. */
const AFTER_SECONDS = 60;
/**
 * A caller who replaces or deletes one of them waits for the others, and gives up after ten seconds (`lock_timeout`). Each takes
 * some five waits for the disk.
 */
const BATCH = 16;

interface Move {
  readonly small: ReturnType<typeof createSmallObjects>;
  /** Where they belong. */
  readonly storage: Pick<ObjectStore, "putAll">;
}

/** Moves small objects to storage every 15 seconds, the oldest first. One that storage does not take stays where it is, and is tried again. */
export function startMovingSmallObjects({ log, ...deps }: Move & { readonly log: Log }): Repeating {
  return repeat(() => moveSmallObjects(deps), {
    everyMs: EVERY_MS,
    onError: (error) =>
      log.warn({ event: "fault", error }, "Small outputs could not be moved to storage; tried again soon."),
  });
}

/** Moves the oldest due objects. Returns whether there may be more. Throws when storage has not taken all of them. */
export async function moveSmallObjects({ small, storage }: Move): Promise<boolean> {
  let problem: string | undefined;
  const count = await small.moveDue({ seconds: AFTER_SECONDS, limit: BATCH }, async (objects) => {
    const problems = await storage.putAll(objects);
    problem = problems.find((each) => each !== undefined);
    return objects.flatMap(({ key }, index) => (problems[index] === undefined ? [key] : []));
  });
  if (problem !== undefined) throw new Error(problem);
  return count === BATCH;
}
