import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable } from "node:stream";

/**
 * The read ends of pipes that a process of ours made for us; undefined where `/proc` does not give them to us.
 * A pipe can be opened again by name (`/dev/stdout`), which the sockets that Node makes for a child cannot.
 */
export function openPipes(pid: number, descriptors: readonly number[]): Readable[] | undefined {
  try {
    return openEnds(pid, descriptors, "read");
  } catch {
    return undefined;
  }
}

/** Ends of pipes of another process, each opened anew for us. Throws when one of them is no pipe, or not to be had. */
export function openEnds(pid: number, descriptors: readonly number[], end: "read" | "write"): Socket[] {
  const opened: number[] = [];
  const mode = end === "read" ? constants.O_RDONLY : constants.O_WRONLY;
  try {
    for (const descriptor of descriptors) {
      const fd = openSync(`/proc/${pid}/fd/${descriptor}`, mode | constants.O_NONBLOCK);
      opened.push(fd);
      if (!fstatSync(fd).isFIFO()) throw new Error(`Descriptor ${descriptor} of process ${pid} is no pipe.`);
    }
    return opened.map((fd) => new Socket({ fd, readable: end === "read", writable: end === "write" }));
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    throw error;
  }
}

/** Waits until everything was read of streams whose writers are all dead; an error is an end as well. */
export async function waitForEnds(streams: readonly Readable[], timeoutMs: number): Promise<void> {
  await Promise.all(streams.map((stream) => waitForEnd(stream, timeoutMs)));
}

function waitForEnd(stream: Readable, timeoutMs: number): Promise<void> {
  if (stream.readableEnded || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => stream.destroy(), timeoutMs);
    for (const event of ["end", "close", "error"]) {
      stream.once(event, () => {
        clearTimeout(timer);
        resolve();
      });
    }
  });
}
