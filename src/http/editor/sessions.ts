import type { RequestHandler } from "express";
import type { Db } from "../../../db/connect.ts";
import { endSession, endSessions, listSessions } from "../../../db/sessions.ts";
import { ApiError } from "../errors.ts";
import { clearSessionCookie } from "../session-cookie.ts";
import { IDLE_SECONDS } from "../sessions.ts";
import { authorizeUser } from "./authorize.ts";

/** The browsers in which the caller is signed in. */
export function createSessionsRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const { userId, sessionId } = await authorizeUser(db, request);
    const sessions = await listSessions(db, { userId, idleSeconds: IDLE_SECONDS });
    response.json({ sessions: sessions.map((one) => ({ ...one, current: one.sessionId === sessionId })) });
  };
}

/** Signs out everywhere else; by an access token, everywhere. */
export function createSignOutElsewhereRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const { userId, sessionId } = await authorizeUser(db, request);
    response.json({ ended: await endSessions(db, { userId, except: sessionId }) });
  };
}

/** Signs out in one browser, which may be this one. */
export function createSessionEndRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const caller = await authorizeUser(db, request);
    const sessionId = String(request.params["sessionId"]);
    if (!(await endSession(db, { userId: caller.userId, sessionId })))
      throw new ApiError("not_found", "You have no such session, or it is over already.");
    if (sessionId === caller.sessionId) clearSessionCookie(response);
    response.json({ ended: 1 });
  };
}
