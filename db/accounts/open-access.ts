import { type Db, queryRows } from "../connect.ts";

/** The channel on which the end of sessions and access tokens is announced; the payload is the id of one. */
export const ACCESS_ENDED = "access_ended";

/**
 * Returns which of these sessions and access tokens are still good. A session that was not used for long is: what is
 * open is in use.
 */
export async function listOpenAccess(db: Db, ids: readonly string[]): Promise<string[]> {
  const rows = await queryRows<{ id: string }>(
    db,
    `select s.id from sessions s where s.id = any(cast(:ids as text[])) and s.expires_at > now()
      union all
     select t.id from access_tokens t
      where t.id = any(cast(:ids as text[])) and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`,
    { ids: [...ids] },
  );
  return rows.map(({ id }) => id);
}
