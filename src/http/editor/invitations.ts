import type { Request, RequestHandler } from "express";
import { z } from "zod";
import { createInvitation, INVITATIONS_MAX, type InviteOutcome, revokeInvitation } from "../../../db/invitations.ts";
import { EMAIL_CHARACTERS_MAX, ROLES } from "../../../domain/members.ts";
import { createInvitationToken, hashToken } from "../../keys/tokens.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { StorableText } from "../operator/body.ts";
import { authorizeEditor } from "./authorize.ts";
import { readBody } from "./body.ts";

/** Whether there is such a mailbox only its owner can tell, by joining. */
const EMAIL = /^[^\s@]+@[^\s@]+$/;

export const NewInvitation = z.strictObject({
  email: StorableText.max(EMAIL_CHARACTERS_MAX).regex(EMAIL, "must be an email address"),
  role: z.enum(ROLES),
});

/** Makes a link by which somebody may join, once. Its secret is in the part of the address that browsers keep to themselves. */
export function createInvitationRoute({ db, apiUrl }: Pick<AppDeps, "db" | "apiUrl">): RequestHandler {
  return async (request, response) => {
    const { accountId, userId: by } = await authorizeEditor(db, request, "own");
    const { email, role } = await readBody(request, NewInvitation);
    const token = createInvitationToken();
    const invited = await createInvitation(db, { accountId, email, role, tokenHash: hashToken(token), by });
    if (invited.kind !== "invited") throw refuse(invited, email);
    const { invitationId, expiresAt } = invited;
    const url = `${apiUrl().replace(/\/api$/, "")}/join#${token}`;
    response.status(201).json({ invitationId, email, role, url, expiresAt });
  };
}

/** Takes an invitation back that nobody has accepted yet. */
export function createInvitationRevocationRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request: Request, response) => {
    const { accountId } = await authorizeEditor(db, request, "own");
    const invitationId = String(request.params["invitationId"]);
    if (!(await revokeInvitation(db, { accountId, invitationId })))
      throw new ApiError("not_found", "There is no such invitation, or it was accepted, revoked or is over.");
    response.json({ invitationId, revoked: true });
  };
}

function refuse({ kind }: Exclude<InviteOutcome, { kind: "invited" }>, email: string): ApiError {
  switch (kind) {
    case "not_owner":
      return new ApiError(
        "forbidden",
        "You are no owner of the account any more: somebody changed your role meanwhile.",
      );
    case "member_already":
      return new ApiError(
        "conflict",
        `${email} belongs to the account already. Change the role in the list of members.`,
      );
    case "needs_owner":
      return new ApiError("conflict", "Nobody owns this account yet. Invite an owner first; they invite the others.");
    case "too_many":
      return new ApiError(
        "conflict",
        `The account has ${INVITATIONS_MAX} open invitations. Revoke some, then invite again.`,
      );
  }
}
