import type { AccountId } from "../domain/ids.ts";
import { type Db, queryRows } from "./connect.ts";

export interface User {
  readonly id: string;
  readonly accountId: AccountId;
  readonly email: string;
}

/** Inserts a user, or gives an existing one of the same email the new password and account. */
export async function putUser(db: Db, user: User & { passwordHash: string }): Promise<void> {
  await queryRows(
    db,
    `insert into users (id, account_id, email, password_hash) values (:id, :accountId, :email, :passwordHash)
     on conflict (lower(email)) do update set password_hash = excluded.password_hash, account_id = excluded.account_id`,
    { ...user },
  );
}

export async function findUserByEmail(db: Db, email: string): Promise<(User & { passwordHash: string }) | undefined> {
  const [row] = await queryRows<User & { passwordHash: string }>(
    db,
    `select id, account_id as "accountId", email, password_hash as "passwordHash" from users where lower(email) = lower(:email)`,
    { email },
  );
  return row;
}

/** Keeps only the hash of a session's token: a copy of the database opens no session. */
export async function insertSession(
  db: Db,
  session: { tokenHash: Buffer; userId: string; lifetimeSeconds: number },
): Promise<void> {
  await queryRows(
    db,
    `insert into sessions (token_hash, user_id, expires_at)
     values (:tokenHash, :userId, now() + make_interval(secs => :lifetimeSeconds))`,
    { ...session },
  );
}

/** Who a session belongs to; expired or idle ones (unused for `idleSeconds`) belong to nobody. */
export async function findSessionUser(db: Db, tokenHash: Buffer, idleSeconds: number): Promise<User | undefined> {
  const [row] = await queryRows<User>(
    db,
    `update sessions s set seen_at = now() from users u
      where s.token_hash = :tokenHash and u.id = s.user_id and s.expires_at > now()
        and s.seen_at > now() - make_interval(secs => :idleSeconds)
     returning u.id, u.account_id as "accountId", u.email`,
    { tokenHash, idleSeconds },
  );
  return row;
}

export async function deleteSession(db: Db, tokenHash: Buffer): Promise<void> {
  await queryRows(db, `delete from sessions where token_hash = :tokenHash`, { tokenHash });
}

/** Inserts a personal access token, known by its hash. `accountId` null: the operator's, which may do everything. */
export async function insertAccessToken(
  db: Db,
  token: { tokenHash: Buffer; accountId: AccountId | null; name: string },
): Promise<void> {
  await queryRows(
    db,
    `insert into access_tokens (token_hash, account_id, name) values (:tokenHash, :accountId, :name)
     on conflict (token_hash) do nothing`,
    { ...token },
  );
}

export async function findAccessToken(
  db: Db,
  tokenHash: Buffer,
): Promise<{ accountId: AccountId | null; name: string } | undefined> {
  const [row] = await queryRows<{ accountId: AccountId | null; name: string }>(
    db,
    `select account_id as "accountId", name from access_tokens where token_hash = :tokenHash and revoked_at is null`,
    { tokenHash },
  );
  return row;
}
