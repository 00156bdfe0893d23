import type { WorkflowId } from "../domain/ids.ts";
import { type Db, queryRows } from "./connect.ts";

/** The current key of a workflow, still encrypted; undefined when the workflow is unknown. */
export async function findCurrentKey(db: Db, workflowId: WorkflowId): Promise<Buffer | undefined> {
  const [row] = await queryRows<{ encrypted: Buffer }>(
    db,
    `select k.encrypted from api_keys k join workflows w on w.id = k.workflow_id and w.deleted_at is null
      where k.workflow_id = :workflowId and k.expires_at is null and k.revoked_at is null`,
    { workflowId },
  );
  return row?.encrypted;
}

/**
 * Replaces a workflow's key. The old one works on for `graceSeconds`, or not at all when that is 0; keys replaced
 * earlier keep their own end. Answers when the old key ends (null: at once), or undefined for an unknown workflow.
 * Two statements in one transaction: the new key may only be current once the old one is not.
 */
export async function rotateKey(
  db: Db,
  input: { workflowId: WorkflowId; keyHash: Buffer; keyEncrypted: Buffer; graceSeconds: number },
): Promise<{ previousKeyExpiresAt: Date | null } | undefined> {
  return db.transaction(async (tx) => {
    const [old] = await queryRows<{ expiresAt: Date | null }>(
      tx,
      `update api_keys k
          set expires_at = case when :graceSeconds > 0 then now() + make_interval(secs => :graceSeconds) end,
              revoked_at = case when :graceSeconds > 0 then null else now() end
         from workflows w
        where w.id = k.workflow_id and w.deleted_at is null and k.workflow_id = :workflowId
          and k.expires_at is null and k.revoked_at is null
       returning k.expires_at as "expiresAt"`,
      { workflowId: input.workflowId, graceSeconds: input.graceSeconds },
    );
    if (old === undefined) return undefined;
    await queryRows(
      tx,
      `insert into api_keys (hash, workflow_id, encrypted) values (:keyHash, :workflowId, :keyEncrypted)`,
      { keyHash: input.keyHash, workflowId: input.workflowId, keyEncrypted: input.keyEncrypted },
    );
    return { previousKeyExpiresAt: old.expiresAt };
  });
}
