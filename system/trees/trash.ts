import { randomBytes } from "node:crypto";
import { renameSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type RemoveTree, removeTree } from "./remove-tree.ts";

/** What keeps a tree from being removed (a mount, a broken disk) seldom goes within seconds. */
const AGAIN_MS = 60_000;

export interface TrashSettings {
  /** A folder of ours on the file system of the trees. */
  readonly dir: string;
  readonly remove?: RemoveTree;
  /** Receives each failure once for each tree. */
  readonly onError: (path: string, error: unknown) => void;
  readonly againMs?: number;
}

/** Removal that never fails those who ask for it. */
export interface Trash {
  /** Removes a tree. One that cannot be removed is reported, moved out of the way and tried again. Never rejects. */
  readonly discard: RemoveTree;
  /** Tries everything again that is still there. Never rejects. */
  empty(): Promise<void>;
  /** How many trees could not be removed so far. */
  waiting(): number;
  close(): void;
}

export function createTrash({ dir, remove = removeTree, onError, againMs = AGAIN_MS }: TrashSettings): Trash {
  /** Trees that could not be removed and why that was reported already; in the trash, or where they were. */
  const failed = new Set<string>();
  let emptying: Promise<void> | undefined;

  const report = (path: string, error: unknown): void => {
    if (!failed.has(path)) onError(path, error);
    failed.add(path);
  };
  /** The tree's new path, or the old one where it cannot be moved: a file system of its own, or a mount. */
  const moveAside = (path: string): string => {
    const aside = join(dir, randomBytes(8).toString("hex"));
    try {
      renameSync(path, aside);
      return aside;
    } catch {
      return path;
    }
  };
  const tryAgain = async (path: string): Promise<void> => {
    try {
      await remove(path);
      failed.delete(path);
    } catch (error) {
      report(path, error);
    }
  };
  const emptyOnce = async (): Promise<void> => {
    const names = await readdir(dir).catch((error: unknown) => {
      onError(dir, error);
      return [];
    });
    // One after the other: nobody waits for them, and programs need the disk.
    for (const path of new Set([...names.map((name) => join(dir, name)), ...failed])) await tryAgain(path);
  };
  const empty = (): Promise<void> => (emptying ??= emptyOnce().finally(() => (emptying = undefined)));
  const timer = setInterval(() => void empty(), againMs).unref();

  return {
    async discard(path) {
      try {
        await remove(path);
      } catch (error) {
        onError(path, error);
        failed.add(moveAside(path));
      }
    },
    empty,
    waiting: () => failed.size,
    close: () => clearInterval(timer),
  };
}
