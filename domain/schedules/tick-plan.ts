import type { Cron } from "../manifest/cron.ts";
import type { Catchup } from "../manifest/manifest.ts";
import { nextTicks } from "../manifest/ticks.ts";

/** A tick is on time for this long: Temporal fires it, and many at one minute take their turn. */
export const ON_TIME_SECONDS = 60;

export interface CatchupPolicy {
  readonly catchup: Catchup;
  readonly maxLatenessSeconds: number;
}

export type MissedReason = "too_late" | "catchup_none" | "superseded";

/** What has to become of one tick that has no record. `paused` is for ticks of a time in which the schedule was paused. */
export type TickVerdict =
  | { readonly kind: "start" }
  | { readonly kind: "missed"; readonly reason: MissedReason }
  | { readonly kind: "paused" };

export interface PlannedTick {
  readonly at: Date;
  readonly lateSeconds: number;
  readonly verdict: TickVerdict;
}

export interface TickPlan {
  /** Ticks without a record, in order. */
  readonly ticks: readonly PlannedTick[];
  /** Every tick up to here has a record or stands in `ticks`: the next `since`. */
  readonly accountedUntil: Date;
}

/** A time in which the schedule was paused: from `from` on, until before `to`. Null is still paused. */
export interface Pause {
  readonly from: Date;
  readonly to: Date | null;
}

/**
 * Whether a tick that is due at `at` and looked at at `now` starts. On time always, by whatever policy; later than
 * `max_lateness` never. In between `none` starts nothing, `latest` only a tick after which no other was due, `all` everything.
 */
export function judgeTick(
  schedule: { cron: Cron; timezone: string; policy: CatchupPolicy },
  at: Date,
  now: Date,
): TickVerdict {
  const { cron, timezone, policy } = schedule;
  const lateMs = now.getTime() - at.getTime();
  if (lateMs > policy.maxLatenessSeconds * 1_000) return { kind: "missed", reason: "too_late" };
  if (lateMs <= ON_TIME_SECONDS * 1_000 || policy.catchup === "all") return { kind: "start" };
  if (policy.catchup === "none") return { kind: "missed", reason: "catchup_none" };
  const isLatest = nextTicks(cron, timezone, at, 1, now).length === 0;
  return isLatest ? { kind: "start" } : { kind: "missed", reason: "superseded" };
}

/**
 * What has to become of every tick after `since` that has no record, up to `now` less the time in which a tick is on time
 * (`ON_TIME_SECONDS`): those are still Temporal's to fire. At most `countMax` ticks are looked at, the oldest; ask again from
 * `accountedUntil` while that is earlier. `recorded` holds the Unix milliseconds of the ticks that have a record.
 */
export function planTicks(given: {
  readonly cron: Cron;
  readonly timezone: string;
  readonly policy: CatchupPolicy;
  readonly since: Date;
  readonly now: Date;
  readonly recorded: ReadonlySet<number>;
  readonly pauses?: readonly Pause[];
  readonly countMax?: number;
}): TickPlan {
  const { cron, timezone, since, now, recorded, pauses = [], countMax = 10_000 } = given;
  const until = new Date(Math.max(since.getTime(), now.getTime() - ON_TIME_SECONDS * 1_000 - 1));
  const due = nextTicks(cron, timezone, since, countMax, until);
  const ticks = due
    .filter((at) => !recorded.has(at.getTime()))
    .map((at): PlannedTick => {
      const verdict: TickVerdict = isPaused(pauses, at) ? { kind: "paused" } : judgeTick(given, at, now);
      return { at, lateSeconds: (now.getTime() - at.getTime()) / 1_000, verdict };
    });
  return { ticks, accountedUntil: due.length < countMax ? until : (due.at(-1) ?? since) };
}

function isPaused(pauses: readonly Pause[], at: Date): boolean {
  return pauses.some(({ from, to }) => at >= from && (to === null || at < to));
}
