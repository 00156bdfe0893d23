import { type Db, queryRows } from "../connect.ts";

/** After a break this long nobody knows what was fired meanwhile: what was due then was due while the service was away. */
export const BREAK_SECONDS = 45;
/** A process that looks after schedules and gives no sign for this long is followed by another. */
const HOLD_SECONDS = 30;

export interface Watch {
  /** Whether the holder asking is the one that looks after schedules. */
  readonly held: boolean;
  /** Since when a process has, without a longer break. */
  readonly since: Date;
  /** A change could be pushed to Temporal now. */
  readonly hasChanges: boolean;
  /** Ticks should have their records by now. */
  readonly hasDue: boolean;
}

/** Looks after schedules at `now`, if nobody else does. One process at a time; each says so every few seconds. */
export async function keepWatch(db: Db, { holder, now }: { holder: string; now: Date }): Promise<Watch> {
  const [row] = await queryRows<Watch>(
    db,
    `with kept as (
       insert into schedule_watch as w (holder, since, seen_at) values (:holder, :now, :now)
           on conflict (only_row) do update
          set holder = excluded.holder, seen_at = greatest(w.seen_at, excluded.seen_at),
              since = case when w.seen_at < excluded.seen_at - make_interval(secs => :breakSeconds) then excluded.since
                           else w.since end
        where w.holder in (excluded.holder, '') or w.seen_at < excluded.seen_at - make_interval(secs => :holdSeconds)
       returning w.since
     )
     select exists (select from kept) as held,
            coalesce((select since from kept), (select since from schedule_watch), :now) as since,
            exists (select from schedule_changes where try_at <= now()) as "hasChanges",
            exists (select from schedules where look_at <= cast(:now as timestamptz)) as "hasDue"`,
    { holder, now, breakSeconds: BREAK_SECONDS, holdSeconds: HOLD_SECONDS },
  );
  return row as Watch;
}

/** Lets another process look after schedules at once. */
export async function endWatch(db: Db, holder: string): Promise<void> {
  await queryRows(db, `update schedule_watch set holder = '' where holder = :holder`, { holder });
}
