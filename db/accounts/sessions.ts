import { type Db, queryRows } from "../connect.ts";

/** Browsers in which a user is signed in at the same time. When there is one more, the one seen longest ago ends. */
const SESSIONS_MAX = 100;
export const USER_AGENT_CHARACTERS_MAX = 300;

export interface Session {
  readonly sessionId: string;
  readonly createdAt: Date;
  readonly seenAt: Date;
  /** What the browser said it is. */
  readonly userAgent: string;
}

/**
 * Keeps only the hash of a session's token: a copy of the database opens no session. Clears away sessions of the user
 * that are over, and those beyond the limit. Returns false, and makes none, for a user who was removed, or whose
 * password is no longer the one of `passwordHash`. The lock waits for a change of these, so that no session is made
 * behind it.
 */
export async function insertSession(
  db: Db,
  session: {
    tokenHash: Buffer;
    userId: string;
    /** Null: a user who needed no password. */
    passwordHash: string | null;
    userAgent: string;
    lifetimeSeconds: number;
  },
): Promise<boolean> {
  const rows = await queryRows(
    db,
    `with gone as (
       delete from sessions where id in (
         select id from sessions where user_id = :userId and expires_at <= now()
          union all
         (select id from sessions where user_id = :userId order by seen_at desc offset :others)
       )
     )
     insert into sessions (token_hash, user_id, user_agent, expires_at)
     select :tokenHash, id, :userAgent, now() + make_interval(secs => :lifetimeSeconds)
       from users
      where id = :userId and removed_at is null and password_hash = coalesce(cast(:passwordHash as text), password_hash)
        for share
     returning id`,
    { ...session, others: SESSIONS_MAX - 1 },
  );
  return rows.length > 0;
}

/** The sessions of a user that are still good, the one seen last first. */
export async function listSessions(
  db: Db,
  { userId, idleSeconds }: { userId: string; idleSeconds: number },
): Promise<Session[]> {
  return queryRows<Session>(
    db,
    `select id as "sessionId", created_at as "createdAt", seen_at as "seenAt", user_agent as "userAgent"
       from sessions
      where user_id = :userId and expires_at > now() and seen_at > now() - make_interval(secs => :idleSeconds)
      order by seen_at desc, id`,
    { userId, idleSeconds },
  );
}

export async function deleteSession(db: Db, tokenHash: Buffer): Promise<void> {
  await queryRows(db, `delete from sessions where token_hash = :tokenHash`, { tokenHash });
}

/** Ends one session of a user. Returns whether there was one. */
export async function endSession(db: Db, session: { userId: string; sessionId: string }): Promise<boolean> {
  const rows = await queryRows(db, `delete from sessions where id = :sessionId and user_id = :userId returning id`, {
    ...session,
  });
  return rows.length > 0;
}

/** Ends all sessions of a user but one, or all. Returns how many. */
export async function endSessions(db: Db, given: { userId: string; except: string | null }): Promise<number> {
  const rows = await queryRows(
    db,
    `delete from sessions where user_id = :userId and id is distinct from cast(:except as text) returning id`,
    { ...given },
  );
  return rows.length;
}
