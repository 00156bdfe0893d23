import type { Request } from "express";
import { type AccessToken, findAccessToken } from "../../../db/accounts/access.ts";
import type { Db } from "../../../db/connect.ts";
import type { AccountId } from "../../../domain/ids.ts";
import { hasRight, type Right, type Role } from "../../../domain/members.ts";
import { hashToken } from "../../keys/tokens.ts";
import { ApiError } from "../errors.ts";
import { findSignedIn } from "./sessions.ts";

/** A user or the operator, not a program with a workflow's key. */
export interface Person {
  /** Null: the operator. */
  readonly accountId: AccountId | null;
  /** Null: the operator. */
  readonly userId: string | null;
  /** Of the operator: `operator`. */
  readonly email: string;
  readonly role: Role;
  /** The session they came with, if they did. */
  readonly sessionId: string | null;
  /** What let them in: the id of the session or of the token. */
  readonly accessId: string;
  /** Until when the token they came with is good; null: for ever, or no token. */
  readonly tokenExpiresAt: Date | null;
}

/** Who has signed in with this browser, or whose access token came with the request: the command line's. */
export async function findPerson(db: Db, request: Request): Promise<Person | undefined> {
  const token = readBearerToken(request);
  if (token !== undefined) {
    const found = await findAccessToken(db, hashToken(token));
    return found && toPerson(found);
  }
  const user = await findSignedIn(db, request);
  if (user === undefined) return undefined;
  const { id: userId, accountId, email, role, sessionId } = user;
  return { userId, accountId, email, role, sessionId, accessId: sessionId, tokenExpiresAt: null };
}

/** Whose an access token is: it acts with its user's role. */
export function toPerson({ user, tokenId, expiresAt }: AccessToken): Person {
  const access = { sessionId: null, accessId: tokenId, tokenExpiresAt: expiresAt };
  if (user === null) return { userId: null, accountId: null, email: "operator", role: "owner", ...access };
  const { id: userId, accountId, email, role } = user;
  return { userId, accountId, email, role, ...access };
}

/** The token of the header Authorization, whether it is one of ours or not. */
export function readBearerToken(request: Request): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,200})$/i.exec(request.get("authorization") ?? "")?.[1];
}

/** Stops who has not the right, and says who could give it. */
export function requireRight({ role }: { role: Role }, right: Right): void {
  if (hasRight(role, right)) return;
  const message =
    right === "own"
      ? `Only owners of the account may do this; your role is ${role}. Ask one of them.`
      : `Your role is ${role}: you may look at everything and change nothing. Ask an owner of the account for another role.`;
  throw new ApiError("forbidden", message);
}
