import type { Request, Response } from "express";
import { deleteSession, insertSession, USER_AGENT_CHARACTERS_MAX } from "../../../db/accounts/sessions.ts";
import type { Db } from "../../../db/connect.ts";
import { createSessionToken, hashToken } from "../../keys/tokens.ts";
import { readCookies, setCookie } from "./cookies.ts";

const COOKIE = "__Host-session";
const LIFETIME_SECONDS = 30 * 86_400;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** The token of the session cookie that came with a request, good or not. */
export function readSessionToken(request: Request): string | undefined {
  return readCookies(request, COOKIE).find((value) => TOKEN.test(value));
}

/** Whether the request carries a session cookie, good or not: then a browser may have sent it unasked. */
export function hasSessionCookie(request: Request): boolean {
  return readSessionToken(request) !== undefined;
}

/**
 * Signs a user in with this browser: a new token, and the session that the browser had until now ends. `passwordHash` is what
 * was verified, null for who needed no password. Answers false when that holds no more, or the user was removed meanwhile.
 */
export async function startSession(
  db: Db,
  { request, response }: { request: Request; response: Response },
  user: { userId: string; passwordHash: string | null },
): Promise<boolean> {
  const previous = readSessionToken(request);
  if (previous !== undefined) await deleteSession(db, hashToken(previous));
  const token = createSessionToken();
  const userAgent = (request.get("user-agent") ?? "").slice(0, USER_AGENT_CHARACTERS_MAX);
  const tokenHash = hashToken(token);
  const started = await insertSession(db, { ...user, tokenHash, userAgent, lifetimeSeconds: LIFETIME_SECONDS });
  if (started) setCookie(response, COOKIE, token, LIFETIME_SECONDS);
  return started;
}

/** Makes the browser forget its session. */
export function clearSessionCookie(response: Response): void {
  setCookie(response, COOKIE, "", 0);
}
