import type { FileHandle } from "node:fs/promises";

/** Little enough that the last of it is quickly on the disk, and much enough that few syncs stand in the way of writes. */
const EVERY_BYTES = 64 * 1024 * 1024;

export interface EarlySync {
  /** So many bytes more were written. */
  note(bytes: number): void;
  /** Resolves when no sync is under way. Rejects when one has failed: then a last sync that succeeds says nothing. */
  settle(): Promise<void>;
}

/**
 * Brings a large file to the disk while it is still being written, every 64 MiB and one sync at a time. So the disk does not
 * stand idle until the end, and the last sync, which is the caller's, has little left to do.
 */
export function syncEarly(file: Pick<FileHandle, "datasync">): EarlySync {
  let unsynced = 0;
  let underWay: Promise<void> | undefined;
  // The kernel tells a failure to one sync alone: a later one succeeds.
  let failure: { error: unknown } | undefined;

  async function sync(): Promise<void> {
    try {
      await file.datasync();
    } catch (error) {
      failure ??= { error };
    }
    underWay = undefined;
  }

  return {
    note(bytes) {
      unsynced += bytes;
      if (unsynced < EVERY_BYTES || underWay !== undefined) return;
      unsynced = 0;
      underWay = sync();
    },
    async settle() {
      await underWay;
      if (failure !== undefined) throw failure.error;
    },
  };
}
