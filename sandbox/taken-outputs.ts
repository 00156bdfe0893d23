import { copyFileSync, mkdirSync, readFileSync, renameSync, truncateSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join, relative } from "node:path";
import { setImmediate as pause } from "node:timers/promises";
import type { CollectedOutputs } from "./outputs.ts";
import type { CollectedOutput } from "./request.ts";

/** Copying a file of this size takes less time than a message to another thread. */
const AT_ONCE_BYTES_MAX = 64 * 1024;

/** Small ones between two pauses for the event loop: a few milliseconds. */
const FILES_AT_ONCE = 64;

/**
 * Pieces of a large file under way at a time, and their size. A program's memory limit has sent most of such a file to the
 * disk. `copyFile` of Node.js waits for each piece of it, and took 4 to 8.5 s for 2 GiB where these take 2 to 3 s.
 */
const PIECES = 2;
const PIECE_BYTES = 4 * 1024 * 1024;

/**
 * Moves collected outputs from where a program wrote them to `to`. The whole folder is renamed where that is possible;
 * from a disk of its own each file is copied. A file is emptied when it is copied, so that only one is there twice at a
 * time. Returns the same with the paths of now. Outputs of `heldBytesMax` together at most are returned with their contents
 * instead, as files for them take a millisecond. Every process of the execution must be dead.
 */
export async function takeOutputs(
  collected: CollectedOutputs,
  { from, to, heldBytesMax }: { readonly from: string; readonly to: string; readonly heldBytesMax: number },
): Promise<CollectedOutputs> {
  if (from === to) return collected;
  if (heldBytesMax > 0 && collected.outputs.reduce((sum, { bytes }) => sum + bytes, 0) <= heldBytesMax)
    return { ...collected, outputs: await readHeld(collected.outputs) };
  const moved = collected.outputs.map((output) => ({ ...output, path: join(to, relative(from, output.path)) }));
  if (!tryRename(from, to)) {
    mkdirSync(to, { mode: 0o700 });
    for (const [index, { path, bytes }] of collected.outputs.entries()) {
      const target = join(to, String(index));
      if (index % FILES_AT_ONCE === FILES_AT_ONCE - 1) await pause();
      if (bytes <= AT_ONCE_BYTES_MAX) copyFileSync(path, target);
      else {
        await copyLarge(path, target, bytes);
        truncateSync(path);
      }
      moved[index] = { ...(moved[index] as (typeof moved)[number]), path: target };
    }
  }
  return { ...collected, outputs: moved };
}

async function readHeld(outputs: readonly CollectedOutput[]): Promise<CollectedOutput[]> {
  const held: CollectedOutput[] = [];
  for (const output of outputs) {
    const content = readFileSync(output.path);
    if (content.length !== output.bytes) throw new Error("An output has changed while it was taken.");
    if (held.push({ ...output, content }) % FILES_AT_ONCE === 0) await pause();
  }
  return held;
}

/** Copies a file of so many bytes, several pieces at a time. */
async function copyLarge(path: string, target: string, bytes: number): Promise<void> {
  const from = await open(path, "r");
  try {
    const to = await open(target, "wx", 0o600);
    try {
      let next = 0;
      const copyPieces = async (): Promise<void> => {
        const buffer = Buffer.allocUnsafe(PIECE_BYTES);
        while (next < bytes) {
          const start = next;
          next += PIECE_BYTES;
          await copyPiece(from, to, { buffer, start, end: Math.min(next, bytes) });
        }
      };
      await Promise.all(Array.from({ length: PIECES }, copyPieces));
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

async function copyPiece(
  from: FileHandle,
  to: FileHandle,
  { buffer, start, end }: { readonly buffer: Buffer; readonly start: number; readonly end: number },
): Promise<void> {
  for (let at = start; at < end; ) {
    const { bytesRead } = await from.read(buffer, 0, end - at, at);
    if (bytesRead === 0) throw new Error("An output has become shorter while it was copied.");
    for (let written = 0; written < bytesRead; )
      written += (await to.write(buffer, written, bytesRead - written, at + written)).bytesWritten;
    at += bytesRead;
  }
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
