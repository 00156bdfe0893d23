import type { Db } from "../../db/connect.ts";
import { countRepairs } from "../../db/executions/repairs.ts";
import { forgetUploads, listAbandonedUploads } from "../../db/executions/uploads.ts";
import { giveLease, type Lease, takeLease } from "../../db/leases.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import type { Storage } from "../../storage/storage.ts";
import { type Repeating, repeat } from "../../system/repeating.ts";
import type { Log } from "../log.ts";

const INTERVAL_MS = 3_600_000;
/** What a request without an execution left in storage is certainly abandoned by now: the slowest upload is over. */
const ABANDONED_SECONDS = 86_400;
const PAGE = 50;
/** Far more than a page takes; after that long another process takes over from one that died. */
const LEASE_SECONDS = 900;

export interface AbandonedUploadsDeps {
  readonly db: Db;
  readonly storage: Pick<Storage, "list" | "delete">;
  readonly processId: string;
  readonly log: Log;
}

/**
 * Removes abandoned uploads, at once and every hour; see `removeAbandonedUploads`. Nobody waits for it. `close` resolves when
 * the file under way is done.
 */
export function startRemovingAbandonedUploads(deps: AbandonedUploadsDeps): Repeating {
  return repeat((signal) => removeAbandonedUploads(deps, signal), {
    everyMs: INTERVAL_MS,
    onError: (error) =>
      deps.log.warn(
        { event: "fault", error },
        "Not all abandoned uploads could be removed; the next hour tries again.",
      ),
  });
}

/**
 * Deletes the files of requests that never became an execution: their process died between storing and recording, or
 * storage took no deletion then. It reads what was noted before it was stored, page by page, never all of storage. One
 * process does it at a time, and writes nothing where nothing is abandoned. One that storage does not delete keeps none
 * of the others, and is tried again the next time. Answers how many files.
 */
export async function removeAbandonedUploads(deps: AbandonedUploadsDeps, signal?: AbortSignal): Promise<number> {
  const lease: Lease = { name: "abandoned uploads", holder: deps.processId };
  const mayGoOn = (): Promise<boolean> => takeLease(deps.db, { ...lease, seconds: LEASE_SECONDS });
  let page = await listPage(deps, undefined);
  if (page.length === 0 || !(await mayGoOn())) return 0;
  const errors: unknown[] = [];
  let removed = 0;
  try {
    do {
      const errorsBefore = errors.length;
      for (const executionId of page) {
        signal?.throwIfAborted();
        try {
          removed += await removeOne(deps, executionId);
        } catch (error) {
          errors.push(error);
        }
      }
      const isStorageAway = errors.length - errorsBefore === page.length;
      page = isStorageAway ? [] : await listPage(deps, page.at(-1));
    } while (page.length > 0 && (await mayGoOn()));
  } finally {
    await giveLease(deps.db, lease);
    if (removed > 0) await report(deps, removed);
  }
  if (errors.length > 0) throw new AggregateError(errors, "Storage keeps files of abandoned uploads.");
  return removed;
}

function listPage({ db }: AbandonedUploadsDeps, after: ExecutionId | undefined): Promise<ExecutionId[]> {
  return listAbandonedUploads(db, { olderThanSeconds: ABANDONED_SECONDS, after, limit: PAGE });
}

async function removeOne({ db, storage }: AbandonedUploadsDeps, executionId: ExecutionId): Promise<number> {
  const keys: string[] = [];
  for await (const key of storage.list(`executions/${executionId}/`)) keys.push(key);
  for (const key of keys) await storage.delete(key);
  await forgetUploads(db, [executionId]);
  return keys.length;
}

async function report({ db, log }: AbandonedUploadsDeps, removed: number): Promise<void> {
  log.warn({ event: "execution.repaired", repair: "uploads_removed", removed }, "Abandoned uploads were removed.");
  await countRepairs(db, "uploads_removed", removed);
}
