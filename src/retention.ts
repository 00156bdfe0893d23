import { setTimeout as sleep } from "node:timers/promises";
import type { Storage } from "../activities/storage/storage.ts";
import type { Db } from "../db/connect.ts";
import { forgetKeys } from "../db/idempotency.ts";
import { deleteFullBuckets } from "../db/rates.ts";
import {
  claimRemovals,
  endRemovals,
  expireFiles,
  expireLogs,
  type Removal,
  removeExecutions,
} from "../db/retention.ts";
import { removeEndedSchedules } from "../db/schedules.ts";
import { removeTicks } from "../db/ticks.ts";
import type { Settings } from "./config.ts";
import { removeDraftBlobs, removeDraftCommits } from "./drafts/kept-drafts.ts";
import type { Log } from "./log.ts";

const INTERVAL_MS = 600_000;
/** Rows a statement takes: few enough to hold no lock for long. */
const BATCH = 500;
/** Of executions whose objects are deleted together; each may have a hundred and more. */
const REMOVAL_BATCH = 100;
const DELETES_AT_ONCE = 8;

/** How long things are kept, in days; null: for ever. Files and logs go with their execution at the latest; ticks are kept as executions are. */
export interface Retention {
  readonly keyDays: number | null;
  readonly fileDays: number | null;
  readonly logDays: number | null;
  readonly executionDays: number | null;
}

export interface RetentionDeps {
  readonly db: Db;
  readonly storage: Pick<Storage, "delete" | "list">;
  readonly retention: Retention;
  readonly log: Log;
}

/** How much was removed. */
export interface Removed {
  readonly executions: number;
  /** Executions whose files, or log, were given up before their record. */
  readonly files: number;
  readonly logs: number;
  /** Objects deleted from storage. */
  readonly objects: number;
  readonly keys: number;
  readonly rateBuckets: number;
  /** Records of times that schedules were due, and declarations of schedules that hold no longer. */
  readonly ticks: number;
  readonly schedules: number;
  /** Commits that only executions of drafts were of. */
  readonly draftCommits: number;
  /** Contents of files that only drafts had named since. */
  readonly draftBlobs: number;
}

/** What is removed where nothing is old. */
export const NOTHING_REMOVED: Removed = {
  executions: 0,
  files: 0,
  logs: 0,
  objects: 0,
  keys: 0,
  rateBuckets: 0,
  ticks: 0,
  schedules: 0,
  draftCommits: 0,
  draftBlobs: 0,
};

export function retentionOf(settings: Settings): Retention {
  const daysOf = (days: number): number | null => (days === 0 ? null : days);
  return {
    keyDays: daysOf(settings.TREADLE_IDEMPOTENCY_DAYS),
    fileDays: daysOf(settings.TREADLE_FILE_DAYS),
    logDays: daysOf(settings.TREADLE_LOG_DAYS),
    executionDays: daysOf(settings.TREADLE_EXECUTION_DAYS),
  };
}

/** The same as figures, by the names that metrics have. */
export function toFigures({
  rateBuckets,
  draftCommits,
  draftBlobs,
  ...others
}: Removed): Readonly<Record<string, number>> {
  return { ...others, rate_buckets: rateBuckets, draft_commits: draftCommits, draft_blobs: draftBlobs };
}

/**
 * Removes what is kept only for a time, at once and every ten minutes; see `removeOld`. `removed` adds up what this process has
 * removed. `close` resolves when the batch under way is done.
 */
export function startRetention(deps: RetentionDeps): { removed(): Removed; close(): Promise<void> } {
  const stopping = new AbortController();
  let total = NOTHING_REMOVED;
  let running: Promise<void> | undefined;
  const run = (): void => {
    running ??= removeOld(deps, {
      signal: stopping.signal,
      onRemoved: (removed) => {
        total = add(total, removed);
      },
    })
      .then((removed) => {
        if (Object.values(removed).some((count) => count > 0))
          deps.log.info({ event: "retention.removed", ...removed }, "Old records and files were removed.");
      })
      .catch((error: unknown) => {
        if (!stopping.signal.aborted)
          deps.log.warn({ event: "fault", error }, "Not everything old could be removed; the next time tries again.");
      })
      .finally(() => {
        running = undefined;
      });
  };
  run();
  const timer = setInterval(run, INTERVAL_MS).unref();
  return {
    removed: () => total,
    async close() {
      clearInterval(timer);
      stopping.abort();
      await running;
    },
  };
}

/**
 * Removes files, logs, executions, ticks, ended schedules, commits of drafts and what they leave, idempotency keys and unused rate limits that are older than they are kept, in batches with
 * pauses as long as they took, until there are none; answers how much. May be interrupted anywhere, and run by any number of
 * processes at once: records say that something is gone before it goes, and what is to be deleted from storage is noted with
 * them. Executions under way, and those whose idempotency key is kept, are left alone; so keys come after executions.
 */
export async function removeOld(
  deps: Omit<RetentionDeps, "log">,
  options: { signal?: AbortSignal; onRemoved?: (removed: Removed) => void } = {},
): Promise<Removed> {
  const { db, storage, retention } = deps;
  const { keyDays, executionDays } = retention;
  const days = { files: retention.fileDays, logs: retention.logDays };
  let total = NOTHING_REMOVED;
  const repeat = (act: () => Promise<{ removed: Partial<Removed>; more: boolean }>): Promise<void> =>
    repeatGently(async () => {
      const { removed, more } = await act();
      total = add(total, removed);
      options.onRemoved?.({ ...NOTHING_REMOVED, ...removed });
      return more;
    }, options.signal);
  const counted = (name: keyof Removed, act: () => Promise<number>) => async () => {
    const count = await act();
    return { removed: { [name]: count }, more: count === BATCH };
  };

  await repeat(async () => {
    const removed = await expireFiles(db, { days, limit: BATCH });
    return { removed, more: removed.files === BATCH };
  });
  await repeat(async () => {
    const removed = await expireLogs(db, { days, limit: BATCH });
    return { removed, more: removed.logs === BATCH };
  });
  if (executionDays !== null) {
    const old = { days: executionDays, limit: BATCH };
    await repeat(counted("executions", () => removeExecutions(db, old)));
    await repeat(counted("ticks", () => removeTicks(db, old)));
    await repeat(counted("schedules", () => removeEndedSchedules(db, old)));
  }
  // After executions: what they were of may be needed no more.
  await repeat(counted("draftCommits", () => removeDraftCommits(db, BATCH)));
  await repeat(counted("draftBlobs", () => removeDraftBlobs(db, BATCH)));
  if (keyDays !== null) await repeat(counted("keys", () => forgetKeys(db, { days: keyDays, limit: BATCH })));
  await repeat(counted("rateBuckets", () => deleteFullBuckets(db, BATCH)));
  await repeat(() => removeObjects(db, storage));
  return total;
}

/** Never at work for more than half of the time: callers share the database and the disk. */
async function repeatGently(act: () => Promise<boolean>, signal: AbortSignal | undefined): Promise<void> {
  for (;;) {
    signal?.throwIfAborted();
    const since = performance.now();
    if (!(await act())) return;
    await sleep(performance.now() - since, undefined, signal === undefined ? {} : { signal });
  }
}

/** Deletes what some removals name, and forgets those that are done. Throws when storage took none of them. */
async function removeObjects(
  db: Db,
  storage: RetentionDeps["storage"],
): Promise<{ removed: { objects: number }; more: boolean }> {
  const removals = await claimRemovals(db, REMOVAL_BATCH);
  const waiting = [...removals];
  const done: bigint[] = [];
  const faults: unknown[] = [];
  let objects = 0;
  const work = async (): Promise<void> => {
    for (let removal = waiting.shift(); removal !== undefined; removal = waiting.shift()) {
      try {
        const count = await removeObjectsOf(storage, removal);
        objects += count;
        done.push(removal.id);
      } catch (error) {
        faults.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: DELETES_AT_ONCE }, work));
  if (done.length > 0) await endRemovals(db, done);
  else if (faults.length > 0) throw new AggregateError(faults, "Storage deletes nothing.");
  return { removed: { objects }, more: removals.length === REMOVAL_BATCH };
}

async function removeObjectsOf(storage: RetentionDeps["storage"], removal: Removal): Promise<number> {
  const keys = new Set(removal.keys);
  if (removal.look) for await (const key of storage.list(`executions/${removal.executionId}/`)) keys.add(key);
  for (const key of keys) await storage.delete(key);
  return keys.size;
}

function add(one: Removed, other: Partial<Removed>): Removed {
  const names = Object.keys(NOTHING_REMOVED) as (keyof Removed)[];
  return Object.fromEntries(names.map((name) => [name, one[name] + (other[name] ?? 0)])) as unknown as Removed;
}
