import { randomFillSync } from "node:crypto";
import { rmSync, statfsSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { type Repeating, repeat } from "../../system/repeating.ts";

const MIB = 1024 * 1024;
const BALLAST_FILE = "ballast";
const BALLAST_BYTES = 64 * MIB;
/** Less than a segment of PostgreSQL's log (16 MiB) and what Temporal's database writes meanwhile. */
const FREE_BYTES_MIN = 32 * MIB;
/** It is not made where it would soon be needed. */
const FREE_BYTES_PLENTY = 1024 * MIB;
const LOOK_EVERY_MS = 1_000;

export interface BallastSettings {
  readonly dataDir: string;
  readonly onChange: (state: "made" | "given up", freeBytes: number) => void;
  /** What tests replace. */
  readonly readFree?: () => number;
  readonly bytes?: number;
}

/** Deletes the ballast of a data folder; returns whether there was one. */
export function giveUpBallast(dataDir: string): boolean {
  const path = join(dataDir, BALLAST_FILE);
  const wasThere = statSync(path, { throwIfNoEntry: false }) !== undefined;
  if (wasThere) rmSync(path, { force: true });
  return wasThere;
}

/**
 * Keeps a file in the data folder only to delete it when the disk is full. Its space then lets PostgreSQL and Temporal
 * write again, so that executions can end and their outputs go. Made again when there is plenty of space. `look` does
 * what is to be done now and never rejects; it is also done once a second until `close`.
 */
export function keepBallast(settings: BallastSettings): Repeating & { look(): Promise<void> } {
  const { dataDir, onChange, bytes = BALLAST_BYTES } = settings;
  const path = join(dataDir, BALLAST_FILE);
  const readFree = settings.readFree ?? (() => readFreeBytes(dataDir));

  const lookOnce = async (): Promise<void> => {
    const free = readFree();
    const own = statSync(path, { throwIfNoEntry: false })?.size;
    if (free < FREE_BYTES_MIN) {
      if (giveUpBallast(dataDir)) onChange("given up", free);
    } else if (own !== bytes && free > FREE_BYTES_PLENTY + bytes) {
      await write(path, bytes);
      onChange("made", free);
    }
  };
  // What fails, as on a disk that is read-only, is tried again.
  const looking = repeat(lookOnce, { everyMs: LOOK_EVERY_MS, first: "later", onError: () => undefined });
  return { look: looking.now, close: looking.close };
}

/** No zeros: a file system may keep those without space. */
async function write(path: string, bytes: number): Promise<void> {
  const chunk = randomFillSync(Buffer.alloc(MIB));
  const file = await open(path, "w", 0o600);
  try {
    for (let written = 0; written < bytes; written += chunk.length)
      await file.write(chunk, 0, Math.min(chunk.length, bytes - written));
  } finally {
    await file.close();
  }
}

function readFreeBytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}
