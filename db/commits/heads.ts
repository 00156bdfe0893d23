import type { WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** Lists the workflows of which an execution was accepted in the last hour, the latest first, at most so many. */
export async function listRecentlyRun(db: Db, limit: number): Promise<WorkflowId[]> {
  const rows = await queryRows<{ id: WorkflowId }>(
    db,
    `select w.id
       from workflows w
      cross join lateral (
        select e.created_at from executions e where e.workflow_id = w.id order by e.created_at desc limit 1) last
      where w.deleted_at is null and w.head is not null and last.created_at > now() - interval '1 hour'
      order by last.created_at desc, w.id
      limit :limit`,
    { limit },
  );
  return rows.map(({ id }) => id);
}
