import type { createSmallObjects } from "../../db/executions/small-objects.ts";
import { moveToStorage } from "../../storage/small-objects.ts";
import type { Storage } from "../../storage/storage.ts";
import { forEachAtOnce } from "../../system/at-once.ts";
import { type Repeating, repeat } from "../../system/repeating.ts";
import type { Log } from "../log.ts";

const EVERY_MS = 15_000;
/** Most outputs that are read are read within a minute of their end, and the database answers sooner. */
const AFTER_SECONDS = 60;
const BATCH = 100;
/** Few, because callers of that moment wait for the same disk. */
const AT_ONCE = 2;

/** Moves small objects to storage, the oldest first. One that storage does not take stays where it is, and is tried again. */
export function startMovingSmallObjects(deps: {
  small: ReturnType<typeof createSmallObjects>;
  /** Where they belong. */
  storage: Storage;
  log: Log;
}): Repeating {
  const { small, storage, log } = deps;
  const move = async (): Promise<boolean> => {
    const keys = await small.listDue({ seconds: AFTER_SECONDS, limit: BATCH });
    await forEachAtOnce(keys, AT_ONCE, (key) => moveToStorage(storage, small, key));
    return keys.length === BATCH;
  };
  return repeat(move, {
    everyMs: EVERY_MS,
    onError: (error) =>
      log.warn({ event: "fault", error }, "Small outputs could not be moved to storage; tried again soon."),
  });
}
