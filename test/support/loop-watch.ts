import { readFileSync } from "node:fs";

const TICK_MS = 5;

export interface LoopWatch {
  /** Ends the watching; returns the longest time in milliseconds that one turn of the event loop has computed. */
  stop(): number;
}

/**
 * Watches the event loop of this process. Counts what the main thread computed between two turns of a timer, by the kernel's
 * own account: a machine that gives its time to somebody else changes nothing.
 */
export function watchLoop(): LoopWatch {
  const path = `/proc/self/task/${process.pid}/schedstat`;
  const readMs = (): number => Number(readFileSync(path, "utf8").split(" ", 1)[0]) / 1e6;
  let last = readMs();
  let longest = 0;
  const look = (): void => {
    const now = readMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, TICK_MS);
  return {
    stop() {
      clearInterval(timer);
      look();
      return longest;
    },
  };
}
