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
 * Lists executions that Temporal has to learn of now: those under way first, then the oldest. The process `processId`
 * takes its own when they have ended or are older than `joinSeconds`, and those of others when they are older than
 * `othersSeconds`.
 */
export async function listDueStarts(
  db: Db,
  input: { processId: string; joinSeconds: number; othersSeconds: number; limit: number },
): Promise<DueStart[]> {
  return queryRows<DueStart>(
    db,
    `with due as materialized (
       select s.execution_id as id, s.created_at
         from workflow_starts s join executions e on e.id = s.execution_id
        where case when s.begun_by = :processId
                   then e.finished_at is not null or s.created_at < now() - make_interval(secs => :joinSeconds)
                   else s.created_at < now() - make_interval(secs => :othersSeconds) end
        order by e.finished_at is not null, s.created_at limit :limit
     )
     select ${OPEN}, case when e.finished_at is not null then (${STORY}) end as story
       from due join executions e on e.id = due.id join workflows w on w.id = e.workflow_id
      order by e.finished_at is not null, due.created_at`,
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
