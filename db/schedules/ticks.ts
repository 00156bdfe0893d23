import type { MicroCredits } from "../../domain/credits.ts";
import type { AccountId, CommitId, ExecutionId, WorkflowId } from "../../domain/ids.ts";
import type { TickTimes } from "../../domain/schedules/tick-values.ts";
import type { TickOutcome, TickSource } from "../../domain/schedules/ticks.ts";
import { type Db, queryRows } from "../connect.ts";
import { KEPT_BYTES, type KeptBytes } from "../executions/kept-bytes.ts";

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

export type NewTick = Omit<Tick, "decidedAt"> & { readonly workflowId: WorkflowId; readonly decidedAt: Date };

const GIVEN = `
  unnest(cast(:workflowIds as text[]), cast(:nominalAts as timestamptz[]), cast(:outcomes as text[]), cast(:reasons as text[]),
         cast(:sources as text[]), cast(:executionIds as text[]), cast(:decidedAts as timestamptz[]))`;

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
    select g.workflow_id, g.nominal_at, g.outcome, g.reason, g.source, g.execution_id, g.decided_at
      from rows from (${GIVEN}, unnest(cast(:scheduleIds as bigint[])))
             as g (workflow_id, nominal_at, outcome, reason, source, execution_id, decided_at, schedule_id)
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
  const rows = await queryRows<{ workflowId: WorkflowId; nominalAt: Date }>(
    db,
    `insert into ticks (workflow_id, nominal_at, outcome, reason, source, execution_id, decided_at)
     select u.* from ${source}
         on conflict (workflow_id, nominal_at) do nothing
     returning workflow_id as "workflowId", nominal_at as "nominalAt"`,
    {
      ...bindings,
      workflowIds: ticks.map((tick) => tick.workflowId),
      nominalAts: ticks.map((tick) => tick.nominalAt.toISOString()),
      outcomes: ticks.map((tick) => tick.outcome),
      reasons: ticks.map((tick) => tick.reason),
      sources: ticks.map((tick) => tick.source),
      executionIds: ticks.map((tick) => tick.executionId),
      decidedAts: ticks.map((tick) => tick.decidedAt.toISOString()),
    },
  );
  const keyOf = ({ workflowId, nominalAt }: Pick<NewTick, "workflowId" | "nominalAt">): string =>
    `${workflowId} ${nominalAt.getTime()}`;
  const recorded = new Set(rows.map(keyOf));
  return ticks.filter((tick) => recorded.has(keyOf(tick)));
}

/** Makes a tick that did not start a started one, for a user who asked for past ones. False: it has started already. */
export async function restartTick(
  db: Db,
  tick: { workflowId: WorkflowId; nominalAt: Date; executionId: ExecutionId; decidedAt: Date },
): Promise<boolean> {
  const rows = await queryRows(
    db,
    `update ticks set outcome = 'started', reason = '', source = 'backfill', execution_id = :executionId, decided_at = :decidedAt
      where workflow_id = :workflowId and nominal_at = :nominalAt and outcome <> 'started'
     returning 1`,
    { ...tick },
  );
  return rows.length === 1;
}

export async function findTick(db: Db, workflowId: WorkflowId, nominalAt: Date): Promise<Tick | undefined> {
  const [row] = await queryRows<Tick>(
    db,
    `select ${TICK} from ticks t where t.workflow_id = :workflowId and t.nominal_at = :nominalAt`,
    { workflowId, nominalAt },
  );
  return row;
}

/** A workflow's ticks, the newest first, before an instant. */
export async function listTicks(
  db: Db,
  page: { workflowId: WorkflowId; before: Date | null; limit: number },
): Promise<Tick[]> {
  return queryRows<Tick>(
    db,
    `select ${TICK} from ticks t
      where t.workflow_id = :workflowId and t.nominal_at < coalesce(cast(:before as timestamptz), 'infinity')
      order by t.nominal_at desc limit :limit`,
    page,
  );
}

/** A workflow's ticks that were started, of those due from `from` up to and with `to`. */
export async function listStartedTicks(
  db: Db,
  { workflowId, from, to }: { workflowId: WorkflowId; from: Date | undefined; to: Date | undefined },
): Promise<{ nominalAt: Date; executionId: ExecutionId }[]> {
  if (from === undefined || to === undefined) return [];
  return queryRows(
    db,
    `select t.nominal_at as "nominalAt", t.execution_id as "executionId" from ticks t
      where t.workflow_id = :workflowId and t.nominal_at >= :from and t.nominal_at <= :to and t.outcome = 'started'`,
    { workflowId, from, to },
  );
}

/** The recorded ticks of several stretches of time, each after `since` up to and with `until`: workflow and Unix milliseconds. */
export async function listRecorded(
  db: Db,
  stretches: readonly { readonly workflowId: WorkflowId; readonly since: Date; readonly until: Date }[],
): Promise<{ workflowId: WorkflowId; nominalAt: Date }[]> {
  return queryRows(
    db,
    `select t.workflow_id as "workflowId", t.nominal_at as "nominalAt"
       from unnest(cast(:workflowIds as text[]), cast(:sinces as timestamptz[]), cast(:untils as timestamptz[])) as u (id, since, until)
       join ticks t on t.workflow_id = u.id and t.nominal_at > u.since and t.nominal_at <= u.until`,
    {
      workflowIds: stretches.map((each) => each.workflowId),
      sinces: stretches.map((each) => each.since.toISOString()),
      untils: stretches.map((each) => each.until.toISOString()),
    },
  );
}

/** Notes for an execution which time of its schedule it stands for. In the transaction that accepts it, before anybody sees it. */
export async function noteNominalTimes(
  db: Db,
  executionId: ExecutionId,
  { nominalAt, previousAt, timezone }: TickTimes,
): Promise<void> {
  await queryRows(
    db,
    `update executions set scheduled_for = :nominalAt, previous_scheduled_for = :previousAt, scheduled_zone = :timezone
      where id = :executionId`,
    { executionId, nominalAt, previousAt, timezone },
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
             where s.workflow_id = t.workflow_id and s.look_at is not null and t.nominal_at > s.accounted_until
          )
        order by t.decided_at limit :limit for update skip locked))
     returning 1`,
    input,
  );
  return rows.length;
}

/** What a tick needs to know of its workflow. */
export interface TickTarget {
  readonly accountId: AccountId;
  readonly available: MicroCredits;
  readonly kept: KeptBytes;
  /** Null when the workflow has no commit. */
  readonly commitId: CommitId | null;
  readonly manifest: unknown;
  readonly workflowName: string;
}

/** The workflow with its latest commit and its account; undefined when it is deleted or unknown. */
export async function findTickTarget(db: Db, workflowId: WorkflowId): Promise<TickTarget | undefined> {
  const [row] = await queryRows<TickTarget>(
    db,
    `select w.account_id as "accountId", a.balance - a.reserved as available, ${KEPT_BYTES} as kept, w.head as "commitId", c.manifest,
            w.name as "workflowName"
       from workflows w
       join accounts a on a.id = w.account_id
       left join commits c on c.workflow_id = w.id and c.id = w.head
      where w.id = :workflowId and w.deleted_at is null`,
    { workflowId },
  );
  return row;
}

/**
 * Lists open executions of a workflow's schedule, either of past ticks that were asked for or of all others. Those
 * under way and those waiting are in order.
 */
export async function listScheduledUnderWay(
  db: Db,
  given: { workflowId: WorkflowId; backfilled: boolean },
): Promise<{ id: ExecutionId; waits: boolean }[]> {
  return queryRows(
    db,
    `select e.id, false as waits, 0 as turn from executions e
      where e.workflow_id = :workflowId and e.trigger = 'schedule' and e.state in ('queued', 'running') and e.admitted_at is not null
        and e.backfilled = :backfilled
     union all
     select e.id, true, e.turn from executions e
      where e.workflow_id = :workflowId and e.trigger = 'schedule' and e.state = 'queued' and e.admitted_at is null
        and e.backfilled = :backfilled
      order by waits, turn, id`,
    given,
  );
}
