import type { MicroCredits } from "../../domain/credits.ts";
import type { ExecutionState } from "../../domain/execution.ts";
import type { AccountId, CommitId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import { MAIN_SCHEDULE, type ScheduleRef, toScheduleId } from "../../domain/schedules/names.ts";
import type { TickOutcome, TickSource } from "../../domain/schedules/ticks.ts";
import { type Db, queryRows } from "../connect.ts";
import { KEPT_BYTES, type KeptBytes } from "../executions/kept-bytes.ts";
import { BREAK_SECONDS } from "./watch.ts";

/** What became of one time a schedule was due. */
export interface Tick {
  readonly nominalAt: Date;
  readonly outcome: TickOutcome;
  /** For people: why it did not start. Empty when it did. */
  readonly reason: string;
  readonly source: TickSource;
  /** Of `started` and `refused_credits`. The execution itself may not be kept any more. */
  readonly executionId: ExecutionId | null;
  readonly decidedAt: Date;
}

const TICK = `
  t.nominal_at as "nominalAt", t.outcome, t.reason, t.source, t.execution_id as "executionId", t.decided_at as "decidedAt"`;

export type NewTick = Tick & ScheduleRef;

const GIVEN = `
  unnest(cast(:workflowIds as text[]), cast(:nominalAts as timestamptz[]), cast(:outcomes as text[]), cast(:reasons as text[]),
         cast(:sources as text[]), cast(:executionIds as text[]), cast(:decidedAts as timestamptz[]), cast(:scheduleNames as text[]))`;

/** Records ticks; those that have a record keep it. Returns those that are recorded by this. */
export async function insertTicks<Each extends NewTick>(db: Db, ticks: readonly Each[]): Promise<Each[]> {
  return insertFrom(db, ticks, `${GIVEN} as u`, {});
}

/**
 * The same, where nothing is started and the schedule is not locked. Only for ticks up to the end of the declaration
 * they were found in. One that is just being changed is waited for, and what was due after that is decided by the next.
 */
export async function insertUnstartedTicks<Each extends NewTick & { readonly scheduleId: bigint }>(
  db: Db,
  ticks: readonly Each[],
): Promise<Each[]> {
  const source = `(
    with held as materialized (
      select s.id, s.until from schedules s where s.id = any(cast(:heldIds as bigint[])) order by s.id for no key update
    )
    select g.workflow_id, g.nominal_at, g.outcome, g.reason, g.source, g.execution_id, g.decided_at, g.schedule_name
      from rows from (${GIVEN}, unnest(cast(:scheduleIds as bigint[])))
             as g (workflow_id, nominal_at, outcome, reason, source, execution_id, decided_at, schedule_name, schedule_id)
      join held h on h.id = g.schedule_id and (h.until is null or g.nominal_at <= h.until)
  ) as u`;
  const scheduleIds = ticks.map(({ scheduleId }) => String(scheduleId));
  return insertFrom(db, ticks, source, { scheduleIds, heldIds: [...new Set(scheduleIds)] });
}

async function insertFrom<Each extends NewTick>(
  db: Db,
  ticks: readonly Each[],
  source: string,
  bindings: Readonly<Record<string, unknown>>,
): Promise<Each[]> {
  if (ticks.length === 0) return [];
  const rows = await queryRows<Required<ScheduleRef> & { nominalAt: Date }>(
    db,
    `insert into ticks (workflow_id, nominal_at, outcome, reason, source, execution_id, decided_at, schedule_name)
     select u.* from ${source}
         on conflict (workflow_id, schedule_name, nominal_at) do nothing
     returning workflow_id as "workflowId", schedule_name as "scheduleName", nominal_at as "nominalAt"`,
    {
      ...bindings,
      workflowIds: ticks.map((tick) => tick.workflowId),
      nominalAts: ticks.map((tick) => tick.nominalAt.toISOString()),
      outcomes: ticks.map((tick) => tick.outcome),
      reasons: ticks.map((tick) => tick.reason),
      sources: ticks.map((tick) => tick.source),
      executionIds: ticks.map((tick) => tick.executionId),
      decidedAts: ticks.map((tick) => tick.decidedAt.toISOString()),
      scheduleNames: ticks.map(({ scheduleName = MAIN_SCHEDULE }) => scheduleName),
    },
  );
  const keyOf = (tick: ScheduleRef & Pick<NewTick, "nominalAt">): string =>
    `${toScheduleId(tick)} ${tick.nominalAt.getTime()}`;
  const recorded = new Set(rows.map(keyOf));
  return ticks.filter((tick) => recorded.has(keyOf(tick)));
}

/** The names of a workflow's schedules that were due at an instant and started nothing. */
export async function listUnstartedNames(db: Db, workflowId: WorkflowId, nominalAt: Date): Promise<string[]> {
  const rows = await queryRows<{ name: string }>(
    db,
    `select t.schedule_name as name from ticks t
      where t.workflow_id = :workflowId and t.nominal_at = :nominalAt and t.outcome <> 'started' order by t.schedule_name`,
    { workflowId, nominalAt },
  );
  return rows.map(({ name }) => name);
}

/** A tick, and the state of its run now. Null: none was started, or it is not kept any more. */
export type ListedTick = Tick & { readonly status: ExecutionState | null };

/** A schedule's ticks, the newest first, before an instant. */
export async function listTicks(
  db: Db,
  page: ScheduleRef & { before: Date | null; limit: number },
): Promise<ListedTick[]> {
  return queryRows<ListedTick>(
    db,
    `select ${TICK}, e.state as status from ticks t left join executions e on e.id = t.execution_id
      where t.workflow_id = :workflowId and t.schedule_name = :scheduleName
        and t.nominal_at < coalesce(cast(:before as timestamptz), 'infinity')
      order by t.nominal_at desc limit :limit`,
    { ...page, scheduleName: page.scheduleName ?? MAIN_SCHEDULE },
  );
}

/** A schedule's ticks that were started, of those due from `from` up to and with `to`. */
export async function listStartedTicks(
  db: Db,
  given: ScheduleRef & { from: Date | undefined; to: Date | undefined },
): Promise<{ nominalAt: Date; executionId: ExecutionId }[]> {
  const { workflowId, scheduleName = MAIN_SCHEDULE, from, to } = given;
  if (from === undefined || to === undefined) return [];
  return queryRows(
    db,
    `select t.nominal_at as "nominalAt", t.execution_id as "executionId" from ticks t
      where t.workflow_id = :workflowId and t.schedule_name = :scheduleName and t.nominal_at >= :from and t.nominal_at <= :to and t.outcome = 'started'`,
    { workflowId, scheduleName, from, to },
  );
}

/** The recorded ticks of several stretches of time, each after `since` up to and with `until`. */
export async function listRecorded(
  db: Db,
  stretches: readonly (Required<ScheduleRef> & { readonly since: Date; readonly until: Date })[],
): Promise<(Required<ScheduleRef> & { nominalAt: Date })[]> {
  return queryRows(
    db,
    `select t.workflow_id as "workflowId", t.schedule_name as "scheduleName", t.nominal_at as "nominalAt"
       from unnest(cast(:workflowIds as text[]), cast(:names as text[]), cast(:sinces as timestamptz[]), cast(:untils as timestamptz[]))
              as u (id, name, since, until)
       join ticks t on t.workflow_id = u.id and t.schedule_name = u.name and t.nominal_at > u.since and t.nominal_at <= u.until`,
    {
      workflowIds: stretches.map((each) => each.workflowId),
      names: stretches.map((each) => each.scheduleName),
      sinces: stretches.map((each) => each.since.toISOString()),
      untils: stretches.map((each) => each.until.toISOString()),
    },
  );
}

/**
 * Removes the records of ticks that were decided more than `days` ago, the oldest first, at most `limit`. Returns how many. Those
 * of a declaration that has not accounted for them yet stay: it would give them another record, and perhaps start them again.
 */
export async function removeTicks(db: Db, input: { days: number; limit: number }): Promise<number> {
  const rows = await queryRows(
    db,
    `delete from ticks where ctid = any(array(
       select t.ctid from ticks t where t.decided_at < now() - make_interval(days => cast(:days as int))
          and not exists (
            select from schedules s
             where s.workflow_id = t.workflow_id and s.name = t.schedule_name and s.look_at is not null and t.nominal_at > s.accounted_until
          )
        order by t.decided_at limit :limit for update skip locked))
     returning 1`,
    input,
  );
  return rows.length;
}

/** What a tick needs to know of its workflow: its latest commit, and its account. */
export interface TickTarget {
  readonly accountId: AccountId;
  readonly available: MicroCredits;
  readonly kept: KeptBytes;
  /** Null when the workflow has no commit. */
  readonly commitId: CommitId | null;
  readonly manifest: unknown;
}

/** What a tick is decided by, beside its schedule. */
export interface TickGround {
  /** The tick has this record already. */
  readonly known: Pick<Tick, "outcome" | "executionId"> | undefined;
  /** Since when a process has looked after schedules without a longer break: `now` itself when nobody does. */
  readonly watchedSince: Date;
  /** Undefined when the workflow is deleted. */
  readonly target: TickTarget | undefined;
  /** Open executions of the schedule, of past ticks that were asked for or of all others: those that wait are in order. */
  readonly underWay: readonly ExecutionId[];
  readonly waiting: readonly ExecutionId[];
}

type GroundRow = Pick<TickGround, "watchedSince" | "underWay" | "waiting"> & {
  readonly [Field in keyof TickTarget]: TickTarget[Field] | null;
} & { readonly outcome: TickOutcome | null; readonly executionId: ExecutionId | null };

const openOf = (condition: string): string => `
  array(select e.id from executions e
         where e.workflow_id = :workflowId and e.trigger = 'schedule' and ${condition}
           and e.backfilled = :backfilled and coalesce(e.schedule_name, 'schedule') = :scheduleName and cast(:overlaps as boolean)`;

/**
 * Reads what a tick is decided by: one statement, which the caller makes after the schedule was locked. With
 * `overlaps: false` nobody asks for open executions, and none are listed.
 */
export async function readTickGround(
  db: Db,
  given: Required<ScheduleRef> & {
    readonly nominalAt: Date;
    readonly now: Date;
    readonly backfilled: boolean;
    readonly overlaps: boolean;
  },
): Promise<TickGround> {
  const [row] = await queryRows<GroundRow>(
    db,
    `select t.outcome, t.execution_id as "executionId", coalesce(v.since, :now) as "watchedSince",
            w.account_id as "accountId", a.balance - a.reserved as available, ${KEPT_BYTES} as kept, w.head as "commitId", c.manifest,
            ${openOf(`e.state in ('queued', 'running') and e.admitted_at is not null`)} order by e.id) as "underWay",
            ${openOf(`e.state = 'queued' and e.admitted_at is null`)} order by e.turn) as waiting
       from (values (1)) as one
       left join ticks t on t.workflow_id = :workflowId and t.schedule_name = :scheduleName and t.nominal_at = :nominalAt
       left join schedule_watch v on v.seen_at >= cast(:now as timestamptz) - make_interval(secs => :breakSeconds)
       left join workflows w on w.id = :workflowId and w.deleted_at is null
       left join accounts a on a.id = w.account_id
       left join commits c on c.workflow_id = w.id and c.id = w.head`,
    { ...given, breakSeconds: BREAK_SECONDS },
  );
  const { outcome, executionId, watchedSince, underWay, waiting, ...target } = row as GroundRow;
  return {
    known: outcome === null ? undefined : { outcome, executionId },
    watchedSince,
    target: target.accountId === null ? undefined : (target as TickTarget),
    underWay,
    waiting,
  };
}
