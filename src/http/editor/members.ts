import type { RequestHandler } from "express";
import { z } from "zod";
import type { Db } from "../../../db/connect.ts";
import { listInvitations } from "../../../db/invitations.ts";
import { changeRole, findMember, listMembers, type Refused, removeMember } from "../../../db/members.ts";
import { ROLES } from "../../../domain/members.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { createSignInCode } from "../known-browser.ts";
import { demandRight, readBearerToken } from "../person.ts";
import { clearSessionCookie, startSession } from "../session-cookie.ts";
import { authorizeEditor } from "./authorize.ts";
import { readBody } from "./body.ts";

export const NewRole = z.strictObject({ role: z.enum(ROLES) });

/** Who belongs to the account, and who is invited. */
export function createMembersRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeEditor(db, request, "read");
    const [members, invitations] = await Promise.all([listMembers(db, accountId), listInvitations(db, accountId)]);
    response.json({ members, invitations });
  };
}

/** Gives somebody another role. Their sessions end; one's own goes on under a new token. */
export function createRoleRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const { accountId, userId: by } = await authorizeEditor(db, request, "own");
    const userId = String(request.params["userId"]);
    if ((await findMember(db, { accountId, userId })) === undefined) throw refuse({ kind: "unknown" });
    const { role } = await readBody(request, NewRole);
    const changed = await changeRole(db, { accountId, userId, by, role });
    if (changed.kind !== "changed") throw refuse(changed);
    if (by === userId && changed.previousRole !== role && readBearerToken(request) === undefined)
      await startSession(db, { request, response }, { userId, passwordHash: null });
    response.json(changed.member);
  };
}

/** Removes somebody from the account, or oneself: what let them in ends with it. */
export function createRemovalRoute({ db }: { db: Db }): RequestHandler {
  return async (request, response) => {
    const caller = await authorizeEditor(db, request, "read");
    const userId = String(request.params["userId"]);
    const { accountId, userId: by } = caller;
    if (by !== userId) demandRight(caller, "own");
    const removed = await removeMember(db, { accountId, userId, by });
    if (removed.kind !== "removed") throw refuse(removed);
    if (by === userId) clearSessionCookie(response);
    response.json({ userId, removed: true });
  };
}

/** Makes a link with which a member signs in although strangers guess at their address. It needs their password all the same. */
export function createSignInLinkRoute({
  db,
  secretBox,
  apiUrl,
}: Pick<AppDeps, "db" | "secretBox" | "apiUrl">): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeEditor(db, request, "own");
    const member = await findMember(db, { accountId, userId: String(request.params["userId"]) });
    if (member === undefined) throw refuse({ kind: "unknown" });
    const { code, expiresAt } = createSignInCode(secretBox, member.email);
    const url = `${apiUrl().replace(/\/api$/, "")}/sign-in#${code}`;
    response.status(201).json({ email: member.email, url, expiresAt });
  };
}

function refuse({ kind }: Refused): ApiError {
  switch (kind) {
    case "unknown":
      return new ApiError(
        "not_found",
        "Nobody with this id belongs to the account. The list of members has those who do.",
      );
    case "not_owner":
      return new ApiError(
        "forbidden",
        "You are no owner of the account any more: somebody changed your role meanwhile.",
      );
    case "last_owner":
      return new ApiError(
        "conflict",
        "The last owner of an account can neither leave nor step down. Make somebody else an owner first.",
      );
  }
}
