import type { WorkflowId } from "../../domain/ids.ts";
import type { ScheduleDeclaration } from "../../domain/schedules/declaration.ts";
import { MAIN_SCHEDULE, type ScheduleRef } from "../../domain/schedules/names.ts";
import { type Db, queryRows } from "../connect.ts";

/** A declaration of a workflow's schedule and the time it held for: ticks after `since`, up to and with `until`. */
export interface StoredSchedule extends ScheduleDeclaration {
  readonly id: bigint;
  readonly workflowId: WorkflowId;
  /** Which of the workflow's schedules: `schedule` is that of `triggers.schedule`. */
  readonly scheduleName: string;
  readonly since: Date;
  /** Null: it is the one that holds now. */
  readonly until: Date | null;
  readonly accountedUntil: Date;
  /** Over how long Temporal spreads its firing, because many others are due with it. It is not waited for. */
  readonly spreadSeconds: number;
}

/** The columns of a `StoredSchedule`, of schedules named `s`. */
export const SCHEDULE = `
  s.id, s.workflow_id as "workflowId", s.name as "scheduleName", s.enabled, s.cron, s.timezone, s.overlap, s.catchup,
  s.max_lateness_seconds as "maxLatenessSeconds", s.jitter_seconds as "jitterSeconds", s.since, s.until,
  s.accounted_until as "accountedUntil", s.spread_seconds as "spreadSeconds"`;

/**
 * Locks the schedules that a workflow has now, if any. Their ticks are decided before or after the transaction, by what is
 * declared then. Before the workflow is locked; a tick locks it after its schedule, too.
 */
export async function lockSchedule(tx: Db, workflowId: WorkflowId): Promise<void> {
  await queryRows(
    tx,
    `select s.id from schedules s where s.workflow_id = :workflowId and s.until is null order by s.id for no key update`,
    { workflowId },
  );
}

/** The declaration that counts for a tick of a schedule, locked: its ticks are decided one after the other. */
export async function lockScheduleAt(
  tx: Db,
  { workflowId, scheduleName = MAIN_SCHEDULE }: ScheduleRef,
  at: Date,
): Promise<StoredSchedule | undefined> {
  const lock = async (): Promise<StoredSchedule | undefined> => {
    const [row] = await queryRows<StoredSchedule>(
      tx,
      `select ${SCHEDULE} from schedules s
        where s.workflow_id = :workflowId and s.name = :scheduleName and s.since < :at and (s.until is null or s.until >= :at)
        order by s.since desc, s.id desc limit 1 for no key update`,
      { workflowId, scheduleName, at },
    );
    return row;
  };
  // While the lock was waited for, the declaration may have ended and another begun: only a second statement sees that one.
  return (await lock()) ?? (await lock());
}

/** The declarations that followed others which have ended, each with the id of the one it followed. */
export async function listSuccessors(
  db: Db,
  ended: readonly Pick<StoredSchedule, "id" | "workflowId" | "scheduleName" | "until">[],
): Promise<(StoredSchedule & { readonly followed: bigint })[]> {
  const known = ended.filter(({ until }) => until !== null);
  if (known.length === 0) return [];
  return queryRows(
    db,
    `select u.id as followed, ${SCHEDULE}
       from unnest(cast(:ids as bigint[]), cast(:workflowIds as text[]), cast(:names as text[]), cast(:untils as timestamptz[]))
              as u (id, workflow_id, name, until)
       join schedules s on s.workflow_id = u.workflow_id and s.name = u.name and s.since >= u.until and s.id <> u.id`,
    {
      ids: known.map(({ id }) => String(id)),
      workflowIds: known.map(({ workflowId }) => workflowId),
      names: known.map(({ scheduleName }) => scheduleName),
      untils: known.map(({ until }) => until?.toISOString()),
    },
  );
}

/** Schedules that hold now, in the order of their workflows' ids and their names, of those after `after` (and `afterName` of it). */
export async function listSchedules(
  db: Db,
  page: { after: string; afterName?: string; limit: number },
): Promise<StoredSchedule[]> {
  return queryRows<StoredSchedule>(
    db,
    `select ${SCHEDULE} from schedules s where s.until is null and (s.workflow_id, s.name) > (:after, :afterName)
      order by s.workflow_id, s.name limit :limit`,
    Object.assign({ afterName: "" }, page),
  );
}

/** The schedule of this name that a workflow has now. */
export async function findSchedule(
  db: Db,
  workflowId: WorkflowId,
  scheduleName: string = MAIN_SCHEDULE,
): Promise<StoredSchedule | undefined> {
  const [row] = await queryRows<StoredSchedule>(
    db,
    `select ${SCHEDULE} from schedules s where s.workflow_id = :workflowId and s.name = :scheduleName and s.until is null`,
    { workflowId, scheduleName },
  );
  return row;
}

/** The names of a workflow's schedules, that of `triggers.schedule` first. One that has ended is listed while its history is kept. */
export async function listScheduleNames(
  db: Db,
  workflowId: WorkflowId,
): Promise<{ name: string; isDeclared: boolean }[]> {
  return queryRows(
    db,
    `select s.name, bool_or(s.until is null) as "isDeclared" from schedules s
      where s.workflow_id = :workflowId group by s.name order by s.name <> 'schedule', s.name`,
    { workflowId },
  );
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

/** Removes declarations that ended more than `days` ago and have accounted for all their ticks, at most `limit`. Returns how many. */
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
