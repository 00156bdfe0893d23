import type { ExecutionState, PythonOutcome } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** How far an execution is with its attempts. */
export interface AttemptState {
  readonly state: ExecutionState;
  readonly cancelled: boolean;
  readonly attempts: number;
  readonly alive: boolean;
  readonly lost: number;
  readonly unbegun: number;
  readonly unable: number;
  readonly unableReason: string | null;
  readonly cpu: number;
  readonly timeoutSeconds: number;
  readonly secondsUsed: number;
  readonly processorSeconds: number;
  /** The last one that ended by itself. `retrySeconds`: until the next one is due, negative once it is; null when it was the last. */
  readonly last:
    | (Pick<PythonOutcome, "status" | "message"> & { hostId: string; attempt: number; retrySeconds: number | null })
    | null;
}

/** Counts what an execution's attempts came to; undefined for an unknown one. */
export async function findAttemptState(db: Db, executionId: ExecutionId): Promise<AttemptState | undefined> {
  const [row] = await queryRows<AttemptState>(
    db,
    `select e.state, e.cancel_requested_at is not null as cancelled,
            count(a.attempt)::int as attempts,
            coalesce(bool_or(a.ended_at is null) filter (where a.attempt is not null), false) as alive,
            (count(*) filter (where a.ended_at is not null and a.status is null and a.begun and not a.handed_over and not a.outputs_lost))::int as lost,
            (count(*) filter (where not a.begun and not a.handed_over))::int as unbegun,
            (count(*) filter (where a.unable))::int as unable,
            (array_agg(a.message order by a.attempt desc) filter (where a.unable))[1] as "unableReason",
            e.cpu, e.timeout_seconds as "timeoutSeconds",
            coalesce(sum(a.seconds_used), 0) as "secondsUsed", coalesce(sum(a.processor_seconds), 0) as "processorSeconds",
            (select jsonb_build_object('status', l.status, 'message', l.message, 'hostId', l.host_id, 'attempt', l.attempt,
                                       'retrySeconds', extract(epoch from l.retry_at - clock_timestamp()))
               from attempts l where l.execution_id = e.id and l.status is not null
              order by l.attempt desc limit 1) as last
       from executions e left join attempts a on a.execution_id = e.id
      where e.id = :executionId group by e.id`,
    { executionId },
  );
  return row;
}
