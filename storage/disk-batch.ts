import { randomUUID } from "node:crypto";
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { messageOf } from "../domain/message-of.ts";
import { toTask } from "../system/threads/threads.ts";
import { FOLDER_MODE, OBJECT_MODE, PLACE_ATTEMPTS_MAX } from "./disk-layout.ts";

/** Small files for the disk, and the folder where they are written before they get their names. */
interface Batch {
  readonly incoming: string;
  readonly files: readonly { readonly path: string; readonly content: Uint8Array }[];
}

/**
 * Writes small files, each whole under its name or not at all. Returns what went wrong with each, in words; undefined where it
 * is on the disk. For a thread: every call waits for the disk. By the thread pool each file takes some fifteen trips there and
 * back, which cost the event loop a millisecond of processor time.
 */
export function writeBatch({ incoming, files }: Batch): (string | undefined)[] {
  const named = new Set<string>();
  const faults = files.map(({ path, content }) => {
    try {
      for (const folder of writeOne(join(incoming, randomUUID()), path, content)) named.add(folder);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  });
  // The deepest first: on a journaling filesystem that already persists the others.
  for (const folder of [...named].sort((one, other) => other.length - one.length)) syncNames(folder);
  return faults;
}

/** Writes files on a thread. */
export const WRITE_BATCH = toTask(import.meta.url, writeBatch);

/** Returns the folders in which names were given. */
function writeOne(written: string, target: string, content: Uint8Array): string[] {
  try {
    const file = openSync(written, "wx", OBJECT_MODE);
    try {
      fchmodSync(file, OBJECT_MODE);
      writeFileSync(file, content);
      fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
    return giveName(written, target);
  } catch (error) {
    rmSync(written, { force: true });
    throw error;
  }
}

function giveName(written: string, target: string): string[] {
  const named = [dirname(target)];
  for (let attempt = 1; ; attempt += 1) {
    try {
      const first = mkdirSync(dirname(target), { recursive: true, mode: FOLDER_MODE });
      for (let made = dirname(target); first !== undefined && made.length >= first.length; made = dirname(made)) {
        chmodSync(made, FOLDER_MODE);
        named.push(dirname(made));
      }
      renameSync(written, target);
      return named;
    } catch (error) {
      // A delete of the last object in the folder removes the folder too, perhaps just now.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || attempt === PLACE_ATTEMPTS_MAX) throw error;
    }
  }
}

/** Makes the names in a folder last; one that was deleted again meanwhile has none. */
function syncNames(folder: string): void {
  let opened: number | undefined;
  try {
    opened = openSync(folder, "r");
    fsyncSync(opened);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}
