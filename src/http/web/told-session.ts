import { setTimeout as sleep } from "node:timers/promises";
import type { Request } from "express";
import { hasSessionCookie } from "../session-cookie.ts";
import { findSignedIn, type SessionDeps, toSessionDocument } from "../sessions.ts";

/** A page does not wait for a database that is away: what it is not told it asks for itself. */
const WAIT_MS_MAX = 1_000;

/**
 * What a page is told of who asks for it, so that it need not ask: the document of `GET /api/session` as JSON, `none` when nobody
 * is signed in, `perhaps` when that cannot be said now. A text, to be escaped.
 */
export async function tellSession(deps: SessionDeps, request: Request): Promise<string> {
  if (!hasSessionCookie(request)) return "none";
  const looked = look(deps, request).catch(() => "perhaps");
  return Promise.race([looked, sleep(WAIT_MS_MAX, "perhaps", { ref: false })]);
}

async function look(deps: SessionDeps, request: Request): Promise<string> {
  const user = await findSignedIn(deps.db, request);
  return user === undefined ? "none" : JSON.stringify(await toSessionDocument(deps, user));
}
