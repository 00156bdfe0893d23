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
 * Replaces a workflow's key. The old one works on for `graceSeconds`, or not at all when that is 0; keys replaced earlier
 * end at once, so that one that leaked can be ended. Returns when the old key ends (null: at once), or undefined for an
 * unknown workflow. Several statements: each sees what the lock has waited for, and the new key may only be current once
 * the old one is not.
 */
export async function rotateKey(
  db: Db,
  input: { workflowId: WorkflowId; keyHash: Buffer; keyEncrypted: Buffer; graceSeconds: number },
): Promise<{ previousKeyExpiresAt: Date | null } | undefined> {
  const { workflowId, keyHash, keyEncrypted, graceSeconds } = input;
  return db.transaction(async (tx) => {
    const workflows = await queryRows(
      tx,
      `select from workflows where id = :workflowId and deleted_at is null for no key update`,
      { workflowId },
    );
    if (workflows.length === 0) return undefined;
    const ended = await queryRows<{ expiresAt: Date | null }>(
      tx,
      `update api_keys
          set expires_at = case when expires_at is null and :graceSeconds > 0
                                then now() + make_interval(secs => :graceSeconds) else expires_at end,
              revoked_at = case when expires_at is null and :graceSeconds > 0 then null else now() end
        where workflow_id = :workflowId and revoked_at is null and (expires_at is null or expires_at > now())
       returning case when revoked_at is null then expires_at end as "expiresAt"`,
      { workflowId, graceSeconds },
    );
    await queryRows(
      tx,
      `insert into api_keys (hash, workflow_id, encrypted) values (:keyHash, :workflowId, :keyEncrypted)`,
      { keyHash, workflowId, keyEncrypted },
    );
    return { previousKeyExpiresAt: ended.find(({ expiresAt }) => expiresAt !== null)?.expiresAt ?? null };
  });
}
