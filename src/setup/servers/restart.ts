import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../../domain/message-of.ts";
import type { Child } from "./child.ts";

const BACKOFF_MIN_MS = 500;
const BACKOFF_MAX_MS = 10_000;
const CRASHES_MAX = 5;
const CRASH_WINDOW_MS = 60_000;

/** Why an embedded server is gone for good, for a person. */
export interface ServerFailure {
  readonly message: string;
}

export interface SupervisedServer {
  /** The pid of the server that runs now; undefined between a crash and the next start. */
  pid(): number | undefined;
  /** Resolves when the server has crashed too often and is not started again; never when it was stopped by us. */
  readonly exited: Promise<ServerFailure>;
  /** Ends it. Any number of calls, also while it is being restarted. */
  stop(): Promise<void>;
}

export interface SupervisionOptions {
  readonly name: string;
  /** Starts the server and resolves when it is ready; rejects, leaving nothing running, when it is not or on abort. */
  readonly start: (signal: AbortSignal) => Promise<Child>;
  readonly stopGraceMs: number;
  readonly report: (line: string) => void;
  /** Takes the place of the clock in tests. */
  readonly wait?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  readonly now?: () => number;
}

/**
 * Starts a server and keeps it running. After a crash it is started again, at the same address, after 0.5 to 10 s
 * (doubling). After 5 crashes within a minute it is given up, and `exited` says why. The first start is not repeated:
 * its failure rejects.
 */
export async function superviseServer(options: SupervisionOptions): Promise<SupervisedServer> {
  const wait = options.wait ?? ((milliseconds, signal) => sleep(milliseconds, undefined, { signal }));
  const now = options.now ?? Date.now;
  const stopped = new AbortController();
  let child: Child | undefined = await options.start(stopped.signal);
  let crashes: number[] = [];

  const keepRunning = async (): Promise<ServerFailure | undefined> => {
    let message = "";
    while (!stopped.signal.aborted) {
      if (child !== undefined) {
        const end = await child.exited;
        if (stopped.signal.aborted) return undefined;
        message = `${options.name} ended unexpectedly (${end.signal ?? `exit code ${end.code}`}).${quoteTail(child)}`;
        child = undefined;
      }
      crashes = [...crashes.filter((at) => now() - at < CRASH_WINDOW_MS), now()];
      if (crashes.length >= CRASHES_MAX) {
        return {
          message: `${message} ${CRASHES_MAX} times within a minute: it is not started again. Look into the log, then start Treadle again.`,
        };
      }
      const pauseMs = Math.min(BACKOFF_MAX_MS, BACKOFF_MIN_MS * 2 ** (crashes.length - 1));
      options.report(`${message} Starting it again in ${pauseMs / 1000} s.`);
      try {
        await wait(pauseMs, stopped.signal);
        child = await options.start(stopped.signal);
        options.report(`${options.name} is running again.`);
      } catch (error) {
        if (stopped.signal.aborted) return undefined;
        message = messageOf(error);
      }
    }
    return undefined;
  };

  const supervised = keepRunning();
  const exited = new Promise<ServerFailure>((resolve) => {
    void supervised.then((failure) => failure !== undefined && resolve(failure));
  });
  return {
    pid: () => (child?.end() === undefined ? child?.pid : undefined),
    exited,
    stop: async () => {
      stopped.abort();
      await child?.stop({ graceMs: options.stopGraceMs });
      await supervised;
      await child?.stop({ graceMs: options.stopGraceMs }); // one that came up while we were stopping
    },
  };
}

function quoteTail(child: Child): string {
  const lines = child.tail().slice(-5);
  return lines.length === 0 ? "" : ` It last said: ${lines.join(" | ")}`;
}
