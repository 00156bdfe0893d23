import type { DecidedTick, Ticks } from "../../activities/ticks.ts";
import type { Db } from "../../db/connect.ts";
import { SCHEDULES_CHANGED } from "../../db/schedule-changes.ts";
import { endWatch, keepWatch, type Watch } from "../../db/schedule-watch.ts";
import { LEFT_TO_TEMPORAL_SECONDS } from "../../domain/schedules/tick-plan.ts";
import type { Log } from "../log.ts";
import type { Notice } from "../waiters.ts";
import { emptyOutbox } from "./outbox.ts";
import { createReconciler } from "./reconciler.ts";
import type { TemporalSchedules } from "./temporal-schedules.ts";
import { accountForTicks } from "./tick-watch.ts";

const LOOK_MS = 10_000;
/** Ticks are due at full minutes: a look is taken as soon as they are no longer Temporal's alone, and a second later than that. */
const LOOK_AFTER_MS = ((LEFT_TO_TEMPORAL_SECONDS + 1) * 1_000) % LOOK_MS;
/** How often Temporal's schedules are compared with those declared. */
const RECONCILE_MS = 600_000;
/** At most this often when ticks were not fired, and not while there are more: much may be due. */
const RECONCILE_AGAIN_MS = 60_000;

export interface KeeperDeps {
  readonly db: Db;
  readonly schedules: TemporalSchedules;
  readonly ticks: Pick<Ticks, "fire">;
  readonly processId: string;
  readonly now: () => Date;
  /** Told of each tick that nothing was started for. */
  readonly onTick?: (tick: DecidedTick) => void;
  readonly log: Log;
}

/**
 * Keeps schedules: tells Temporal what the outbox says, gives ticks that nobody fired their record, and compares Temporal's
 * schedules with those declared. Of all processes one does so at a time; each of the three goes on while another takes long.
 */
export function createKeeper() {
  let opened: ReturnType<typeof keep> | undefined;
  const notice: Notice = { channel: SCHEDULES_CHANGED, receive: () => opened?.hear() };
  return {
    notice,
    /** Until then announcements are left to others. Resolves once it is noted that somebody watches: ticks that come after are judged by it. */
    async open(deps: KeeperDeps): Promise<void> {
      opened = keep(deps);
      await opened.look().catch((error: unknown) => report(deps.log, error));
    },
    async close(): Promise<void> {
      await opened?.close();
      opened = undefined;
    },
  };
}

export type Keeper = ReturnType<typeof createKeeper>;

function keep(deps: KeeperDeps) {
  const { db, log } = deps;
  const watched: { watch: Watch | undefined; reconciledAt: number; isTemporalLate: boolean } = {
    watch: undefined,
    reconciledAt: Number.NEGATIVE_INFINITY,
    isTemporalLate: false,
  };
  const reconciler = createReconciler(deps);
  const closing = new AbortController();
  const { signal } = closing;
  const telling = createChore(log, () => emptyOutbox(deps, signal));
  const reconciling = createChore(log, async () => {
    watched.reconciledAt = Date.now();
    watched.isTemporalLate = false;
    const found = await reconciler.look();
    if (found.different + found.stray > 0)
      log.info({ event: "schedules.differ", ...found }, "Temporal's schedules differ from those declared.");
    if (found.different > 0) telling.start();
  });
  const accounting = createChore(log, async () => {
    const unfired = await accountForTicks(deps, { watchedSince: watched.watch?.since ?? deps.now(), signal });
    if (unfired === 0) return;
    log.info({ event: "schedules.unfired", ticks: unfired }, "Ticks were due that Temporal had not fired yet.");
    watched.isTemporalLate = true;
  });

  async function look(): Promise<void> {
    const watch = await keepWatch(db, { holder: deps.processId, now: deps.now() });
    watched.watch = watch;
    if (!watch.held) return;
    if (watch.hasChanges) telling.start();
    if (watch.hasDue) accounting.start();
    const isLate = watched.isTemporalLate && !watch.hasDue;
    if (Date.now() - watched.reconciledAt > (isLate ? RECONCILE_AGAIN_MS : RECONCILE_MS)) reconciling.start();
  }

  let timer: NodeJS.Timeout;
  const lookLater = (): void => {
    const wait = LOOK_MS - ((Date.now() - LOOK_AFTER_MS) % LOOK_MS);
    timer = setTimeout(() => {
      lookLater();
      look().catch((error: unknown) => report(log, error));
    }, wait).unref();
  };
  lookLater();
  return {
    look,
    hear(): void {
      if (watched.watch?.held === true) telling.start();
    },
    async close(): Promise<void> {
      clearTimeout(timer);
      closing.abort();
      await Promise.all([telling, reconciling, accounting].map((chore) => chore.end()));
      await endWatch(db, deps.processId).catch((error: unknown) => report(log, error));
    },
  };
}

/** Something that is done once at a time. Asked for while it is under way, it is done again after that. */
function createChore(log: Log, run: () => Promise<unknown>) {
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
