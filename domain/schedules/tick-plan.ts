import type { Cron } from "../cron/cron.ts";
import { nextTicks } from "../cron/next-runs.ts";
import { cronOf, type ScheduleDeclaration } from "./declaration.ts";

/** A tick is on time for this long: many at one minute take their turn. */
export const ON_TIME_SECONDS = 60;
/**
 * A tick is left to Temporal for this long, which fires few within a tenth of a second. Of many at one minute it is
 * still firing the first then, and each costs it as much as the execution. Who looks after ticks begins the others
 * meanwhile.
 */
export const LEFT_TO_TEMPORAL_SECONDS = 5;
/** After that, a tick that Temporal fires just then gets its record. */
export const LOOK_AFTER_SECONDS = 1;

/** What decides whether a tick starts. */
export type TickPolicy = Pick<
  ScheduleDeclaration,
  "enabled" | "timezone" | "catchup" | "maxLatenessSeconds" | "jitterSeconds"
> & {
  readonly cron: Cron;
  /** Over how long Temporal spreads its firing, because many others are due with it; 0: not at all. Nothing of a crowd is left to Temporal. */
  readonly spreadSeconds: number;
  /** Until when the declaration holds; null: it still does. */
  readonly until: Date | null;
  /** When the workflow's schedule was due first after that, as it was declared then and while it was enabled; null: not at all. */
  readonly successorDueAt: Date | null;
};

/** A declaration that followed another: for ticks after `since`, up to and with `until`. */
export type Successor = Pick<ScheduleDeclaration, "enabled" | "cron" | "timezone"> & {
  readonly since: Date;
  readonly until: Date | null;
};

/** When something is due first by declarations that followed another, each in its own time; null: never. One that is paused starts nothing. */
export function findFirstDue(successors: readonly Successor[]): Date | null {
  const due = successors.flatMap((each) =>
    each.enabled ? nextTicks(cronOf(each), each.timezone, each.since, 1, each.until ?? undefined) : [],
  );
  return due.toSorted((one, other) => one.getTime() - other.getTime())[0] ?? null;
}

/** From when a process watches. */
export interface Look {
  readonly now: Date;
  /** Since when the service has looked after ticks without a break. A tick due since then is late only because much is due. */
  readonly watchedSince: Date;
}

export type MissedReason = "too_late" | "catchup_none" | "superseded";

/** What has to become of one tick that has no record. `paused`: its schedule was paused when the tick was due. */
export type TickResult =
  | { readonly kind: "start" }
  | { readonly kind: "missed"; readonly reason: MissedReason }
  | { readonly kind: "paused" };

export interface PlannedTick {
  readonly at: Date;
  readonly lateSeconds: number;
  readonly result: TickResult;
}

export interface TickPlan {
  /** Ticks without a record, in order. */
  readonly ticks: readonly PlannedTick[];
  /** Every tick up to here has a record or stands in `ticks`: the next `since`. */
  readonly accountedUntil: Date;
}

/**
 * Returns what becomes of a tick that is due at `at`. One later than `max_lateness` never starts, jitter not counted.
 * One on time always does, with any policy; so does one at whose time the service was there. Otherwise `none` starts nothing,
 * `latest` only a tick after which no other was due while the schedule was enabled, `all` everything.
 */
export function checkTick(policy: TickPolicy, at: Date, { now, watchedSince }: Look): TickResult {
  if (!policy.enabled) return { kind: "paused" };
  const lateMs = now.getTime() - at.getTime() - policy.jitterSeconds * 1_000;
  if (lateMs > policy.maxLatenessSeconds * 1_000) return { kind: "missed", reason: "too_late" };
  if (lateMs <= ON_TIME_SECONDS * 1_000 || at >= watchedSince || policy.catchup === "all") return { kind: "start" };
  if (policy.catchup === "none") return { kind: "missed", reason: "catchup_none" };
  return wasDueAgain(policy, at, now) ? { kind: "missed", reason: "superseded" } : { kind: "start" };
}

/** Whether the schedule was due once more after `at`, up to `now`. What its cron means beyond the time it held for does not count. */
function wasDueAgain({ cron, timezone, until, successorDueAt }: TickPolicy, at: Date, now: Date): boolean {
  const end = until === null || until > now ? now : until;
  return nextTicks(cron, timezone, at, 1, end).length > 0 || (successorDueAt !== null && successorDueAt <= now);
}

/**
 * What has to become of every tick after `since`, as long as the declaration holds, that has no record. The youngest are left to Temporal.
 * At most `countMax` ticks are looked at, the oldest; ask
 * again from `accountedUntil`. `recorded` holds the Unix milliseconds of the ticks that have a record.
 */
export function planTicks(given: {
  readonly policy: TickPolicy;
  readonly since: Date;
  readonly look: Look;
  readonly recorded: ReadonlySet<number>;
  readonly countMax?: number;
}): TickPlan {
  const { policy, since, look, recorded, countMax = 10_000 } = given;
  const ripeMs = look.now.getTime() - ripeningMs(policy) - 1;
  const endMs = Math.min(ripeMs, policy.until?.getTime() ?? Number.POSITIVE_INFINITY);
  const end = new Date(Math.max(since.getTime(), endMs));
  const due = nextTicks(policy.cron, policy.timezone, since, countMax, end);
  const ticks = due
    .filter((at) => !recorded.has(at.getTime()))
    .map(
      (at): PlannedTick => ({
        at,
        lateSeconds: (look.now.getTime() - at.getTime()) / 1_000,
        result: checkTick(policy, at, look),
      }),
    );
  return { ticks, accountedUntil: due.length < countMax ? end : (due.at(-1) ?? since) };
}

/**
 * When to check next whether a declaration's ticks have their records, all up to `accountedUntil` having one. That is
 * once the next tick is no longer Temporal's to fire. Null: none is to come.
 */
export function findNextLook(
  policy: Pick<TickPolicy, "cron" | "timezone" | "jitterSeconds" | "spreadSeconds">,
  { accountedUntil, until }: { accountedUntil: Date; until: Date | null },
): Date | null {
  const [next] = nextTicks(policy.cron, policy.timezone, accountedUntil, 1, until ?? undefined);
  if (next === undefined) return null;
  const afterMs = policy.spreadSeconds > 0 ? 0 : LOOK_AFTER_SECONDS * 1_000;
  return new Date(next.getTime() + ripeningMs(policy) + afterMs);
}

/** How long a tick is left to Temporal. */
function ripeningMs({ jitterSeconds, spreadSeconds }: Pick<TickPolicy, "jitterSeconds" | "spreadSeconds">): number {
  return ((spreadSeconds > 0 ? 0 : LEFT_TO_TEMPORAL_SECONDS) + jitterSeconds) * 1_000;
}
