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
