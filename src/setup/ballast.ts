import { randomFillSync } from "node:crypto";
import { rmSync, statfsSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";

const MIB = 1024 * 1024;
const BALLAST_FILE = "ballast";
const BALLAST_BYTES = 64 * MIB;
/** Less than a segment of PostgreSQL's log (16 MB) and what Temporal's database writes meanwhile. */
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
 * Keeps a file in the data folder that is good for nothing but to be deleted: when the disk is full, its space lets
 * PostgreSQL and Temporal write again, so that executions can end and their outputs go. Made again when there is plenty of
 * space. `look` does what is to be done now and never rejects; it is also done once a second until `close`.
 */
export function keepBallast(settings: BallastSettings): { look(): Promise<void>; close(): void } {
  const { dataDir, onChange, bytes = BALLAST_BYTES } = settings;
  const path = join(dataDir, BALLAST_FILE);
  const readFree = settings.readFree ?? (() => readFreeBytes(dataDir));
  let looking: Promise<void> | undefined;

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
  const look = (): Promise<void> =>
    (looking ??= lookOnce()
      .catch(() => undefined)
      .finally(() => (looking = undefined)));
  const timer = setInterval(() => void look(), LOOK_EVERY_MS).unref();
  return { look, close: () => clearInterval(timer) };
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
