import type { RequestHandler } from "express";
import { endSession, endSessions, listSessions } from "../../../db/accounts/sessions.ts";
import type { Db } from "../../../db/connect.ts";
import { EndedSessions, SessionList } from "../../../domain/api/people.ts";
import { sendAnswer } from "../answers/body.ts";
import { authorizeUser } from "../auth/authorize.ts";
import { clearSessionCookie } from "../auth/session-cookie.ts";
import { IDLE_SECONDS } from "../auth/sessions.ts";
import { ApiError } from "../errors.ts";

/** The browsers in which the caller is signed in. */
export function createSessionsRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const { userId, sessionId } = await authorizeUser(db, request);
    const sessions = await listSessions(db, { userId, idleSeconds: IDLE_SECONDS });
    const listed = sessions.map((one) => ({ ...one, current: one.sessionId === sessionId }));
    sendAnswer(response, SessionList, { sessions: listed });
  };
}

/** Signs out everywhere else; by an access token, everywhere. */
export function createSignOutElsewhereRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const { userId, sessionId } = await authorizeUser(db, request);
    sendAnswer(response, EndedSessions, { ended: await endSessions(db, { userId, except: sessionId }) });
  };
}

/** Signs out in one browser, which may be this one. */
export function createSessionEndRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const caller = await authorizeUser(db, request);
    const sessionId = String(request.params["sessionId"]);
    if (!(await endSession(db, { userId: caller.userId, sessionId })))
      throw new ApiError("not_found", "You have no such session, or it has ended already. List your sessions.");
    if (sessionId === caller.sessionId) clearSessionCookie(response);
    sendAnswer(response, EndedSessions, { ended: 1 });
  };
}
