import { createHash } from "node:crypto";
import {
  chmod,
  chown,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rm,
  rmdir,
  stat,
  statfs,
  symlink,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { formatSize } from "../../domain/manifest/sizes.ts";
import { ignoreMissing } from "../../system/ignore-missing.ts";
import { clearFullDisk, FREE_BYTES_MIN } from "./full-disk.ts";
import type { RunAs } from "./servers/child.ts";
import { toDiskFullError } from "./servers/disk-full.ts";
import { canReach, OUTSIDE_FOLDER } from "./servers/reachability.ts";

/** Raised when a data folder of this version can no longer be used by the program before it. */
export const DATA_VERSION = 1;
export const VERSION_FILE = "data-version";
/** In a folder that a backup is being restored to; it names the backup. Gone when everything is there. */
export const RESTORE_FILE = "restore-unfinished";

const PROBE_BYTES = 64 * 1024;
/** What a start leaves that was interrupted before it made anything. */
const UNFINISHED = /^(instance\.lock|\.probe-|data-version\.tmp$)/;
/** What an empty disk or a version control system puts into a folder by itself. */
const NOBODYS_FILES = ["lost+found", ".gitkeep", ".gitignore", ".DS_Store", "belongs-to.txt"];

export interface DataDirOptions {
  /** Absolute path of the folder that was asked for. */
  readonly wanted: string;
  /** The unprivileged user that must be able to enter it; undefined when everything runs as ourselves. */
  readonly traveller: RunAs | undefined;
  /** Who will own it: the user that the service becomes, else ourselves. */
  readonly owner: RunAs;
  readonly report: (line: string) => void;
  /** What tests replace. */
  readonly outsideFolder?: string;
  readonly freeBytes?: (folder: string) => Promise<number>;
}

/**
 * The data folder, ready to be written, as a path without links. It is `wanted`. Where a folder above keeps the
 * unprivileged user out (as a 0700 home does), new data are under `/var/lib/treadle`, and `wanted` becomes a link.
 * Refuses data of a newer version, of another user or of another program, and new data on a disk that is nearly full.
 * Each message says what to do, and nothing is changed.
 */
export async function prepareDataDir(options: DataDirOptions): Promise<string> {
  try {
    const dir = await findPlace(options);
    await checkFreeSpace(dir, options);
    await probeWriting(dir);
    return dir;
  } catch (error) {
    throw toDiskFullError(error, options.wanted) ?? explainWriting(error, options.wanted);
  }
}

async function findPlace(options: DataDirOptions): Promise<string> {
  const { wanted } = options;
  const isLink = (await lstat(wanted).catch(ignoreMissing))?.isSymbolicLink() === true;
  const there = await stat(wanted).catch(ignoreMissing);
  if (isLink && there === undefined) {
    throw new Error(
      `The data folder ${wanted} is a link to a folder that is gone. Put that folder back, or delete the link to start empty: rm ${wanted}`,
    );
  }
  if (there !== undefined && !there.isDirectory()) {
    throw new Error(
      `The data folder ${wanted} is not a folder. Move it away, or choose another one (TREADLE_DATA_DIR).`,
    );
  }
  if (there === undefined) await mkdir(wanted, { recursive: true });
  const dir = await realpath(wanted);
  if (await checkContent(dir)) return useExisting(dir, options);
  await own(dir, options);
  if (await isWithinReach(dir, options.traveller)) return dir;
  if (isLink) throw new Error(explainUnreachable(options));
  return placeOutside(options);
}

/** Whether it holds our data. Refuses data of a newer version, and files that are not ours. */
async function checkContent(dir: string): Promise<boolean> {
  const names = (await readdir(dir)).filter((name) => !NOBODYS_FILES.includes(name));
  if (names.length === 0) return false;
  const text = await readFile(join(dir, VERSION_FILE), "utf8").catch(ignoreMissing);
  if (text === undefined) {
    if (names.every((name) => UNFINISHED.test(name))) return false;
    if (names.includes(RESTORE_FILE)) throw new Error(await explainRestore(dir));
    throw new Error(
      `${dir} is not empty, and holds no data of Treadle (it has no file ${VERSION_FILE}). Choose another data folder (TREADLE_DATA_DIR), or move its content away.`,
    );
  }
  const version = Number(text.trim());
  if (!Number.isInteger(version) || version < 1)
    throw new Error(
      `${join(dir, VERSION_FILE)} says ${JSON.stringify(text.trim())}, which is no version. Restore it from a backup.`,
    );
  if (version > DATA_VERSION) {
    throw new Error(
      `A newer version of Treadle wrote the data in ${dir}: their data version is ${version}, and this version reads up to ${DATA_VERSION}. Start the newer version, or choose another data folder (TREADLE_DATA_DIR). Nothing was changed.`,
    );
  }
  return true;
}

async function explainRestore(dir: string): Promise<string> {
  const source = (await readFile(join(dir, RESTORE_FILE), "utf8")).trim();
  return `A restore of ${source} into ${dir} was interrupted, or is under way: there is only a part of it. Wait until it is done, or run it again: bin/treadle restore ${source} --data-dir ${dir}`;
}

async function useExisting(dir: string, options: DataDirOptions): Promise<string> {
  const { wanted, traveller, owner, report } = options;
  const us = process.getuid?.();
  const { uid } = await stat(dir);
  // Root may have served these data as itself, or as the unprivileged user; both are ours to change.
  if (uid !== us && !(us === 0 && [owner.uid, traveller?.uid].includes(uid))) {
    throw new Error(
      `The data in ${wanted} belong to user ${uid}, and Treadle was started by user ${us}. Start it as that user, or choose another data folder (TREADLE_DATA_DIR).`,
    );
  }
  // The folder itself is opened below; what is above it stays as it is.
  if (!(await isWithinReach(dirname(dir), traveller))) throw new Error(explainUnreachable(options));
  await own(dir, options);
  if ((await lstat(wanted)).isSymbolicLink()) report(`The data of ${wanted} are in ${dir}.`);
  return dir;
}

async function own(dir: string, { owner, traveller }: DataDirOptions): Promise<void> {
  if (process.getuid?.() === 0) await chown(dir, owner.uid, owner.gid);
  // Others may pass through to what is theirs, never list it; what is in it has modes of its own.
  const mode = traveller === undefined || traveller.uid === owner.uid ? 0o700 : 0o711;
  if (((await stat(dir)).mode & 0o7777) !== mode) await chmod(dir, mode);
}

async function isWithinReach(dir: string, traveller: RunAs | undefined): Promise<boolean> {
  return traveller === undefined || canReach(dir, "x", traveller);
}

/** A folder that every user can pass to, named after the wanted path; never one that an earlier, deleted link left behind. */
async function placeOutside(options: DataDirOptions): Promise<string> {
  const { wanted, report } = options;
  const base = options.outsideFolder ?? OUTSIDE_FOLDER;
  // With any umask: everybody must be able to pass.
  if ((await mkdir(base, { recursive: true })) !== undefined) await chmod(base, 0o755);
  const hash = createHash("sha256").update(wanted).digest("hex").slice(0, 8);
  const name = `${basename(wanted).replace(/^\.+/, "") || "data"}-${hash}`;
  for (let count = 1; ; count += 1) {
    const outside = join(base, count === 1 ? name : `${name}-${count}`);
    const isNew = await mkdir(outside, { mode: 0o700 }).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
        return false;
      },
    );
    if (!isNew) {
      report(
        `${outside} holds data of an earlier ${wanted}. Nothing leads to them any more; delete them when you do not need them.`,
      );
      continue;
    }
    await own(outside, options);
    if (!(await isWithinReach(outside, options.traveller))) {
      await rmdir(outside);
      throw new Error(explainUnreachable(options));
    }
    await writeFile(join(outside, "belongs-to.txt"), `${wanted}\n`);
    await rmdir(wanted);
    await symlink(outside, wanted);
    report(
      `User ${options.traveller?.uid} cannot enter ${wanted}, because a folder above it is closed to others: the data are kept in ${outside}, and ${wanted} is a link to it.`,
    );
    return outside;
  }
}

/** Data that are there are served on a full disk, too: it is cleared first. */
async function checkFreeSpace(
  dir: string,
  { freeBytes = readFreeBytes, report }: Pick<DataDirOptions, "freeBytes" | "report">,
): Promise<void> {
  const free = await freeBytes(dir);
  if (free >= FREE_BYTES_MIN) return;
  if ((await readFile(join(dir, VERSION_FILE), "utf8").catch(ignoreMissing)) !== undefined) {
    await clearFullDisk({ dataDir: dir, report, readFree: () => freeBytes(dir) });
    return;
  }
  throw new Error(
    `The disk that holds ${dir} has ${formatSize(free)} left; Treadle starts with ${formatSize(FREE_BYTES_MIN)} or more. Free space on it, or choose a data folder on another disk (TREADLE_DATA_DIR). Nothing was changed.`,
  );
}

async function readFreeBytes(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
}

/** Free space alone does not say whether a quota, or a read-only mount, stands in the way. */
async function probeWriting(dir: string): Promise<void> {
  const path = join(dir, `.probe-${process.pid}`);
  try {
    const handle = await open(path, "w", 0o600);
    try {
      await handle.writeFile(Buffer.alloc(PROBE_BYTES));
      await handle.sync();
    } finally {
      await handle.close();
    }
  } finally {
    await rm(path, { force: true }).catch(() => {}); // on a read-only disk; the write has said so already
  }
}

function explainUnreachable({ wanted, traveller }: DataDirOptions): string {
  return `User ${traveller?.uid}, as which servers and programs run, cannot enter ${wanted}: a folder above it is closed to others. Choose a data folder where every user may pass (TREADLE_DATA_DIR), or open the folders above it (chmod o+x).`;
}

function explainWriting(error: unknown, wanted: string): unknown {
  const { code, path } = error as NodeJS.ErrnoException;
  if (code !== "EACCES" && code !== "EPERM" && code !== "EROFS") return error;
  const why = code === "EROFS" ? "its disk is mounted read-only" : `user ${process.getuid?.()} has no right to`;
  return new Error(
    `The data folder ${wanted} cannot be written: ${why} (${path ?? code}). Choose another one (TREADLE_DATA_DIR), or correct its owner and mode.`,
    {
      cause: error,
    },
  );
}
