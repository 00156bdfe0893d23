import type { ExecutionId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** An execution whose program has ended, and whose outputs are on a host that has no process. */
export interface Stranded {
  readonly id: ExecutionId;
  readonly hostId: string;
  readonly attempt: number;
  readonly cancelled: boolean;
  /** Its workflow allows an attempt more; only code that fails uses up more than one otherwise. */
  readonly repeatable: boolean;
}

/** How a program ended that may be run again, and how often it was tried. */
const TRIES = `(select count(*) from attempts t where t.execution_id = e.id and (t.status is not null or t.outputs_lost))`;
const REPEATABLE = `(a.status = 'success' and ${TRIES} < e.attempts_max and e.cancel_requested_at is null)`;

/**
 * Lists executions that wait for a host that is not there, at most `limit`. Those that were not cancelled after their program had
 * ended have done so for `presentSeconds`. With an `executionId` it lists that one alone. Executions that wait for
 * `ownHostId`, the host of the process that asks, are left out: that host is there.
 */
export async function listStranded(
  db: Db,
  input: { ownHostId: string; limit: number; presentSeconds: number; executionId?: ExecutionId },
): Promise<Stranded[]> {
  return queryRows<Stranded>(
    db,
    `select e.id, a.host_id as "hostId", a.attempt, e.cancel_requested_at is not null as cancelled, ${REPEATABLE} as repeatable
       from executions e
       join lateral (select * from attempts l where l.execution_id = e.id and l.status is not null
                      order by l.attempt desc limit 1) a on true
      where e.state in ('queued', 'running') and e.uploaded_at is null
        -- Its process, an older version perhaps, which does not say that it is there, is most likely storing them.
        and (a.ended_at < now() - make_interval(secs => :presentSeconds) or a.ended_at < e.cancel_requested_at)
        and (cast(:executionId as text) is null or e.id = :executionId)
        -- One that is tried again needs no outputs.
        and (a.retry_at is null or e.cancel_requested_at is not null)
        and not exists (select from attempts t where t.execution_id = e.id and t.ended_at is null)
        and a.host_id <> :ownHostId
        and not exists (select from hosts h where h.id = a.host_id and h.present_until > now())
      order by e.id limit :limit`,
    { executionId: null, ...input },
  );
}

/**
 * Declares the outcome of an attempt void whose outputs are lost, where the workflow allows an attempt more. Its
 * seconds are not charged, and its host cannot record these outputs any more. Returns false, and changes nothing, where
 * no more attempt is allowed or the outputs are in storage. So it does where the execution has ended or was cancelled.
 */
export async function loseOutputs(db: Db, input: Pick<Stranded, "id" | "attempt">): Promise<boolean> {
  const rows = await queryRows(
    db,
    `with valid as materialized (
       select * from attempts where execution_id = :id and attempt = :attempt and status is not null for update
     ), waiting as materialized (
       select e.id from executions e join valid a on a.execution_id = e.id
        where e.state in ('queued', 'running') and e.uploaded_at is null and ${REPEATABLE} for update of e
     )
     update attempts a
        set status = null, outputs_lost = true, seconds_used = 0, processor_seconds = 0, message = 'Its host was lost with the outputs.'
       from waiting where a.execution_id = waiting.id and a.attempt = :attempt
     returning a.attempt`,
    { ...input },
  );
  return rows.length === 1;
}

/** Lists open executions whose last attempt lost its outputs, at most `limit`. They have to begin again. */
export async function listUnrepeated(db: Db, limit: number): Promise<ExecutionId[]> {
  const rows = await queryRows<{ id: ExecutionId }>(
    db,
    `select e.id from executions e
       join lateral (select * from attempts l where l.execution_id = e.id order by l.attempt desc limit 1) a on true
      where e.state in ('queued', 'running') and a.outputs_lost
      order by e.id limit :limit`,
    { limit },
  );
  return rows.map(({ id }) => id);
}
