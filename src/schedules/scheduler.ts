import type { DecidedTick, Ticks } from "../../activities/ticks.ts";
import type { Db } from "../../db/connect.ts";
import { SCHEDULES_CHANGED } from "../../db/schedules/changes.ts";
import { endWatch, keepWatch, type Watch } from "../../db/schedules/watch.ts";
import type { Subscription } from "../../db/subscription.ts";
import { LEFT_TO_TEMPORAL_SECONDS, LOOK_AFTER_SECONDS } from "../../domain/schedules/tick-plan.ts";
import type { Log } from "../log.ts";
import { emptyOutbox } from "./outbox.ts";
import { createReconciler } from "./reconciler.ts";
import type { TemporalSchedules } from "./temporal-schedules.ts";
import { accountForTicks } from "./tick-watch.ts";

const POLL_MS = 10_000;
/**
 * Ticks are due at full minutes. Temporal has five seconds to fire them; the scheduler polls a second after that, so
 * that those it did not fire start soon.
 */
const POLL_AFTER_MS = ((LEFT_TO_TEMPORAL_SECONDS + LOOK_AFTER_SECONDS) * 1_000) % POLL_MS;
/** Those of a crowd are not left to Temporal, which fires them later. */
const CROWD_AFTER_MS = 250;
const MINUTE_MS = 60_000;
/** How often Temporal's schedules are compared with those declared. */
const RECONCILE_MS = 600_000;
/** At most this often when ticks were not fired, and not while there are more: much may be due. */
const RECONCILE_AGAIN_MS = 60_000;

export interface SchedulerDeps {
  readonly db: Db;
  readonly schedules: TemporalSchedules;
  readonly ticks: Pick<Ticks, "fire">;
  /** Ticks that it starts at a time. */
  readonly startsMax: number;
  readonly processId: string;
  readonly now: () => Date;
  /** Called with each tick that nothing was started for. */
  readonly onTick?: (tick: DecidedTick) => void;
  readonly log: Log;
}

/**
 * Creates the scheduler loop. It pushes the outbox to Temporal, records ticks that were not fired, and compares
 * Temporal's schedules with those declared. One process at a time does so, the one that holds the watch. Each of the three
 * goes on while another takes long.
 */
export function createScheduler() {
  let opened: ReturnType<typeof startLoop> | undefined;
  const subscription: Subscription = { channel: SCHEDULES_CHANGED, onNotify: () => opened?.onNotify() };
  return {
    subscription,
    /**
     * Starts the loop; until then notifications are left to other processes. Resolves when the record says that a process
     * watches: it decides the ticks that come after.
     */
    async open(deps: SchedulerDeps): Promise<void> {
      opened = startLoop(deps);
      await opened.poll().catch((error: unknown) => report(deps.log, error));
    },
    async close(): Promise<void> {
      await opened?.close();
      opened = undefined;
    },
  };
}

function startLoop(deps: SchedulerDeps) {
  const { db, log } = deps;
  const watched: { watch: Watch | undefined; reconciledAt: number; isTemporalLate: boolean } = {
    watch: undefined,
    reconciledAt: Number.NEGATIVE_INFINITY,
    isTemporalLate: false,
  };
  const reconciler = createReconciler(deps);
  const closing = new AbortController();
  const { signal } = closing;
  const pushing = createSingleFlight(log, () => emptyOutbox(deps, signal));
  const reconciling = createSingleFlight(log, async () => {
    watched.reconciledAt = Date.now();
    watched.isTemporalLate = false;
    const found = await reconciler.compare();
    if (found.different + found.stray > 0)
      log.info({ event: "schedules.differ", ...found }, "Temporal's schedules differ from those declared.");
    if (found.different > 0) pushing.start();
  });
  const accounting = createSingleFlight(log, async () => {
    const unfired = await accountForTicks(deps, { watchedSince: watched.watch?.since ?? deps.now(), signal });
    if (unfired === 0) return;
    log.info({ event: "schedules.unfired", ticks: unfired }, "Ticks were due that Temporal had not fired yet.");
    watched.isTemporalLate = true;
  });

  async function poll(): Promise<void> {
    const watch = await keepWatch(db, { holder: deps.processId, now: deps.now() });
    watched.watch = watch;
    if (!watch.held) return;
    if (watch.hasChanges) pushing.start();
    if (watch.hasDue) accounting.start();
    const isLate = watched.isTemporalLate && !watch.hasDue;
    if (Date.now() - watched.reconciledAt > (isLate ? RECONCILE_AGAIN_MS : RECONCILE_MS)) reconciling.start();
  }

  let timer: NodeJS.Timeout;
  const pollLater = (): void => {
    const wait = Math.min(untilNext(POLL_MS, POLL_AFTER_MS), untilNext(MINUTE_MS, CROWD_AFTER_MS));
    timer = setTimeout(() => {
      pollLater();
      poll().catch((error: unknown) => report(log, error));
    }, wait).unref();
  };
  pollLater();
  return {
    poll,
    onNotify(): void {
      if (watched.watch?.held === true) pushing.start();
    },
    async close(): Promise<void> {
      clearTimeout(timer);
      closing.abort();
      await Promise.all([pushing, reconciling, accounting].map((flight) => flight.end()));
      await endWatch(db, deps.processId).catch((error: unknown) => report(log, error));
    },
  };
}

/** Milliseconds until the next time that lies `afterMs` after a multiple of `everyMs`. */
function untilNext(everyMs: number, afterMs: number): number {
  return everyMs - ((Date.now() - afterMs) % everyMs);
}

/** Creates work that is done once at a time. Started while it is under way, it is done again after that. */
function createSingleFlight(log: Log, run: () => Promise<unknown>) {
  let underWay: Promise<void> | undefined;
  let again = false;
  let ended = false;

  async function work(): Promise<void> {
    do {
      again = false;
      await run().catch((error: unknown) => report(log, error));
    } while (again && !ended);
    underWay = undefined;
  }

  return {
    start(): void {
      if (ended) return;
      if (underWay === undefined) underWay = work();
      else again = true;
    },
    async end(): Promise<void> {
      ended = true;
      await underWay;
    },
  };
}

function report(log: Log, error: unknown): void {
  log.warn({ event: "fault", error }, "Looking after schedules failed; it is tried again soon.");
}
