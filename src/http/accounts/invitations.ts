import type { Request, RequestHandler } from "express";
import {
  createInvitation,
  INVITATIONS_MAX,
  type InviteOutcome,
  revokeInvitation,
} from "../../../db/accounts/invitations.ts";
import { Invited, NewInvitation, RevokedInvitation } from "../../../domain/api/people.ts";
import { createInvitationToken, hashToken } from "../../keys/tokens.ts";
import { readBody, sendAnswer } from "../answers/body.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";

/**
 * Makes a link by which one person may join, once. Its secret is in the part of the address that browsers keep to
 * themselves.
 */
export function createInvitationRoute({ db, apiUrl }: Pick<AppDeps, "db" | "apiUrl">): RequestHandler {
  return async (request, response) => {
    const { accountId, userId: by } = await authorizeAccount(db, request, "own");
    const { email, role } = await readBody(request, NewInvitation);
    const token = createInvitationToken();
    const invited = await createInvitation(db, { accountId, email, role, tokenHash: hashToken(token), by });
    if (invited.kind !== "invited") throw refuse(invited, email);
    const { invitationId, expiresAt } = invited;
    const url = `${apiUrl().replace(/\/api$/, "")}/join#${token}`;
    sendAnswer(response, Invited, { invitationId, email, role, url, expiresAt }, 201);
  };
}

/** Takes an invitation back that nobody has accepted yet. */
export function createInvitationRevocationRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request: Request, response) => {
    const { accountId } = await authorizeAccount(db, request, "own");
    const invitationId = String(request.params["invitationId"]);
    if (!(await revokeInvitation(db, { accountId, invitationId })))
      throw new ApiError(
        "not_found",
        "There is no such invitation, or it was accepted or revoked, or has expired. List the invitations and try again.",
      );
    sendAnswer(response, RevokedInvitation, { invitationId, revoked: true });
  };
}

function refuse({ kind }: Exclude<InviteOutcome, { kind: "invited" }>, email: string): ApiError {
  switch (kind) {
    case "not_owner":
      return new ApiError(
        "forbidden",
        "You are no owner of the account any more: another owner has changed your role. Ask an owner to do this.",
      );
    case "member_already":
      return new ApiError(
        "conflict",
        `${email} belongs to the account already. Change the role in the list of members.`,
      );
    case "needs_owner":
      return new ApiError(
        "conflict",
        "This account has no owner yet. Invite an owner first, who can invite the others.",
      );
    case "too_many":
      return new ApiError(
        "conflict",
        `The account has ${INVITATIONS_MAX} open invitations. Revoke some, then invite again.`,
      );
  }
}
