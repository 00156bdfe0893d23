import { copyFileSync, mkdirSync, renameSync, truncateSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { join, relative } from "node:path";
import type { CollectedOutputs } from "./outputs.ts";

/** Copying a file of this size takes less time than a message to another thread. */
const AT_ONCE_BYTES_MAX = 64 * 1024;

/**
 * Moves collected outputs from where a program wrote them to `to`. The whole folder is renamed where that is possible;
 * from a disk of its own each file is copied. A file is emptied when it is copied, so that only one is there twice at a
 * time. Returns the same with the paths of now. Every process of the execution must be dead.
 */
export async function takeOutputs(collected: CollectedOutputs, from: string, to: string): Promise<CollectedOutputs> {
  if (from === to) return collected;
  const moved = collected.outputs.map((output) => ({ ...output, path: join(to, relative(from, output.path)) }));
  if (!tryRename(from, to)) {
    mkdirSync(to, { mode: 0o700 });
    for (const [index, { path, bytes }] of collected.outputs.entries()) {
      const target = join(to, String(index));
      if (bytes <= AT_ONCE_BYTES_MAX) copyFileSync(path, target);
      else {
        await copyFile(path, target);
        truncateSync(path);
      }
      moved[index] = { ...(moved[index] as (typeof moved)[number]), path: target };
    }
  }
  return { ...collected, outputs: moved };
}

/** False where they are two file systems. */
function tryRename(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    return false;
  }
}
