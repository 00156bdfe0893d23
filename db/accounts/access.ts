import type { AccountId } from "../../domain/ids.ts";
import type { Role } from "../../domain/members.ts";
import { type Db, queryRows } from "../connect.ts";

/** A member of an account. Who was removed from it is not found by anything in here. */
export interface User {
  readonly id: string;
  readonly accountId: AccountId;
  readonly email: string;
  readonly role: Role;
}

const USER = `u.id, u.account_id as "accountId", u.email, u.role`;
/** Who is seen is written down once a minute at most, and nobody waits for it. */
const SEEN_AGAIN = `now() - interval '1 minute'`;

/** Inserts a user, or gives an existing one of the same email the new password. Changes nothing of one who was removed. */
export async function putUser(db: Db, user: User & { passwordHash: string }): Promise<void> {
  await queryRows(
    db,
    `insert into users (id, account_id, email, role, password_hash) values (:id, :accountId, :email, :role, :passwordHash)
     on conflict (lower(email)) do update set password_hash = excluded.password_hash, password_changed_at = null
       where users.removed_at is null`,
    { ...user },
  );
}

export async function findUserByEmail(db: Db, email: string): Promise<(User & { passwordHash: string }) | undefined> {
  const [row] = await queryRows<User & { passwordHash: string }>(
    db,
    `select ${USER}, u.password_hash as "passwordHash"
       from users u where lower(u.email) = lower(:email) and u.removed_at is null`,
    { email },
  );
  return row;
}

/** What became of a user since it was made, whether it still belongs to an account or not. */
export async function findUserState(
  db: Db,
  email: string,
): Promise<{ removed: boolean; passwordChosen: boolean } | undefined> {
  const [row] = await queryRows<{ removed: boolean; passwordChosen: boolean }>(
    db,
    `select removed_at is not null as removed, password_changed_at is not null as "passwordChosen"
       from users where lower(email) = lower(:email)`,
    { email },
  );
  return row;
}

/** Stores another hash of the same password, unless the password was changed meanwhile. */
export async function renewPasswordHash(
  db: Db,
  given: { userId: string; previousHash: string; passwordHash: string },
): Promise<void> {
  await queryRows(
    db,
    `update users set password_hash = :passwordHash where id = :userId and password_hash = :previousHash`,
    { ...given },
  );
}

/**
 * Changes a password and ends all sessions of the user. Returns false, and changes nothing, when another call has
 * changed it meanwhile or removed the user. Two statements: the second sees sessions that the first waited for.
 */
export async function changePassword(
  db: Db,
  given: { userId: string; previousHash: string; passwordHash: string },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const changed = await queryRows(
      tx,
      `update users set password_hash = :passwordHash, password_changed_at = now()
        where id = :userId and password_hash = :previousHash and removed_at is null returning id`,
      { ...given },
    );
    if (changed.length === 0) return false;
    await queryRows(tx, `delete from sessions where user_id = :userId`, { userId: given.userId });
    return true;
  });
}

/** Who a session belongs to; expired or idle ones (unused for `idleSeconds`) belong to nobody. */
export async function findSessionUser(
  db: Db,
  tokenHash: Buffer,
  idleSeconds: number,
): Promise<(User & { readonly sessionId: string }) | undefined> {
  const [row] = await queryRows<User & { sessionId: string }>(
    db,
    `with found as (
       select s.id as "sessionId", s.seen_at as session_seen_at, u.seen_at as user_seen_at, ${USER}
         from sessions s join users u on u.id = s.user_id and u.removed_at is null
        where s.token_hash = :tokenHash and s.expires_at > now() and s.seen_at > now() - make_interval(secs => :idleSeconds)
     ), session_seen as (
       update sessions s set seen_at = now()
         from (select o.id from sessions o join found on o.id = found."sessionId" and found.session_seen_at < ${SEEN_AGAIN}
                  for update of o skip locked) free
        where s.id = free.id
     ), ${SEE_USER}
     select "sessionId", id, "accountId", email, role from found`,
    { tokenHash, idleSeconds },
  );
  return row;
}

/** A part of a statement in which `found` has one user at most. */
const SEE_USER = `user_seen as (
       update users u set seen_at = now()
         from (select o.id from users o join found on o.id = found.id and coalesce(found.user_seen_at, '-infinity') < ${SEEN_AGAIN}
                  for no key update of o skip locked) free
        where u.id = free.id
     )`;

/** An access token that is good: not revoked, not expired, of the operator or of a member of an account. */
export interface AccessToken {
  readonly tokenId: string;
  readonly name: string;
  readonly expiresAt: Date | null;
  /** Null: the operator's, which may do everything. */
  readonly user: User | null;
}

export async function findAccessToken(db: Db, tokenHash: Buffer): Promise<AccessToken | undefined> {
  type Row = Omit<AccessToken, "user"> & { [Field in keyof User]: User[Field] | null };
  const [row] = await queryRows<Row>(
    db,
    `with found as (
       select t.id as "tokenId", t.name, t.expires_at as "expiresAt", t.last_used_at, u.seen_at as user_seen_at, ${USER}
         from access_tokens t left join users u on u.id = t.user_id
        where t.token_hash = :tokenHash and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())
          and (t.user_id is null or u.removed_at is null)
     ), token_used as (
       update access_tokens t set last_used_at = now()
         from (select o.id from access_tokens o
                 join found on o.id = found."tokenId" and coalesce(found.last_used_at, '-infinity') < ${SEEN_AGAIN}
                  for no key update of o skip locked) free
        where t.id = free.id
     ), ${SEE_USER}
     select "tokenId", name, "expiresAt", id, "accountId", email, role from found`,
    { tokenHash },
  );
  if (row === undefined) return undefined;
  const { tokenId, name, expiresAt, ...user } = row;
  return { tokenId, name, expiresAt, user: user.id === null ? null : (user as User) };
}

/** Inserts the operator's access token, known by its hash. There already: nothing changes. */
export async function insertOperatorToken(db: Db, token: { tokenHash: Buffer; name: string }): Promise<void> {
  await queryRows(
    db,
    `insert into access_tokens (token_hash, name) values (:tokenHash, :name) on conflict (token_hash) do nothing`,
    { ...token },
  );
}
