import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { withTimeout } from "../system/with-timeout.ts";

/** A path below `/proc` that leads to an end of a pipe of another process. */
export interface EndPath {
  readonly path: string;
  readonly end: "read" | "write";
}

/** Opens ends of pipes anew for us. Throws when one of them is no pipe, or not to be had. */
export function openEnds(ends: readonly EndPath[]): Socket[] {
  const opened: number[] = [];
  try {
    for (const { path, end } of ends) {
      const fd = openSync(path, (end === "read" ? constants.O_RDONLY : constants.O_WRONLY) | constants.O_NONBLOCK);
      opened.push(fd);
      if (!fstatSync(fd).isFIFO()) throw new Error(`${path} is no pipe.`);
    }
    return ends.map(({ end }, index) => {
      const fd = opened[index] as number;
      return new Socket({ fd, readable: end === "read", writable: end === "write" });
    });
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    throw error;
  }
}

/** Waits until everything was read of streams whose writers are all dead; an error is an end as well. */
export async function waitForEnds(streams: readonly Readable[], timeoutMs: number): Promise<void> {
  await Promise.all(streams.map((stream) => waitForEnd(stream, timeoutMs)));
}

async function waitForEnd(stream: Readable, timeoutMs: number): Promise<void> {
  if (stream.readableEnded || stream.destroyed) return;
  const ended = new Promise<void>((resolve) => {
    for (const event of ["end", "close", "error"]) stream.once(event, () => resolve());
  });
  await withTimeout(ended, timeoutMs, () => void stream.destroy());
}
