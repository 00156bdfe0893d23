import type { WorkflowId } from "../domain/ids.ts";
import { type Db, queryRows } from "./connect.ts";

/** When the last of a workflow's replaced keys stops working; null when none works any more. */
export async function findPreviousKeyExpiry(db: Db, workflowId: WorkflowId): Promise<Date | null> {
  const [row] = await queryRows<{ expiresAt: Date | null }>(
    db,
    `select max(expires_at) as "expiresAt" from api_keys
      where workflow_id = :workflowId and revoked_at is null and expires_at > now()`,
    { workflowId },
  );
  return row?.expiresAt ?? null;
}

/** Ends at once the replaced keys of a workflow that still work, and leaves the current one. Returns how many those were. */
export async function endReplacedKeys(db: Db, workflowId: WorkflowId): Promise<number> {
  const ended = await queryRows(
    db,
    `update api_keys set revoked_at = now()
      where workflow_id = :workflowId and revoked_at is null and expires_at > now()
     returning 1`,
    { workflowId },
  );
  return ended.length;
}
