import type { WorkflowId } from "../domain/ids.ts";
import type { ScheduleDeclaration } from "../domain/schedules/declaration.ts";
import { type Db, queryRows } from "./connect.ts";

/** A declaration of a workflow's schedule and the time it held for: ticks after `since`, up to and with `until`. */
export interface StoredSchedule extends ScheduleDeclaration {
  readonly id: bigint;
  readonly workflowId: WorkflowId;
  readonly since: Date;
  /** Null: it is the one that holds now. */
  readonly until: Date | null;
  readonly accountedUntil: Date;
  /** Over how long Temporal spreads its firing, because many others are due with it. It is not waited for. */
  readonly spreadSeconds: number;
}

/** Of the schedules due at one minute, so many are fired by Temporal at that minute. Chosen, not measured: few enough that the look, seconds later, has the others. */
const CROWD_MIN = 100;
const SPREAD_SECONDS = 300;

const SCHEDULE = `
  s.id, s.workflow_id as "workflowId", s.enabled, s.cron, s.timezone, s.overlap, s.catchup,
  s.max_lateness_seconds as "maxLatenessSeconds", s.jitter_seconds as "jitterSeconds", s.since, s.until,
  s.accounted_until as "accountedUntil", s.spread_seconds as "spreadSeconds"`;

/**
 * Makes a workflow's schedule the one declared, from `at` on; null: none. Says in the outbox that Temporal is to be told. False,
 * and nothing is written, when the schedule was declared just so already. In the transaction of whoever changes the declaration.
 */
export async function declareSchedule(
  tx: Db,
  given: {
    workflowId: WorkflowId;
    declaration: ScheduleDeclaration | null;
    at: Date;
    /** When the first tick should have a record; null: there is none. */
    lookAt: Date | null;
  },
): Promise<boolean> {
  const { workflowId, declaration, at, lookAt } = given;
  const [current] = await queryRows<StoredSchedule>(
    tx,
    `select ${SCHEDULE} from schedules s where s.workflow_id = :workflowId and s.until is null for no key update`,
    { workflowId },
  );
  if (current === undefined ? declaration === null : declaration !== null && isSame(current, declaration)) return false;
  if (current !== undefined)
    await queryRows(
      tx,
      `update schedules set until = greatest(since, cast(:at as timestamptz)), look_at = :at
        where workflow_id = :workflowId and until is null`,
      { workflowId, at },
    );
  if (declaration !== null) {
    await queryRows(
      tx,
      `insert into schedules (workflow_id, enabled, cron, timezone, overlap, catchup, max_lateness_seconds, jitter_seconds,
                              since, accounted_until, look_at, spread_seconds)
       values (:workflowId, :enabled, :cron, :timezone, :overlap, :catchup, :maxLatenessSeconds, :jitterSeconds,
               greatest(cast(:at as timestamptz), cast(:since as timestamptz)),
               greatest(cast(:at as timestamptz), cast(:since as timestamptz)), :lookAt,
               case when (select count(*) from (select from schedules where look_at = :lookAt limit :crowdMin) others) < :crowdMin
                    then 0 else :spreadSeconds end)`,
      {
        ...{ workflowId, ...declaredOf(declaration), at, since: current?.since ?? at, lookAt },
        ...{ crowdMin: CROWD_MIN, spreadSeconds: SPREAD_SECONDS },
      },
    );
  }
  await noteScheduleChange(tx, [workflowId]);
  return true;
}

/**
 * Locks the schedule that a workflow has now, if any: its ticks are decided before or after what the transaction does, by what is
 * declared then. Before the workflow is locked; a tick locks it after its schedule, too.
 */
export async function lockSchedule(tx: Db, workflowId: WorkflowId): Promise<void> {
  await queryRows(
    tx,
    `select s.id from schedules s where s.workflow_id = :workflowId and s.until is null for no key update`,
    { workflowId },
  );
}

function declaredOf(schedule: ScheduleDeclaration) {
  const { enabled, cron, timezone, overlap, catchup, maxLatenessSeconds, jitterSeconds } = schedule;
  return { enabled, cron, timezone, overlap, catchup, maxLatenessSeconds, jitterSeconds };
}

function isSame(one: ScheduleDeclaration, other: ScheduleDeclaration): boolean {
  return JSON.stringify(declaredOf(one)) === JSON.stringify(declaredOf(other));
}

/** The channel on which it is announced that Temporal is to be told of schedules. */
export const SCHEDULES_CHANGED = "schedules_changed";

/** Says in the outbox that Temporal is to be told of these workflows' schedules, again if it was told before. */
export async function noteScheduleChange(db: Db, workflowIds: readonly WorkflowId[]): Promise<void> {
  await queryRows(
    db,
    `with noted as (
       insert into schedule_changes (workflow_id)
       select u.id from unnest(cast(:workflowIds as text[])) as u (id) order by 1
           on conflict (workflow_id) do update
          set change = nextval('schedule_change_numbers'), noted_at = now(), try_at = '-infinity', failures = 0
     )
     select pg_notify(:channel, '')`,
    { workflowIds: [...workflowIds], channel: SCHEDULES_CHANGED },
  );
}

/** A workflow that Temporal is to be told of, with the schedule it has now; null: none. */
export interface ScheduleChange {
  readonly workflowId: WorkflowId;
  readonly change: bigint;
  readonly schedule: StoredSchedule | null;
}

/** What Temporal is to be told, the oldest first. */
export async function listScheduleChanges(db: Db, limit: number): Promise<ScheduleChange[]> {
  const rows = await queryRows<StoredSchedule & { change: bigint; changed: WorkflowId }>(
    db,
    `select n.workflow_id as changed, n.change, ${SCHEDULE}
       from (select * from schedule_changes where try_at <= now() order by try_at, change limit :limit) n
       left join schedules s on s.workflow_id = n.workflow_id and s.until is null`,
    { limit },
  );
  return rows.map(({ change, changed, ...schedule }) => ({
    workflowId: changed,
    change,
    schedule: schedule.id === null ? null : schedule,
  }));
}

/** Forgets changes that Temporal knows of now; those that were noted again meanwhile stay. */
export async function endScheduleChanges(db: Db, told: readonly ScheduleChange[]): Promise<void> {
  await queryRows(
    db,
    `delete from schedule_changes c using unnest(cast(:ids as text[]), cast(:changes as bigint[])) as t (id, change)
      where c.workflow_id = t.id and c.change = t.change`,
    { ids: told.map((each) => each.workflowId), changes: told.map((each) => String(each.change)) },
  );
}

/** Puts off a change that Temporal could not be told: for a second, then twice as long each time, at most ten minutes. */
export async function putOffScheduleChange(db: Db, { workflowId, change }: ScheduleChange): Promise<void> {
  await queryRows(
    db,
    `update schedule_changes
        set failures = failures + 1, try_at = now() + least(make_interval(secs => power(2, least(failures, 20))), interval '10 minutes')
      where workflow_id = :workflowId and change = :change`,
    { workflowId, change: String(change) },
  );
}

/** How many changes Temporal was not told yet, and since when the oldest waits. */
export async function countScheduleChanges(db: Db): Promise<{ count: number; oldestSeconds: number }> {
  const [row] = await queryRows<{ count: number; oldestSeconds: number }>(
    db,
    `select count(*)::int as count, coalesce(extract(epoch from now() - min(noted_at)), 0)::double precision as "oldestSeconds"
       from schedule_changes`,
  );
  return row as { count: number; oldestSeconds: number };
}

/** The declaration that counts for a tick of a workflow, locked: ticks of one workflow are decided one after the other. */
export async function lockScheduleAt(tx: Db, workflowId: WorkflowId, at: Date): Promise<StoredSchedule | undefined> {
  const lock = async (): Promise<StoredSchedule | undefined> => {
    const [row] = await queryRows<StoredSchedule>(
      tx,
      `select ${SCHEDULE} from schedules s
        where s.workflow_id = :workflowId and s.since < :at and (s.until is null or s.until >= :at)
        order by s.since desc, s.id desc limit 1 for no key update`,
      { workflowId, at },
    );
    return row;
  };
  // While the lock was waited for, the declaration may have ended and another begun: only a second statement sees that one.
  return (await lock()) ?? (await lock());
}

/** The declarations that followed others which have ended, each with the id of the one it followed. */
export async function listSuccessors(
  db: Db,
  ended: readonly Pick<StoredSchedule, "id" | "workflowId" | "until">[],
): Promise<(StoredSchedule & { readonly followed: bigint })[]> {
  const known = ended.filter(({ until }) => until !== null);
  if (known.length === 0) return [];
  return queryRows(
    db,
    `select u.id as followed, ${SCHEDULE}
       from unnest(cast(:ids as bigint[]), cast(:workflowIds as text[]), cast(:untils as timestamptz[])) as u (id, workflow_id, until)
       join schedules s on s.workflow_id = u.workflow_id and s.since >= u.until and s.id <> u.id`,
    {
      ids: known.map(({ id }) => String(id)),
      workflowIds: known.map(({ workflowId }) => workflowId),
      untils: known.map(({ until }) => until?.toISOString()),
    },
  );
}

/** Schedules that hold now, in the order of their workflows' ids, of those after `after`. */
export async function listSchedules(db: Db, page: { after: string; limit: number }): Promise<StoredSchedule[]> {
  return queryRows<StoredSchedule>(
    db,
    `select ${SCHEDULE} from schedules s where s.until is null and s.workflow_id > :after order by s.workflow_id limit :limit`,
    page,
  );
}

/** The schedule that a workflow has now. */
export async function findSchedule(db: Db, workflowId: WorkflowId): Promise<StoredSchedule | undefined> {
  const [row] = await queryRows<StoredSchedule>(
    db,
    `select ${SCHEDULE} from schedules s where s.workflow_id = :workflowId and s.until is null`,
    { workflowId },
  );
  return row;
}

/** Declarations whose next tick should have its record by `now`, the longest due first. */
export async function listSchedulesToLookAt(db: Db, input: { now: Date; limit: number }): Promise<StoredSchedule[]> {
  return queryRows<StoredSchedule>(
    db,
    `select ${SCHEDULE} from schedules s where s.look_at <= :now order by s.look_at limit :limit`,
    input,
  );
}

export interface Accounted {
  readonly id: bigint;
  readonly accountedUntil: Date;
  /** Null: all its ticks have records, and none is to come. */
  readonly lookAt: Date | null;
}

/** Notes how far the ticks of declarations have records. One that was ended meanwhile is looked at again. */
export async function noteAccounted(
  db: Db,
  accounted: readonly Accounted[],
  seen: readonly StoredSchedule[],
): Promise<void> {
  const untilById = new Map(seen.map(({ id, until }) => [id, until]));
  await queryRows(
    db,
    `update schedules s
        set accounted_until = greatest(s.accounted_until, u.accounted_until),
            look_at = case when s.until is not distinct from u.until then u.look_at else s.look_at end
       from unnest(cast(:ids as bigint[]), cast(:accountedUntils as timestamptz[]), cast(:lookAts as timestamptz[]),
                   cast(:untils as timestamptz[])) as u (id, accounted_until, look_at, until)
      where s.id = u.id`,
    {
      ids: accounted.map(({ id }) => String(id)),
      accountedUntils: accounted.map((each) => each.accountedUntil.toISOString()),
      lookAts: accounted.map((each) => each.lookAt?.toISOString() ?? null),
      untils: accounted.map(({ id }) => untilById.get(id)?.toISOString() ?? null),
    },
  );
}

/** Removes declarations that ended more than `days` ago and have accounted for all their ticks, at most `limit`. Answers how many. */
export async function removeEndedSchedules(db: Db, input: { days: number; limit: number }): Promise<number> {
  const rows = await queryRows(
    db,
    `delete from schedules where ctid = any(array(
       select s.ctid from schedules s
        where s.until < now() - make_interval(days => cast(:days as int)) and s.look_at is null
        limit :limit for update skip locked))
     returning 1`,
    input,
  );
  return rows.length;
}

/** After a break this long nobody knows what was fired meanwhile: what was due then was due while the service was away. */
const BREAK_SECONDS = 45;
/** A process that looks after schedules and is not heard of for this long is followed by another. */
const HOLD_SECONDS = 30;

export interface Watch {
  /** Whether the holder asking is the one that looks after schedules. */
  readonly held: boolean;
  /** Since when somebody has without a longer break. */
  readonly since: Date;
  /** Temporal could be told something now. */
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

/** Since when somebody has looked after schedules without a longer break, at `now`: `now` itself when nobody does. */
export async function findWatchedSince(db: Db, now: Date): Promise<Date> {
  const [row] = await queryRows<{ since: Date }>(
    db,
    `select since from schedule_watch where seen_at >= cast(:now as timestamptz) - make_interval(secs => :breakSeconds)`,
    { now, breakSeconds: BREAK_SECONDS },
  );
  return row?.since ?? now;
}
