import type { WorkflowId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

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

/** A key that opens a workflow now, still encrypted. */
export interface LivingKey {
  /** 32 bytes of SHA-256: what the key is known by. */
  readonly hash: Buffer;
  readonly encrypted: Buffer;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  /** When a replaced key stops working. Null: the current one. */
  readonly expiresAt: Date | null;
}

/** Lists the keys that open a workflow now, the current one first. Empty when the workflow is unknown. */
export function listLivingKeys(db: Db, workflowId: WorkflowId): Promise<LivingKey[]> {
  return queryRows<LivingKey>(
    db,
    `select k.hash, k.encrypted, k.created_at as "createdAt", k.last_used_at as "lastUsedAt", k.expires_at as "expiresAt"
       from api_keys k join workflows w on w.id = k.workflow_id and w.deleted_at is null
      where k.workflow_id = :workflowId and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
      order by k.expires_at desc nulls first`,
    { workflowId },
  );
}

/** Ends a replaced key at once. Returns false when it had ended before, or is the current one. */
export async function endReplacedKey(db: Db, key: { workflowId: WorkflowId; hash: Buffer }): Promise<boolean> {
  const ended = await queryRows(
    db,
    `update api_keys set revoked_at = now()
      where workflow_id = :workflowId and hash = :hash and revoked_at is null and expires_at > now()
     returning 1`,
    key,
  );
  return ended.length > 0;
}

/** Notes when keys were last used. A time before the one noted changes nothing. */
export async function noteKeyUses(db: Db, uses: readonly { hash: Buffer; usedAt: Date }[]): Promise<void> {
  await queryRows(
    db,
    `update api_keys k set last_used_at = greatest(k.last_used_at, u.used_at)
       from unnest(cast(:hashes as bytea[]), cast(:times as timestamptz[])) u (hash, used_at)
      where k.hash = u.hash`,
    { hashes: uses.map(({ hash }) => hash), times: uses.map(({ usedAt }) => usedAt) },
  );
}

/**
 * Replaces a workflow's key. The old one works on for `graceSeconds`, or not at all when that is 0. Keys replaced
 * earlier end at once, so that you can end a leaked one. Returns when the old key ends (null: at once), or undefined
 * for an unknown workflow. Several statements: each sees what the lock has waited for, and the new key may only be
 * current once the old one is not.
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
