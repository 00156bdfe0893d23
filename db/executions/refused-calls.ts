import type { WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** How many are kept of a workflow. Calls without the right key are counted apart, up to the same number. */
export const REFUSED_CALLS_KEPT = 50;
const DAYS_KEPT = 7;

/** A call of a workflow's API that was refused. */
export interface RefusedCall {
  readonly refusedAt: Date;
  readonly status: number;
  /** The fixed text of the kind of error. */
  readonly error: string;
  readonly message: string;
  /** The last characters of the key that was sent; empty without one. */
  readonly keyEnd: string;
}

/**
 * Records refused calls and removes what is too many or too old. Calls of workflows that are unknown are left out: anyone can
 * invent those.
 */
export async function recordRefusedCalls(
  db: Db,
  calls: readonly (RefusedCall & { readonly workflowId: WorkflowId })[],
): Promise<void> {
  await queryRows(
    db,
    `insert into refused_calls (workflow_id, refused_at, status, error, message, key_end)
     select c."workflowId", c."refusedAt", c.status, c.error, c.message, c."keyEnd"
       from jsonb_to_recordset(cast(:calls as jsonb))
              as c("workflowId" text, "refusedAt" timestamptz, status smallint, error text, message text, "keyEnd" text)
       join workflows w on w.id = c."workflowId" and w.deleted_at is null`,
    { calls: JSON.stringify(calls) },
  );
  await queryRows(
    db,
    `delete from refused_calls r
      using unnest(cast(:ids as text[])) as called(workflow_id), (values (true), (false)) as kind(foreign_key),
            lateral (select n.id from refused_calls n
                      where n.workflow_id = called.workflow_id and (n.status = 401) = kind.foreign_key
                      order by n.id desc offset cast(:kept as bigint) limit 1) as first
      where r.workflow_id = called.workflow_id and (r.status = 401) = kind.foreign_key and r.id <= first.id`,
    { ids: [...new Set(calls.map(({ workflowId }) => workflowId))], kept: REFUSED_CALLS_KEPT },
  );
}

/** Removes those of more than a week ago. */
export async function removeOldRefusedCalls(db: Db): Promise<void> {
  await queryRows(db, "delete from refused_calls where refused_at < now() - make_interval(days => :days)", {
    days: DAYS_KEPT,
  });
}

/** The calls of a workflow that were refused within a week, the newest first. */
export async function listRefusedCalls(db: Db, workflowId: WorkflowId): Promise<RefusedCall[]> {
  return queryRows<RefusedCall>(
    db,
    `select refused_at as "refusedAt", status, error, message, key_end as "keyEnd" from refused_calls
      where workflow_id = :workflowId and refused_at >= now() - make_interval(days => :days)
      order by refused_at desc, id desc limit cast(:most as bigint)`,
    { workflowId, days: DAYS_KEPT, most: REFUSED_CALLS_KEPT },
  );
}
