import type { Request } from "express";
import { withTimeout } from "../../../system/with-timeout.ts";
import { hasSessionCookie } from "../auth/session-cookie.ts";
import { findSignedIn, type SessionDeps, toSessionDocument } from "../auth/sessions.ts";

/** A page does not wait longer than this for a database that is away. It then asks for the session itself. */
const WAIT_MS_MAX = 1_000;

/**
 * Returns the session to embed in a page, which saves its first request. It is the JSON of `GET /api/session`, `none`
 * when nobody is signed in, or `perhaps` when the database is away. The text has to be escaped.
 */
export async function readEmbeddedSession(deps: SessionDeps, request: Request): Promise<string> {
  if (!hasSessionCookie(request)) return "none";
  const looked = look(deps, request).catch(() => "perhaps");
  return withTimeout(looked, WAIT_MS_MAX, () => "perhaps");
}

async function look(deps: SessionDeps, request: Request): Promise<string> {
  const user = await findSignedIn(deps.db, request);
  return user === undefined ? "none" : JSON.stringify(await toSessionDocument(deps, user));
}
