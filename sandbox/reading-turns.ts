import type { Readable } from "node:stream";

/** Of the event loop's time, what may go into reading programs that write without end. All else is for calls and for other programs. */
const SHARE = 0.2;
/** What each stream may take before it waits for turns: some megabytes of lines, more than nearly all programs write. */
const FREE_MS = 10;
/** What all others may take at once after a time without any. */
const BURST_MS = 20;
/** What it costs to be given a chunk, beside what is done with it. */
const GIVEN_MS = 0.03;

/** Reads the streams of programs, so that those that write without end leave time to all others. */
export interface ReadingTurns {
  /**
   * Gives each chunk of the stream to `take`. A stream that has taken much time waits for its turn before each chunk, among
   * those that did so, too. Its program waits for it when the pipe is full. The answer ends that, once its writers are
   * dead: what is left in the pipe is then read at once.
   */
  follow(stream: Readable, take: (chunk: Buffer) => void): () => void;
}

/** Creates the turns of all programs of one event loop. `now` is in milliseconds. */
export function createReadingTurns(now: () => number = () => performance.now()): ReadingTurns {
  const waiting: Readable[] = [];
  let leftMs = BURST_MS;
  let countedAtMs = now();
  let timer: NodeJS.Timeout | undefined;

  const count = (): void => {
    const atMs = now();
    leftMs = Math.min(BURST_MS, leftMs + (atMs - countedAtMs) * SHARE);
    countedAtMs = atMs;
  };
  const giveTurn = (): void => {
    timer = undefined;
    count();
    if (leftMs >= 0) waiting.shift()?.resume();
    plan();
  };
  const plan = (): void => {
    if (waiting.length > 0) timer ??= setTimeout(giveTurn, Math.max(1, Math.ceil(-leftMs / SHARE))).unref();
  };

  return {
    follow(stream, take) {
      let freeMs = FREE_MS;
      let isLast = false;
      stream.on("data", (chunk: Buffer) => {
        const beganAtMs = now();
        take(chunk);
        const tookMs = now() - beganAtMs + GIVEN_MS;
        if (isLast) return;
        if (freeMs > 0) return void (freeMs -= tookMs);
        count();
        leftMs -= tookMs;
        stream.pause();
        waiting.push(stream);
        plan();
      });
      return () => {
        isLast = true;
        const at = waiting.indexOf(stream);
        if (at < 0) return;
        waiting.splice(at, 1);
        stream.resume();
      };
    },
  };
}
