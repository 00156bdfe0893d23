import type { RequestHandler } from "express";
import { listInvitations } from "../../../db/accounts/invitations.ts";
import { changeRole, findMember, listMembers, type Refused, removeMember } from "../../../db/accounts/members.ts";
import type { Db } from "../../../db/connect.ts";
import { Member, MemberList, NewRole, RemovedMember, SignInLink } from "../../../domain/api/people.ts";
import { readBody, sendAnswer } from "../answers/body.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import { createSignInCode } from "../auth/known-browser.ts";
import { readBearerToken, requireRight } from "../auth/person.ts";
import { clearSessionCookie, startSession } from "../auth/session-cookie.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";

/** Who belongs to the account, and who is invited. */
export function createMembersRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "read");
    const [members, invitations] = await Promise.all([listMembers(db, accountId), listInvitations(db, accountId)]);
    sendAnswer(response, MemberList, { members, invitations });
  };
}

/** Gives a member another role. Their sessions end; one's own goes on under a new token. */
export function createRoleRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const { accountId, userId: by } = await authorizeAccount(db, request, "own");
    const userId = String(request.params["userId"]);
    if ((await findMember(db, { accountId, userId })) === undefined) throw refuse({ kind: "unknown" });
    const { role } = await readBody(request, NewRole);
    const changed = await changeRole(db, { accountId, userId, by, role });
    if (changed.kind !== "changed") throw refuse(changed);
    if (by === userId && changed.previousRole !== role && readBearerToken(request) === undefined)
      await startSession(db, { request, response }, { userId, passwordHash: null });
    sendAnswer(response, Member, changed.member);
  };
}

/** Removes a member from the account, or lets the caller leave it. The member's sessions and tokens end with it. */
export function createRemovalRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const caller = await authorizeAccount(db, request, "read");
    const userId = String(request.params["userId"]);
    const { accountId, userId: by } = caller;
    if (by !== userId) requireRight(caller, "own");
    const removed = await removeMember(db, { accountId, userId, by });
    if (removed.kind !== "removed") throw refuse(removed);
    if (by === userId) clearSessionCookie(response);
    sendAnswer(response, RemovedMember, { userId, removed: true });
  };
}

/** Makes a link with which a member signs in although strangers guess at their address. It needs their password all the same. */
export function createSignInLinkRoute({
  db,
  secretBox,
  apiUrl,
}: Pick<AppDeps, "db" | "secretBox" | "apiUrl">): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "own");
    const member = await findMember(db, { accountId, userId: String(request.params["userId"]) });
    if (member === undefined) throw refuse({ kind: "unknown" });
    const { code, expiresAt } = createSignInCode(secretBox, member.email);
    const url = `${apiUrl().replace(/\/api$/, "")}/sign-in#${code}`;
    sendAnswer(response, SignInLink, { email: member.email, url, expiresAt }, 201);
  };
}

function refuse({ kind }: Refused): ApiError {
  switch (kind) {
    case "unknown":
      return new ApiError("not_found", "The account has no member with this id. Look for it in the list of members.");
    case "not_owner":
      return new ApiError(
        "forbidden",
        "You are no owner of the account any more: another owner has changed your role. Ask an owner to do this.",
      );
    case "last_owner":
      return new ApiError(
        "conflict",
        "The last owner of an account can neither leave nor step down. Make another member an owner first.",
      );
  }
}
