import { mkdirSync, readdirSync, rmdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { removeTree } from "../system/trees/remove-tree.ts";

const MIB = 1024 * 1024;
/** What a file system of its own takes beside the files: 45 MB of 20 GiB, 128 MB of 1 TiB (mkfs.ext4 1.47). */
const SCRATCH_TABLES_BYTES = 48 * MIB;
const SCRATCH_TABLES_SHARE = 1 / 8_192;

/**
 * Folders that are file systems of their own, each for one program at a time. They grow in the data folder's disk as
 * they are written to, and shrink as files are deleted. So the free space that counts is that disk's (`statfs` of the
 * spool), never their own. An execution takes at most `outputBytesMax` and 128 MiB of it, and its largest output once
 * more while that is copied to the spool.
 */
export interface RunDisks {
  /** For executions that start cold. */
  readonly cold: readonly string[];
  /** For lanes, which keep theirs from one execution to the next. */
  readonly lanes: readonly string[];
  /** Makes the disk anew, empty. Rejects when that is not possible. */
  renew(dir: string): Promise<void>;
  /** Gives the room of deleted files back to the data folder's disk, where it is much, some time later. */
  trim(dir: string): void;
  /**
   * Makes another disk beside that of `dir`, empty, for the scratch folders of the same execution. Returns where it is. It takes
   * `scratchDiskBytes` of the data folder's disk at most.
   */
  openScratch(dir: string, bytes: number): Promise<string>;
  /** Takes that disk away with all that is on it. Its room is free for all by then. */
  closeScratch(dir: string): Promise<void>;
}

/** What has to be there, for those who miss it. */
export const DISKS_NEED = "They need a service that is started as root, e2fsprogs and loop devices.";

/** Returns how many bytes a disk of scratch folders may hold that has `bytes` of the data folder's disk. */
export function scratchRoomOf(bytes: number): number {
  return Math.max(0, Math.floor((bytes - SCRATCH_TABLES_BYTES - MIB) / (1 + SCRATCH_TABLES_SHARE)));
}

/** Returns what a disk takes of the data folder's disk, also for files that were deleted since it was trimmed. */
export function measureDisk(dir: string): number {
  return (statSync(`${dir}.img`, { throwIfNoEntry: false })?.blocks ?? 0) * 512;
}

/** What the pool needs of disks. */
export type RunDiskCare = Omit<RunDisks, "cold" | "lanes">;

/** Returns how much of the data folder's disk the disk of scratch folders can take that may hold `bytes`. */
export function scratchDiskBytes(bytes: number): number {
  return bytes === 0 ? 0 : Math.ceil((bytes * (1 + SCRATCH_TABLES_SHARE) + SCRATCH_TABLES_BYTES) / MIB) * MIB;
}

/** A disk that nobody else has. */
export interface RunDisk {
  readonly dir: string;
  /** Made anew since the start. A sandbox whose mounts are older does not see it. */
  readonly isAnew: boolean;
  /** Makes an empty disk for scratch folders, which goes when this one is given back. */
  openScratch(bytes: number): Promise<string>;
  /** To be called when an execution's files are gone: their room is free for all. */
  trim(): void;
  /** Removes all that is on it, and leaves it to the next. Never rejects. */
  giveBack(): Promise<void>;
}

export interface RunDiskPool {
  /** The next empty disk; waits for one. Rejects when `signal` aborts. */
  take(signal?: AbortSignal): Promise<RunDisk>;
  /** An empty disk, unless all are taken. */
  tryTake(): RunDisk | undefined;
}

/** A disk that could be neither cleared nor renewed is tried again after this time. */
const RETRY_AFTER_MS = 10_000;

/**
 * Gives out disks, one to each that asks. One that was given back is cleared first. One that cannot be cleared is made
 * anew.
 */
export function createRunDiskPool(dirs: readonly string[], care: RunDiskCare): RunDiskPool {
  const { renew, trim } = care;
  const free = [...dirs];
  const withScratch = new Set<string>();
  const anew = new Set<string>();
  const waiting: ((dir: string) => void)[] = [];
  const offer = (dir: string) => {
    const next = waiting.shift();
    if (next === undefined) free.push(dir);
    else next(dir);
  };
  const restore = async (dir: string): Promise<void> => {
    try {
      if (withScratch.has(dir)) await care.closeScratch(dir);
      withScratch.delete(dir);
      await clear(dir).catch(async () => {
        await renew(dir);
        anew.add(dir);
      });
      trim(dir);
      offer(dir);
    } catch {
      setTimeout(() => void restore(dir), RETRY_AFTER_MS).unref();
    }
  };
  const toDisk = (dir: string): RunDisk => {
    let restoring: Promise<void> | undefined;
    const openScratch = (bytes: number) => {
      withScratch.add(dir);
      return care.openScratch(dir, bytes);
    };
    return {
      dir,
      isAnew: anew.has(dir),
      openScratch,
      trim: () => trim(dir),
      giveBack: () => (restoring ??= restore(dir)),
    };
  };
  const tryTake = () => {
    const dir = free.shift();
    return dir === undefined ? undefined : toDisk(dir);
  };
  return {
    tryTake,
    take(signal) {
      const disk = tryTake();
      if (disk !== undefined) return Promise.resolve(disk);
      return new Promise((resolve, reject) => {
        const onAbort = () => {
          waiting.splice(waiting.indexOf(get), 1);
          reject(signal?.reason);
        };
        const get = (dir: string) => {
          signal?.removeEventListener("abort", onAbort);
          resolve(toDisk(dir));
        };
        if (signal?.aborted === true) return reject(signal.reason);
        signal?.addEventListener("abort", onAbort, { once: true });
        waiting.push(get);
      });
    },
  };
}

/** Throws where something stays, or the file system takes nothing more after an error of the disk below it. */
async function clear(dir: string): Promise<void> {
  for (const name of readdirSync(dir)) await removeTree(join(dir, name));
  if (readdirSync(dir).length > 0) throw new Error(`Something in ${dir} has a name that is no text.`);
  const probe = join(dir, "probe");
  mkdirSync(probe);
  rmdirSync(probe);
}
