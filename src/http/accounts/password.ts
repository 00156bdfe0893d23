import type { RequestHandler } from "express";
import { changePassword, findUserByEmail } from "../../../db/accounts/access.ts";
import type { Db } from "../../../db/connect.ts";
import { ChangedPassword, PasswordChange } from "../../../domain/api/people.ts";
import { hashPassword, verifyPassword } from "../../keys/password.ts";
import { readBody, refuseField, sendAnswer } from "../answers/body.ts";
import { authorizeUser } from "../auth/authorize.ts";
import { startSession } from "../auth/session-cookie.ts";
import { beginAttempt, type SignInThrottle } from "../auth/sign-in-throttle.ts";
import { ApiError } from "../errors.ts";

/** What is wrong with a new password that has the right length; undefined when nothing is. */
export function judgePassword(password: string, email: string): string | undefined {
  if (password.toLowerCase() === email.toLowerCase()) return "must not be the email address";
  return new Set(password).size < 4 ? "must not be a few characters repeated" : undefined;
}

/**
 * Changes the password of who is signed in. All sessions end but this one, which goes on under a new token; access tokens stay.
 * Counted like signing in: a browser left open is no place to guess passwords.
 */
export function createPasswordRoute({ db }: { db: Db }, throttle: SignInThrottle): RequestHandler {
  return async (request, response) => {
    const { userId, email, sessionId } = await authorizeUser(db, request);
    if (sessionId === null)
      throw new ApiError("forbidden", "An access token cannot change the password. Sign in with a browser.");
    const { currentPassword, newPassword } = await readBody(request, PasswordChange);
    // By the session: strangers who guess at the address keep nobody who is signed in from this.
    const attempt = await beginAttempt(throttle, request, email, `session ${sessionId}`);
    const previousHash = (await findUserByEmail(db, email))?.passwordHash;
    const { valid } = await verifyPassword(currentPassword, previousHash, { isKnown: true });
    if (!valid || previousHash === undefined) throw refuseField("currentPassword", "is wrong");
    await attempt.succeed();
    const problem =
      newPassword === currentPassword ? "must not be the password you have" : judgePassword(newPassword, email);
    if (problem !== undefined) throw refuseField("newPassword", problem);
    const passwordHash = await hashPassword(newPassword);
    if (
      !(await changePassword(db, { userId, previousHash, passwordHash })) ||
      !(await startSession(db, { request, response }, { userId, passwordHash }))
    )
      throw new ApiError("conflict", "The password was changed elsewhere meanwhile. Sign in again.");
    sendAnswer(response, ChangedPassword, { changed: true });
  };
}
