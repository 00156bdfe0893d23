import type { Request, RequestHandler } from "express";
import type { z } from "zod";
import { findSessionUser, findUserByEmail, renewPasswordHash, type User } from "../../../db/accounts/access.ts";
import { getAccountName } from "../../../db/accounts/accounts.ts";
import { deleteSession } from "../../../db/accounts/sessions.ts";
import type { Db } from "../../../db/connect.ts";
import { Session, SignedOut, SignIn } from "../../../domain/api/session.ts";
import { hashPassword, verifyPassword } from "../../keys/password.ts";
import { hashToken } from "../../keys/tokens.ts";
import { sendAnswer } from "../answers/body.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { readJsonObject } from "../server/json-body.ts";
import { mayLookAtInstallation } from "./installation.ts";
import { findKnown, rememberBrowser } from "./known-browser.ts";
import { clearSessionCookie, readSessionToken, startSession } from "./session-cookie.ts";
import { beginAttempt, type SignInThrottle } from "./sign-in-throttle.ts";
import { findPagesUrl, type LinkDeps } from "./temporal-link.ts";

/** A session that nobody has used for so long is over. */
export const IDLE_SECONDS = 7 * 86_400;
const BODY_BYTES_MAX = 10_000;

export type SessionDeps = Pick<AppDeps, "db" | "contact"> & LinkDeps;
export type SignInDeps = SessionDeps & Pick<AppDeps, "secretBox">;

/** Sign in. The database keeps the hash of the cookie's token alone. */
export function createSignInRoute(deps: SignInDeps, throttle: SignInThrottle): RequestHandler {
  const { db, secretBox } = deps;
  return async (request, response) => {
    const { email, password, code } = await readSignIn(request);
    const known = findKnown(secretBox, request, { email, code });
    // Counted before the password is checked: parallel guesses are guesses too.
    const attempt = await beginAttempt(throttle, request, email, known);
    const user = await findUserByEmail(db, email);
    const { valid, outdated } = await verifyPassword(password, user?.passwordHash, { isKnown: known !== undefined });
    if (user === undefined || !valid) throw wrongPassword();
    await attempt.succeed();
    const { id: userId, passwordHash: previousHash } = user;
    const passwordHash = outdated ? await hashPassword(password) : previousHash;
    if (outdated) await renewPasswordHash(db, { userId, previousHash, passwordHash });
    if (!(await startSession(db, { request, response }, { userId, passwordHash }))) throw wrongPassword();
    rememberBrowser(secretBox, response, user.email);
    sendAnswer(response, Session, await toSessionDocument(deps, user));
  };
}

/** Who is signed in. */
export function createSessionRoute(deps: SessionDeps): RequestHandler {
  return async (request, response) => {
    const user = await findSignedIn(deps.db, request);
    if (user === undefined)
      throw new ApiError("unauthorized", "You are not signed in, or your session has ended. Sign in.");
    sendAnswer(response, Session, await toSessionDocument(deps, user));
  };
}

/** Sign out; again is no error. */
export function createSignOutRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const token = readSessionToken(request);
    if (token !== undefined) await deleteSession(db, hashToken(token));
    clearSessionCookie(response);
    sendAnswer(response, SignedOut, { signedOut: true });
  };
}

/** The user whose session cookie came with the request, if there is one and it is still good. */
export async function findSignedIn(db: Db, request: Request): ReturnType<typeof findSessionUser> {
  const token = readSessionToken(request);
  return token === undefined ? undefined : findSessionUser(db, hashToken(token), IDLE_SECONDS);
}

/** What the editor needs to know of who is signed in, and of the service. */
export async function toSessionDocument(deps: SessionDeps, user: User) {
  const { db, contact } = deps;
  const { id: userId, email, accountId, role } = user;
  const [accountName, seesHosts] = await Promise.all([getAccountName(db, accountId), mayLookAtInstallation(db, user)]);
  return {
    email,
    accountId,
    accountName,
    userId,
    role,
    seesHosts,
    temporalUiUrl: findPagesUrl(deps, role),
    contact: contact ?? null,
  };
}

function wrongPassword(): ApiError {
  return new ApiError("unauthorized", "The email address or the password is wrong.");
}

async function readSignIn(request: Request): Promise<z.infer<typeof SignIn>> {
  if (request.is("application/json") === false)
    throw new ApiError("unsupported_media_type", "Send JSON: application/json.");
  const parsed = SignIn.safeParse(await readJsonObject(request, BODY_BYTES_MAX));
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map((issue) => ({ input: issue.path.join("."), message: issue.message }));
  throw new ApiError("invalid_request", "Send an email address and a password.", { details });
}
