import type { Request, RequestHandler } from "express";
import { acceptInvitation, findInvitation, type OpenInvitation } from "../../../db/accounts/invitations.ts";
import type { Db } from "../../../db/connect.ts";
import { InvitationFor, Join, LookAtInvitation } from "../../../domain/api/people.ts";
import { Session } from "../../../domain/api/session.ts";
import { createUserId } from "../../ids.ts";
import { hashPassword } from "../../keys/password.ts";
import { hashToken } from "../../keys/tokens.ts";
import { readBody, refuseField, sendAnswer } from "../answers/body.ts";
import { rememberBrowser } from "../auth/known-browser.ts";
import { startSession } from "../auth/session-cookie.ts";
import { type SignInDeps, toSessionDocument } from "../auth/sessions.ts";
import { beginAttempt, type SignInThrottle } from "../auth/sign-in-throttle.ts";
import { ApiError } from "../errors.ts";
import { judgePassword } from "./password.ts";

/** What an invitation is for, before it is accepted. */
export function createLookRoute({ db }: { db: Db }, throttle: SignInThrottle): RequestHandler {
  return async (request, response) => {
    const { token } = await readBody(request, LookAtInvitation);
    const { email, accountName, role } = await getInvitation(db, throttle, { request, token });
    sendAnswer(response, InvitationFor, { email, accountName, role });
  };
}

/** Accepts an invitation: makes a user with the password given, and signs them in. */
export function createJoinRoute(deps: SignInDeps, throttle: SignInThrottle): RequestHandler {
  const { db } = deps;
  return async (request, response) => {
    const { token, password } = await readBody(request, Join);
    const invitation = await getInvitation(db, throttle, { request, token });
    if (password === undefined)
      throw refuseField("password", "is required: choose the one to sign in with from now on");
    const problem = judgePassword(password, invitation.email);
    if (problem !== undefined) throw refuseField("password", problem);
    const passwordHash = await hashPassword(password);
    const accepted = await acceptInvitation(db, { invitation, userId: createUserId(), passwordHash });
    if (accepted.kind === "taken") throw taken(invitation.email);
    if (accepted.kind === "needs_owner")
      throw new ApiError("conflict", "This account has no owner any more. Ask the operator to invite an owner first.");
    if (accepted.kind === "unknown") throw unknownInvitation();
    const { user } = accepted;
    await startSession(db, { request, response }, { userId: user.id, passwordHash });
    rememberBrowser(deps.secretBox, response, user.email);
    sendAnswer(response, Session, await toSessionDocument(deps, user));
  };
}

/**
 * Returns the invitation of a token. Each attempt counts like one to sign in, so a caller that guesses tokens is
 * stopped.
 */
async function getInvitation(
  db: Db,
  throttle: SignInThrottle,
  { request, token }: { request: Request; token: string },
): Promise<OpenInvitation> {
  const hash = hashToken(token);
  const attempt = await beginAttempt(throttle, request, `invitation ${hash.toString("hex")}`);
  const invitation = await findInvitation(db, hash);
  if (invitation === undefined) throw unknownInvitation();
  await attempt.succeed();
  if (invitation.taken === "here")
    throw new ApiError("conflict", `${invitation.email} belongs to this account already. Sign in.`);
  if (invitation.taken === "elsewhere") throw taken(invitation.email);
  return invitation;
}

function unknownInvitation(): ApiError {
  return new ApiError(
    "not_found",
    "This invitation is not good: it was accepted, revoked, or is older than 7 days. Ask for a new one.",
  );
}

function taken(email: string): ApiError {
  return new ApiError(
    "conflict",
    `${email} belongs to another account here, and a user belongs to one account only. Leave that one first, or ask to be invited with another address.`,
  );
}
