import { chmodSync, lchownSync, lstatSync, readdirSync, type Stats } from "node:fs";
import { chmod, lstat, readdir, rename, utimes } from "node:fs/promises";
import { join } from "node:path";
import { toTask } from "../system/threads/threads.ts";
import { type RemoveTree, removeTree } from "../system/trees/remove-tree.ts";
import { addUpFolder, type FolderSize, measureFolder, runOnFolder } from "./folder-size.ts";

/** A folder used this recently may be about to be used again: a caller has just got its path. */
const RECENTLY_USED_MS = 10 * 60_000;

/** What the files and folders of a sealed folder allow, and the folder itself once it is in its place. */
export interface SealedModes {
  readonly file: number;
  readonly executable: number;
  readonly folder: number;
}

export const READ_ONLY: SealedModes = { file: 0o444, executable: 0o555, folder: 0o555 };
/** As git checks them out. Copies that keep these modes can be changed by who made them. */
export const CHECKED_OUT: SealedModes = { file: 0o644, executable: 0o755, folder: 0o755 };

/**
 * Makes a folder ours, with these modes and no setuid bits, so that no program of another user can change it. Only the
 * links named may be in it, and nothing but files and folders beside them. The folder itself stays writable for its
 * owner, because it still has to be moved; see `publishFolder`. For the few files of a commit; a large folder would stand
 * the event loop still (see `sealLargeFolder`).
 */
export function sealFolder(path: string, allowedLinks: ReadonlySet<string>, modes = READ_ONLY): void {
  const owner = { uid: process.geteuid?.() ?? -1, gid: process.getegid?.() ?? -1 };
  const modeOf = (stats: Stats) => {
    if (stats.isDirectory()) return modes.folder;
    return (stats.mode & 0o111) === 0 ? modes.file : modes.executable;
  };
  const seal = (inside: string, relative: string): void => {
    const stats = lstatSync(inside);
    if (!stats.isDirectory() && !stats.isFile() && !(stats.isSymbolicLink() && allowedLinks.has(relative))) {
      throw new Error(`${relative} is neither a file nor a folder.`);
    }
    if (stats.uid !== owner.uid) lchownSync(inside, owner.uid, owner.gid);
    if (stats.isSymbolicLink()) return;
    if (stats.isDirectory())
      for (const name of readdirSync(inside)) seal(join(inside, name), relative === "" ? name : `${relative}/${name}`);
    chmodSync(inside, relative === "" ? 0o755 : modeOf(stats));
  };
  seal(path, "");
}

/** Seals a folder of any size, beside the event loop (see `sealFolder`); returns its size. */
export function sealLargeFolder(path: string, allowedLinks: ReadonlySet<string>): Promise<FolderSize> {
  return runOnFolder(SEAL, { path, allowedLinks });
}

/** Seals on the thread that it is called on. */
export function sealAndMeasure({
  path,
  allowedLinks,
}: {
  path: string;
  allowedLinks: ReadonlySet<string>;
}): FolderSize {
  sealFolder(path, allowedLinks);
  return addUpFolder({ path });
}

const SEAL = toTask(import.meta.url, sealAndMeasure);

/**
 * Moves a sealed folder to its place in one act, where it has this mode. When another process was quicker, its folder
 * stays and ours goes.
 */
export async function publishFolder(
  from: string,
  to: string,
  { remove = removeTree, mode = READ_ONLY.folder }: { remove?: RemoveTree; mode?: number } = {},
): Promise<void> {
  try {
    await rename(from, to);
    await chmod(to, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
    await remove(from);
  }
}

/** Marks a folder as in use now. Returns false when there is none. */
export async function touchFolder(path: string): Promise<boolean> {
  const now = new Date();
  return utimes(path, now, now).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}

export interface PruneOptions {
  /** Total of all folders. */
  readonly bytesMax: number;
  /** Folders unused for longer go in any case. */
  readonly unusedForMs: number;
  /** Names of folders that must stay. */
  readonly inUse: ReadonlySet<string>;
  /** Whether a folder is in use right now, by its path; asked at the last moment. */
  readonly isBusy?: (path: string) => boolean;
  readonly remove?: RemoveTree | undefined;
}

/**
 * Removes the folders of `dir` whose name fits, least recently used first, until the rest is small and young enough.
 * Never one in use, or used in the last ten minutes. A folder is moved to `asideDir` before anything of it is deleted,
 * so that half a folder is never taken for a whole one. Returns the names removed.
 */
export async function pruneFolders(
  dir: string,
  asideDir: string,
  name: RegExp,
  options: PruneOptions,
): Promise<string[]> {
  const names = (await readdir(dir)).filter((entry) => name.test(entry));
  const { remove = removeTree } = options;
  const folders = [];
  for (const entry of names) {
    const path = join(dir, entry);
    const stats = await lstat(path).catch(() => undefined);
    folders.push({
      name: entry,
      path,
      usedAtMs: stats?.mtimeMs ?? Date.now(),
      bytes: (await measureFolder(path)).bytes,
    });
  }
  folders.sort((a, b) => a.usedAtMs - b.usedAtMs);
  let bytes = folders.reduce((sum, folder) => sum + folder.bytes, 0);
  const removed: string[] = [];
  for (const folder of folders) {
    const unusedForMs = Date.now() - folder.usedAtMs;
    const isDue = bytes > options.bytesMax || unusedForMs > options.unusedForMs;
    if (!isDue || unusedForMs < RECENTLY_USED_MS || options.inUse.has(folder.name)) continue;
    const aside = join(asideDir, `removed.${folder.name}`);
    await remove(aside);
    if (options.isBusy?.(folder.path) === true || !(await takeAway(folder.path, aside, folder.usedAtMs))) continue;
    await remove(aside);
    bytes -= folder.bytes;
    removed.push(folder.name);
  }
  return removed;
}

/**
 * Moves a folder aside, unless it has been used since it was looked at: measuring all of them takes seconds. A user of
 * a folder touches it first. So either the use is seen here, before or after the move, or the user finds no folder and
 * makes a new one.
 */
async function takeAway(path: string, aside: string, usedAtMs: number): Promise<boolean> {
  const look = (at: string) => lstat(at).catch(() => undefined);
  const before = await look(path);
  if (before?.mtimeMs !== usedAtMs) return false;
  await chmod(path, 0o755); // a folder without write permission cannot be moved to another parent
  await rename(path, aside);
  if ((await look(aside))?.mtimeMs === usedAtMs) return true;
  await publishFolder(aside, path, { mode: before.mode & 0o777 });
  return false;
}
