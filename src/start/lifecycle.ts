import { spawn } from "node:child_process";
import { writeSync } from "node:fs";
import type { Settings } from "../config.ts";
import type { Log } from "../log.ts";

/** Signals that reach a process twice within this time are one: npm passes on the Ctrl-C the terminal sends to both. */
const SAME_SIGNAL_MS = 1_000;
/** What programs are given when the process stops because a server is gone: their results may still be recorded. */
export const UNASKED_DRAIN_MS = 3_000;

/**
 * Resolves at the first request to stop; calls `onSecond` at the next one. SIGHUP asks to read files again, and ends nothing. The
 * exception is a service that writes to a terminal that is gone: that is what closing its window sends.
 */
export function stopRequested(onSecond: () => void): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAt: number | undefined;
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        if (signal === "SIGHUP" && !isTerminalGone()) return;
        const now = Date.now();
        if (firstAt === undefined) {
          firstAt = now;
          resolve(signal);
        } else if (now - firstAt > SAME_SIGNAL_MS) onSecond();
      });
    }
  });
}

/** Returns how long `drain` of draining.ts takes at most before it stops what is still under way, in milliseconds. */
export function drainMsMax({ TREADLE_STOP_DELAY_SECONDS: delay, TREADLE_DRAIN_SECONDS: drain }: Settings): number {
  return Math.max((delay + drain) * 1000, UNASKED_DRAIN_MS);
}

/** Whether standard output was a terminal that has been closed since: writing nothing to one that is there works. */
function isTerminalGone(): boolean {
  if (process.stdout.isTTY !== true) return false;
  try {
    writeSync(process.stdout.fd, "");
    return false;
  } catch {
    return true;
  }
}

/**
 * Logs a rejected promise that nothing handles, and keeps the process running. Node would end it. Every promise should
 * have a handler of its own. A forgotten one is an error of one step, and no tenant may end the service by it.
 */
export function outliveRejections(events: Pick<NodeJS.Process, "on">, log: Pick<Log, "error">): void {
  events.on("unhandledRejection", (error) =>
    log.error(
      { event: "fault", error },
      "A step failed and nothing was waiting for it. The service goes on; please report this.",
    ),
  );
}

/** How long the clean-up of native libraries may take when the process exits. */
const EXIT_MAX_SECONDS = 3;

/** Looks ten times a second, so that it is gone soon after the process is; `kill -0` sends nothing. */
const GUARD = `left=$2; while [ $left -gt 0 ] && kill -0 $1; do sleep 0.1; left=$((left - 1)); done; kill -KILL $1`;

/**
 * Ends this process with `code`, and for certain. `process.exit` waits on this thread for the clean-up of native
 * libraries. One of them was seen to wait for ever when its servers were gone. A shell kills the process then.
 */
export function endProcess(code: number | undefined): never {
  const guard = spawn("/bin/sh", ["-c", GUARD, "sh", String(process.pid), String(EXIT_MAX_SECONDS * 10)], {
    stdio: "ignore",
    detached: true,
  });
  guard.on("error", () => {}); // Without a shell the exit is as certain as Node's own.
  process.exit(code);
}
