import { type Db, queryRows } from "../connect.ts";

export interface ListedToken {
  readonly tokenId: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly expiresAt: Date | null;
}

/** Tokens of one user at the same time. */
const TOKENS_MAX = 100;
const COLUMNS = `id as "tokenId", name, created_at as "createdAt", last_used_at as "lastUsedAt", expires_at as "expiresAt"`;
const GOOD = `revoked_at is null and (expires_at is null or expires_at > now())`;

/**
 * Inserts a token of a user, known by its hash, for the user's account. It ends after `days` days, or never when that is null, and
 * no later than `expiresBy`. `too_many`: the user has as many as may be; two calls at once may pass the limit by one.
 */
export async function insertAccessToken(
  db: Db,
  token: { tokenHash: Buffer; userId: string; name: string; days: number | null; expiresBy: Date | null },
): Promise<{ kind: "inserted"; token: ListedToken } | { kind: "too_many" }> {
  const [inserted] = await queryRows<ListedToken>(
    db,
    `insert into access_tokens (token_hash, user_id, account_id, name, expires_at)
     select :tokenHash, u.id, u.account_id, :name,
            least(now() + make_interval(days => cast(:days as int)), cast(:expiresBy as timestamptz))
       from users u
      where u.id = :userId and u.removed_at is null
        and (select count(*) from access_tokens t where t.user_id = u.id and ${GOOD}) < :most
        for share of u
     returning ${COLUMNS}`,
    { ...token, most: TOKENS_MAX },
  );
  return inserted === undefined ? { kind: "too_many" } : { kind: "inserted", token: inserted };
}

/** The tokens of a user that are good, the newest first. */
export async function listAccessTokens(db: Db, userId: string): Promise<ListedToken[]> {
  return queryRows<ListedToken>(
    db,
    `select ${COLUMNS} from access_tokens where user_id = :userId and ${GOOD} order by created_at desc, id`,
    { userId },
  );
}

/** Ends a token of a user at once. Returns whether there was one that was good. */
export async function revokeAccessToken(db: Db, token: { userId: string; tokenId: string }): Promise<boolean> {
  const rows = await queryRows(
    db,
    `update access_tokens set revoked_at = now() where id = :tokenId and user_id = :userId and ${GOOD} returning id`,
    { ...token },
  );
  return rows.length > 0;
}
