import { randomBytes } from "node:crypto";
import { opendirSync, rmdirSync, unlinkSync } from "node:fs";
import { opendir, rename, rmdir, unlink } from "node:fs/promises";
import { ignoreMissing } from "../ignore-missing.ts";
import { openFolder } from "./open-folder.ts";

/** What most removals find. More is left to the thread pool. */
const ENTRIES_AT_ONCE_MAX = 8;
/** What may happen to a path between two looks at it. */
const GONE = "ENOENT";

/** Removes a tree, or rejects with the first reason why something of it is still there. */
export type RemoveTree = (path: string) => Promise<void>;

/**
 * Removes a file, a link or a folder with all that is in it: any depth, any names, folders of any mode that are ours.
 * Nothing there is fine. Follows no link inside the tree, also while others change it; `path` itself must lie in a folder
 * that only the service can write. Removes as much as it can before it rejects. Blocks the event loop for a few entries at most.
 */
export async function removeTree(path: string | Buffer): Promise<void> {
  if (removeFew(path)) return;
  const top = await openFolder(path).catch(ignoreMissing);
  if (top === undefined) return;
  const flatten = createFlattener(top.base);
  try {
    for (;;) {
      const { found, done, fault } = await flatten();
      if (found === 0) break;
      if (done === 0) throw fault ?? new Error(`${path.toString()} is being written to and cannot be removed.`);
    }
  } finally {
    await top.close();
  }
  await rmdir(path).catch(ignoreMissing);
}

/**
 * Removes a file, or a folder of a few files, and returns whether it is gone now. Anything else is for `removeTree`, errors
 * included. Blocks the event loop for a few entries.
 */
export function removeFew(path: string | Buffer): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === GONE) return true;
    if (code !== "ENOTEMPTY" && code !== "ENOTDIR") return false;
    try {
      if (code === "ENOTEMPTY") return isFewFilesRemoved(path);
      unlinkSync(path);
      return true;
    } catch {
      return false;
    }
  }
}

function isFewFilesRemoved(path: string | Buffer): boolean {
  const names: Buffer[] = [];
  const entries = opendirSync(path, { encoding: "buffer" as BufferEncoding });
  try {
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
      if (entry.isDirectory() || names.push(toName(entry)) > ENTRIES_AT_ONCE_MAX) return false;
    }
  } finally {
    entries.closeSync();
  }
  for (const name of names) unlinkSync(inside(path, name));
  rmdirSync(path);
  return true;
}

interface Pass {
  readonly found: number;
  /** Entries that were removed or moved up. */
  readonly done: number;
  readonly fault: Error | undefined;
}

/**
 * Removes what the folder holds in passes. A folder two levels below is moved up one level before it is emptied, so no
 * path is longer than two names. A tree of 2 levels takes as many descriptors as one of 20,000.
 */
function createFlattener(top: string): () => Promise<Pass> {
  const mark = randomBytes(8).toString("hex"); // A name that nothing in the tree has.
  let moved = 0;

  return async () => {
    const pass: { -readonly [Name in keyof Pass]: Pass[Name] } = { found: 0, done: 0, fault: undefined };
    const attempt = async (act: () => Promise<boolean>): Promise<void> => {
      try {
        if (await act()) pass.done += 1;
      } catch (error) {
        pass.fault ??= error as Error;
      }
    };
    const moveUp = async (path: Buffer): Promise<boolean> => {
      await (await openFolder(path)).close(); // With the right to write it, which moving it needs.
      await rename(path, `${top}/${mark}.${++moved}`);
      return true;
    };
    const takeFolder = async (path: Buffer): Promise<boolean> => {
      const folder = await openFolder(path);
      try {
        for await (const name of listNames(folder.base)) {
          const below = inside(folder.base, name);
          await attempt(async () => (await isRemoved(below)) || moveUp(below));
        }
      } finally {
        await folder.close();
      }
      return isRemoved(path);
    };
    for await (const name of listNames(top)) {
      pass.found += 1;
      const path = inside(top, name);
      await attempt(async () => (await isRemoved(path)) || takeFolder(path));
    }
    return pass;
  };
}

/** Returns whether a file or an empty folder is gone now; false for a folder that holds something. */
async function isRemoved(path: Buffer): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === GONE) return true;
    // A folder: EISDIR on Linux, EPERM elsewhere, and for what must not be deleted, as rmdir then says.
    if (code !== "EISDIR" && code !== "EPERM") throw error;
  }
  return rmdir(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === GONE) return true;
      if (error.code === "ENOTEMPTY" || error.code === "EEXIST") return false;
      throw error;
    },
  );
}

async function* listNames(folder: string): AsyncGenerator<Buffer> {
  for await (const entry of await opendir(folder, { encoding: "buffer" as BufferEncoding })) yield toName(entry);
}

function inside(folder: string | Buffer, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(folder), Buffer.from("/"), name]);
}

function toName(entry: { readonly name: string }): Buffer {
  return entry.name as unknown as Buffer;
}
