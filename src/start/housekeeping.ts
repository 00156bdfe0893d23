import type { HostWord } from "../../db/executions/hosts.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Defer } from "../../system/releases.ts";
import type { Settings } from "../config.ts";
import type { Admissions } from "../executions/admissions.ts";
import { type Presence, startPresence } from "../executions/presence.ts";
import { createSweeper, type SweeperDeps } from "../executions/sweeper.ts";
import { startRemovingAbandonedUploads } from "../housekeeping/abandoned-uploads.ts";
import { startCountingDays } from "../housekeeping/execution-days.ts";
import { startRemovingExpiredUploads } from "../housekeeping/file-uploads.ts";
import { startAddingUpKept } from "../housekeeping/kept-bytes.ts";
import { retentionOf, startRetention, toFigures } from "../housekeeping/retention.ts";
import { uploadKey } from "../http/uploads/upload-key.ts";
import { keepBallast } from "../setup/ballast.ts";

export interface HousekeepingDeps extends Omit<SweeperDeps, "hostGoneSeconds"> {
  readonly storage: Storage;
  readonly admissions: Admissions;
  /** What this process says of itself and its host. */
  readonly findWord: () => Promise<HostWord>;
  readonly settings: Settings;
  readonly dataDir: string;
}

/**
 * Opens the work that goes on in the background. It admits waiting executions, repairs lost ones, and removes what is
 * past its retention period. `removed` returns how much this process has removed, by the names that metrics have.
 */
export function openHousekeeping(
  deps: HousekeepingDeps,
  defer: Defer,
): { readonly removed: () => Readonly<Record<string, number>>; readonly presence: Presence } {
  const {
    db,
    storage,
    temporalClient,
    activities,
    keeping,
    spool,
    admissions,
    findWord,
    settings,
    hostId,
    processId,
    log,
  } = deps;
  const hostGoneSeconds = settings.TREADLE_HOST_GONE_SECONDS;
  admissions.open(temporalClient);
  defer(() => admissions.close());
  const presence = startPresence({ db, hostId, processId, hostGoneSeconds, findWord, log });
  defer(() => presence.close());
  const sweeper = createSweeper({
    db,
    temporalClient,
    activities,
    keeping,
    spool,
    hostId,
    processId,
    hostGoneSeconds,
    log,
  });
  defer(() => sweeper.close());
  const uploads = startRemovingAbandonedUploads({ db, storage, processId, log });
  defer(() => uploads.close());
  const expired = startRemovingExpiredUploads({ db, storage, keyOf: uploadKey, processId, log });
  defer(() => expired.close());
  const days = startCountingDays({ db, log });
  defer(() => days.close());
  const ballast = keepBallast({
    dataDir: deps.dataDir,
    onChange: (state, freeBytes) =>
      state === "made"
        ? log.info({ event: "disk.ballast", state, freeBytes }, "Some space is kept for when the disk is full.")
        : log.error({ event: "disk.ballast", state, freeBytes }, "The disk is full. Space kept for that was given up."),
  });
  defer(() => ballast.close());
  const kept = startAddingUpKept({ db, log });
  defer(() => kept.close());
  const retention = startRetention({ db, storage, retention: retentionOf(settings), log });
  defer(() => retention.close());
  return { removed: () => toFigures(retention.removed()), presence };
}
