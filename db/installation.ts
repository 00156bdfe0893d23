import type { WorkflowId } from "../domain/ids.ts";
import { type Db, queryRows } from "./connect.ts";

/** What an installation keeps of its first start, sealed; null where there is nothing. */
export interface InstallationSecrets {
  readonly operatorToken: Buffer | null;
  readonly ownerPassword: Buffer | null;
}

/** Returns what the installation's master key can open; undefined for one that no process of this version has started on. */
export async function findCanary(db: Db): Promise<Buffer | undefined> {
  const [row] = await queryRows<{ canary: Buffer }>(db, `select canary from installation`);
  return row?.canary;
}

/** Keeps a canary unless there is one. Returns the one that is kept: of two processes that start at once, the quicker one's. */
export async function keepCanary(db: Db, canary: Buffer): Promise<Buffer> {
  await queryRows(db, `insert into installation (canary) values (:canary) on conflict do nothing`, { canary });
  return (await findCanary(db)) as Buffer;
}

/** Returns the oldest API key that is kept, sealed; undefined where there is none. */
export async function findOldestSealedKey(
  db: Db,
): Promise<{ readonly workflowId: WorkflowId; readonly encrypted: Buffer } | undefined> {
  const [row] = await queryRows<{ workflowId: WorkflowId; encrypted: Buffer }>(
    db,
    `select workflow_id as "workflowId", encrypted from api_keys order by created_at limit 1`,
  );
  return row;
}

/** Locks the installation until the transaction ends: processes that start at once prepare it one after the other. Throws where no canary is kept. */
export async function lockInstallation(tx: Db): Promise<InstallationSecrets> {
  const [row] = await queryRows<InstallationSecrets>(
    tx,
    `select operator_token as "operatorToken", owner_password as "ownerPassword" from installation for update`,
  );
  if (row === undefined) throw new Error("The installation has no canary yet.");
  return row;
}

/** Replaces the kept secrets. */
export async function keepInstallationSecrets(tx: Db, secrets: InstallationSecrets): Promise<void> {
  await queryRows(tx, `update installation set operator_token = :operatorToken, owner_password = :ownerPassword`, {
    ...secrets,
  });
}

/** Returns whether a token is one of the operator and not revoked. */
export async function isOperatorToken(db: Db, tokenHash: Buffer): Promise<boolean> {
  const rows = await queryRows(
    db,
    `select from access_tokens
      where token_hash = :tokenHash and user_id is null and revoked_at is null
        and (expires_at is null or expires_at > now())`,
    { tokenHash },
  );
  return rows.length > 0;
}

/** Ends every token of the operator, also those that processes of older versions have made for themselves. */
export async function revokeOperatorTokens(db: Db): Promise<void> {
  await queryRows(db, `update access_tokens set revoked_at = now() where user_id is null and revoked_at is null`);
}
