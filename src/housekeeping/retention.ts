import { setTimeout as sleep } from "node:timers/promises";
import { deleteFullBuckets } from "../../db/accounts/rates.ts";
import type { Db } from "../../db/connect.ts";
import { forgetKeys } from "../../db/executions/idempotency.ts";
import {
  claimRemovals,
  endRemovals,
  expireFiles,
  expireLogs,
  type Removal,
  removeExecutions,
} from "../../db/executions/retention.ts";
import { removeNotices } from "../../db/notices/notices.ts";
import { removeEndedSchedules } from "../../db/schedules/schedules.ts";
import { removeTicks } from "../../db/schedules/ticks.ts";
import type { Storage } from "../../storage/storage.ts";
import { forEachAtOnce } from "../../system/at-once.ts";
import { type Repeating, repeat } from "../../system/repeating.ts";
import type { Settings } from "../config.ts";
import type { Log } from "../log.ts";
import { removeDraftBlobs, removeDraftCommits } from "../publish/kept-drafts.ts";

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
  /** Messages to places. */
  readonly notices: number;
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
  notices: 0,
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
export function startRetention(deps: RetentionDeps): Repeating & { removed(): Removed } {
  let total = NOTHING_REMOVED;
  const onRemoved = (removed: Removed): void => {
    total = add(total, removed);
  };
  const { close } = repeat(
    async (signal) => {
      const removed = await removeOld(deps, { signal, onRemoved });
      if (Object.values(removed).some((count) => count > 0))
        deps.log.info({ event: "retention.removed", ...removed }, "Old records and files were removed.");
    },
    {
      everyMs: INTERVAL_MS,
      onError: (error) =>
        deps.log.warn({ event: "fault", error }, "Not everything old could be removed; the next time tries again."),
    },
  );
  return { removed: () => total, close };
}

/**
 * Deletes everything past its retention period, in batches, sleeping as long as each batch took. That is files, logs,
 * executions, ticks, ended schedules, commits of drafts, idempotency keys and unused rate limits. Returns the counts.
 * It may be interrupted anywhere, and any number of processes may run it at once. Records say that something is gone
 * before it goes, and note what is to be deleted from storage. Executions under way, and those whose idempotency key is
 * kept, are left alone; so keys come after executions.
 */
export async function removeOld(
  deps: Omit<RetentionDeps, "log">,
  options: { signal?: AbortSignal; onRemoved?: (removed: Removed) => void } = {},
): Promise<Removed> {
  const { db, storage, retention } = deps;
  const { keyDays, executionDays } = retention;
  const days = { files: retention.fileDays, logs: retention.logDays };
  let total = NOTHING_REMOVED;
  const removeAll = (act: () => Promise<{ removed: Partial<Removed>; more: boolean }>): Promise<void> =>
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

  await removeAll(async () => {
    const removed = await expireFiles(db, { days, limit: BATCH });
    return { removed, more: removed.files === BATCH };
  });
  await removeAll(async () => {
    const removed = await expireLogs(db, { days, limit: BATCH });
    return { removed, more: removed.logs === BATCH };
  });
  if (executionDays !== null) {
    const old = { days: executionDays, limit: BATCH };
    await removeAll(counted("executions", () => removeExecutions(db, old)));
    await removeAll(counted("ticks", () => removeTicks(db, old)));
    await removeAll(counted("notices", () => removeNotices(db, old)));
    await removeAll(counted("schedules", () => removeEndedSchedules(db, old)));
  }
  // After executions: what they were of may be needed no more.
  await removeAll(counted("draftCommits", () => removeDraftCommits(db, BATCH)));
  await removeAll(counted("draftBlobs", () => removeDraftBlobs(db, BATCH)));
  if (keyDays !== null) await removeAll(counted("keys", () => forgetKeys(db, { days: keyDays, limit: BATCH })));
  await removeAll(counted("rateBuckets", () => deleteFullBuckets(db, BATCH)));
  await removeAll(() => removeObjects(db, storage));
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
  const done: bigint[] = [];
  const errors: unknown[] = [];
  let objects = 0;
  await forEachAtOnce(removals, DELETES_AT_ONCE, async (removal) => {
    try {
      const count = await removeObjectsOf(storage, removal);
      objects += count;
      done.push(removal.id);
    } catch (error) {
      errors.push(error);
    }
  });
  if (done.length > 0) await endRemovals(db, done);
  else if (errors.length > 0) throw new AggregateError(errors, "Storage deletes nothing.");
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
