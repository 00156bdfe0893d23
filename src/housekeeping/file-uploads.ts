import type { Db } from "../../db/connect.ts";
import { forgetFileUploads, listExpiredUploads } from "../../db/executions/file-uploads.ts";
import { giveLease, type Lease, takeLease } from "../../db/leases.ts";
import type { UploadId } from "../../domain/ids.ts";
import type { Storage } from "../../storage/storage.ts";
import { type Repeating, repeat } from "../../system/repeating.ts";
import type { Log } from "../log.ts";

const INTERVAL_MS = 3_600_000;
/** A part that was under way when its upload expired has arrived by now, or never will. */
const AFTER_EXPIRY_SECONDS = 3_600;
const PAGE = 50;
const LEASE_SECONDS = 900;

export interface FileUploadsDeps {
  readonly db: Db;
  readonly storage: Pick<Storage, "parts" | "sweep">;
  /** Names an upload's key in storage. */
  readonly keyOf: (id: UploadId) => string;
  readonly processId: string;
  readonly log: Log;
}

/** Removes expired uploads, at once and every hour; see `removeExpiredUploads`. Nobody waits for it. */
export function startRemovingExpiredUploads(deps: FileUploadsDeps): Repeating {
  return repeat((signal) => removeExpiredUploads(deps, signal), {
    everyMs: INTERVAL_MS,
    onError: (error) =>
      deps.log.warn({ event: "fault", error }, "Not all expired uploads could be removed; the next hour tries again."),
  });
}

/**
 * Deletes uploads that have expired, with their parts, and what killed processes have left of other uploads. One process does it at a
 * time. What storage does not delete is tried again the next time. Returns how many uploads.
 */
export async function removeExpiredUploads(deps: FileUploadsDeps, signal?: AbortSignal): Promise<number> {
  const lease: Lease = { name: "expired uploads", holder: deps.processId };
  const mayGoOn = (): Promise<boolean> => takeLease(deps.db, { ...lease, seconds: LEASE_SECONDS });
  if (!(await mayGoOn())) return 0;
  let removed = 0;
  try {
    const left = await deps.storage.sweep();
    for (let page = await listPage(deps, undefined); page.length > 0; page = await listPage(deps, page.at(-1))) {
      for (const id of page) {
        signal?.throwIfAborted();
        await deps.storage.parts.discard(deps.keyOf(id));
        await forgetFileUploads(deps.db, [id]);
        removed += 1;
      }
      if (!(await mayGoOn())) break;
    }
    if (left + removed > 0)
      deps.log.info({ event: "uploads.removed", removed, left }, "Expired and unfinished uploads were removed.");
  } finally {
    await giveLease(deps.db, lease);
  }
  return removed;
}

function listPage({ db }: FileUploadsDeps, after: UploadId | undefined): Promise<UploadId[]> {
  return listExpiredUploads(db, { olderThanSeconds: AFTER_EXPIRY_SECONDS, after, limit: PAGE });
}
