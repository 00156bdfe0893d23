import { setTimeout as sleep } from "node:timers/promises";
import type { PythonControl } from "../../activities/index.ts";
import type { Db } from "../../db/connect.ts";
import { handOverAttempts } from "../../db/executions/attempts.ts";
import { withTimeout } from "../../system/with-timeout.ts";
import type { Settings } from "../config.ts";
import type { Listener } from "../executions/listener.ts";
import type { Presence } from "../executions/presence.ts";
import type { HttpsServer } from "../http/server/server.ts";
import type { Log } from "../log.ts";
import type { Workers } from "../temporal/workers.ts";
import { UNASKED_DRAIN_MS } from "./lifecycle.ts";

/** What a process knows of its own end. */
export interface Stopping {
  /** From the request to stop on. */
  isStopping: boolean;
  /** Aborted when calls and streams that wait are answered with what is known. */
  readonly leaving: AbortController;
}

export interface DrainDeps {
  readonly settings: Settings;
  readonly stopping: Stopping;
  /** Reports to the other processes that this one begins nothing any more. */
  readonly presence: Pick<Presence, "now">;
  readonly db: Db;
  readonly processId: string;
  readonly listener: Pick<Listener, "release">;
  /** Undefined in a process that only answers callers. */
  readonly programs:
    | { readonly python: Pick<PythonControl, "drain">; readonly workers: Pick<Workers, "shutdown"> }
    | undefined;
  readonly log: Log;
}

/** The part of a process that takes calls. */
export interface CallersServer extends Pick<HttpsServer, "leave"> {
  /** Ends the streams that have no end of their own. */
  readonly endStreams: () => void;
}

/**
 * Takes a process from the request to stop to where nothing waits in it, and closes nothing that others need. Says first
 * that the process is not ready, for as long as a balancer takes to notice. Then takes no calls and begins no programs;
 * those under way get `TREADLE_DRAIN_SECONDS`. What still runs is handed to the next process, and who waits gets 202.
 * `asked` is false when the process stops because a server is gone: then nobody waits for a balancer.
 */
export async function drain(deps: DrainDeps, callers: CallersServer | undefined, asked: boolean): Promise<void> {
  const { settings, stopping, programs } = deps;
  stopping.isStopping = true;
  void deps.presence.now();
  if (asked) await sleep(settings.TREADLE_STOP_DELAY_SECONDS * 1000);
  const drainMs = asked ? settings.TREADLE_DRAIN_SECONDS * 1000 : UNASKED_DRAIN_MS;
  callers?.endStreams();
  const callsEnded = callers?.leave();
  if (programs !== undefined) await drainPrograms(deps, programs, { drainMs, asked });
  else if (callsEnded !== undefined) await withTimeout(callsEnded, drainMs, () => undefined);
  deps.listener.release();
  stopping.leaving.abort();
}

async function drainPrograms(
  { db, processId, log }: DrainDeps,
  { python, workers }: NonNullable<DrainDeps["programs"]>,
  { drainMs, asked }: { drainMs: number; asked: boolean },
): Promise<void> {
  workers.shutdown();
  const drained = python.drain(drainMs, asked ? "handed_over" : "broken_off");
  // Before the programs end: a supervisor that loses patience may kill the process meanwhile.
  if (asked)
    await handOverAttempts(db, { processId }).catch((error: unknown) =>
      log.warn({ event: "fault", error }, "The executions of this process could not be marked as handed over."),
    );
  await drained;
}
