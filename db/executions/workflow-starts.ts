import type { ExecutionStory } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";
import { OPEN, type OpenExecution } from "./executions.ts";

/** An execution that Temporal may not know yet; with its story where it has ended. */
export interface DueStart extends OpenExecution {
  readonly story: ExecutionStory | null;
}

export interface StartBacklog {
  readonly count: number;
  /** Age of the oldest one, in seconds; 0 where there is none. */
  readonly ageSeconds: number;
}

/**
 * Lists executions that Temporal has to learn of now: those under way first, then the oldest that have ended, at most `endedMax`
 * of these. The process `processId` takes its own when they have ended or are older than `joinSeconds`, and those of others
 * when they are older than `othersSeconds`.
 */
export async function listDueStarts(
  db: Db,
  input: { processId: string; joinSeconds: number; othersSeconds: number; limit: number; endedMax: number },
): Promise<DueStart[]> {
  return queryRows<DueStart>(
    db,
    `with open as materialized (
       select s.execution_id as id, s.created_at, false as ended
         from executions e join workflow_starts s on s.execution_id = e.id
        where e.state in ('queued', 'running') and e.admitted_at is not null
          and s.created_at < now() - make_interval(secs => cast(case when s.begun_by = :processId then :joinSeconds else :othersSeconds end as float))
        order by s.created_at limit :limit
     ), ended as materialized (
       select s.execution_id as id, s.created_at, true as ended
         from workflow_starts s join executions e on e.id = s.execution_id
        where e.finished_at is not null and (s.begun_by = :processId or s.created_at < now() - make_interval(secs => :othersSeconds))
        order by s.created_at limit :endedMax
     ), due as (select * from open union all select * from ended)
     select ${OPEN}, case when due.ended then (${STORY}) end as story
       from due join executions e on e.id = due.id join workflows w on w.id = e.workflow_id
      order by due.ended, due.created_at limit :limit`,
    input,
  );
}

/** JSON as `ExecutionStory` has it. */
const STORY = `
  select jsonb_strip_nulls(jsonb_build_object(
           'reserved', (select r.created_at from reservations r where r.execution_id = e.id and r.amount > 0),
           'programStarted', e.started_at, 'programEnded', max(a.ended_at), 'attempts', count(*),
           'outputsUploaded', e.uploaded_at, 'settled', e.finished_at,
           'status', e.state, 'secondsUsed', e.seconds_used, 'failure', e.failure))
    from attempts a where a.execution_id = e.id`;

/** Forgets starts that Temporal has. */
export async function deleteWorkflowStarts(db: Db, ids: readonly ExecutionId[]): Promise<void> {
  if (ids.length === 0) return;
  await queryRows(db, `delete from workflow_starts where execution_id = any(cast(:ids as text[]))`, { ids: [...ids] });
}

/** Returns how many starts Temporal has yet to learn of, by whichever process they were begun. */
export async function findStartBacklog(db: Db): Promise<StartBacklog> {
  const [row] = await queryRows<StartBacklog>(
    db,
    `select count(*)::int as count, coalesce(extract(epoch from now() - min(created_at)), 0)::float as "ageSeconds"
       from workflow_starts`,
  );
  return row as StartBacklog;
}
