import type { Request, RequestHandler, Response } from "express";
import { z } from "zod";
import { deleteSession, findSessionUser, findUserByEmail, insertSession, putUser, type User } from "../../db/access.ts";
import type { Db } from "../../db/connect.ts";
import { isStorable } from "../../domain/manifest/json-values.ts";
import { hashPassword, verifyPassword } from "../keys/password.ts";
import { createSessionToken, hashToken } from "../keys/tokens.ts";
import { ApiError } from "./errors.ts";
import { readJsonObject } from "./json-body.ts";
import { createSignInThrottle } from "./sign-in-throttle.ts";

const COOKIE = "__Host-session";
const LIFETIME_SECONDS = 30 * 86_400;
const IDLE_SECONDS = 7 * 86_400;
const BODY_BYTES_MAX = 10_000;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** What signs somebody in. */
export const SignIn = z.object({
  email: z.string().max(320).refine(isStorable, "holds a character that cannot be stored."),
  password: z.string().max(1_000),
});

/** Sign in. The database keeps the hash of the cookie's token alone. */
export function createSignInRoute({ db }: { db: Db }): RequestHandler {
  const throttle = createSignInThrottle();
  return async (request, response) => {
    const { email, password } = await readSignIn(request);
    // Counted before the password is checked: parallel guesses are guesses too.
    const attempt = throttle.begin({ email, address: request.ip ?? "" });
    if (attempt.kind === "refused") {
      const message = "Too many attempts to sign in. Wait a little, then try again.";
      throw new ApiError("rate_limited", message, {}, { "Retry-After": String(attempt.retryAfterSeconds) });
    }
    const user = await findUserByEmail(db, email);
    const { valid, outdated } = await verifyPassword(password, user?.passwordHash);
    if (user === undefined || !valid) throw new ApiError("unauthorized", "The email address or the password is wrong.");
    attempt.succeed();
    if (outdated) await putUser(db, { ...user, passwordHash: await hashPassword(password) });
    const previous = readToken(request);
    if (previous !== undefined) await deleteSession(db, hashToken(previous));
    const token = createSessionToken();
    await insertSession(db, { tokenHash: hashToken(token), userId: user.id, lifetimeSeconds: LIFETIME_SECONDS });
    setCookie(response, token, LIFETIME_SECONDS);
    response.json(toDocument(user));
  };
}

/** Who is signed in. */
export function createSessionRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const user = await findSignedIn(db, request);
    if (user === undefined)
      throw new ApiError("unauthorized", "Nobody is signed in, or the session has ended. Sign in.");
    response.json(toDocument(user));
  };
}

/** Sign out; again is no error. */
export function createSignOutRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const token = readToken(request);
    if (token !== undefined) await deleteSession(db, hashToken(token));
    setCookie(response, "", 0);
    response.json({ signedOut: true });
  };
}

/** The user whose session cookie came with the request, if there is one and it is still good. */
export async function findSignedIn(db: Db, request: Request): Promise<User | undefined> {
  const token = readToken(request);
  return token === undefined ? undefined : findSessionUser(db, hashToken(token), IDLE_SECONDS);
}

/** Whether the request carries a session cookie, good or not: then a browser may have sent it unasked. */
export function hasSessionCookie(request: Request): boolean {
  return readToken(request) !== undefined;
}

async function readSignIn(request: Request): Promise<z.infer<typeof SignIn>> {
  if (request.is("application/json") === false)
    throw new ApiError("unsupported_media_type", "Send JSON: application/json.");
  const parsed = SignIn.safeParse(await readJsonObject(request, BODY_BYTES_MAX));
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map((issue) => ({ input: issue.path.join("."), message: issue.message }));
  throw new ApiError("invalid_request", "Send an email address and a password.", { details });
}

function readToken(request: Request): string | undefined {
  for (const pair of (request.get("cookie") ?? "").split(";")) {
    const [name = "", value = ""] = pair.split("=", 2);
    if (name.trim() === COOKIE && TOKEN.test(value.trim())) return value.trim();
  }
  return undefined;
}

function setCookie(response: Response, token: string, lifetimeSeconds: number): void {
  response.append(
    "Set-Cookie",
    `${COOKIE}=${token}; Path=/; Max-Age=${lifetimeSeconds}; Secure; HttpOnly; SameSite=Lax`,
  );
}

function toDocument(user: User) {
  return { email: user.email, accountId: user.accountId };
}
