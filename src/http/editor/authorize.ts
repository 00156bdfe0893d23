import type { Request } from "express";
import type { Db } from "../../../db/connect.ts";
import type { AccountId } from "../../../domain/ids.ts";
import type { Right, Role } from "../../../domain/members.ts";
import { ApiError } from "../errors.ts";
import { queryText } from "../operator/body.ts";
import { getAccount } from "../operator/caller.ts";
import { demandRight, findPerson, type Person } from "../person.ts";

/** Who uses the editor, or what it does by program: somebody of one account. */
export interface EditorCaller {
  /** Null: the operator, who has no drafts, sessions or tokens here. */
  readonly userId: string | null;
  /** Of the operator: `operator`. */
  readonly email: string;
  readonly accountId: AccountId;
  readonly role: Role;
  /** What let them in: the id of the session or of the token. */
  readonly accessId: string;
}

/**
 * Who calls, by session or access token, when they have the right: 401 when nobody does, 403 when their role is too little. The
 * operator acts as an owner of the account named by `?account=`, or of the first; for others, an account that is not theirs is 404.
 */
export async function authorizeEditor(db: Db, request: Request, right: Right): Promise<EditorCaller> {
  const person = await getPerson(db, request);
  demandRight(person, right);
  const { userId, email, role, accessId } = person;
  return { userId, email, role, accessId, accountId: await chooseAccount(db, request, person) };
}

/** Somebody of an account in person, for what is theirs alone: everybody but the operator. */
export async function authorizeUser(
  db: Db,
  request: Request,
): Promise<Person & { userId: string; accountId: AccountId }> {
  const person = await getPerson(db, request);
  const { userId, accountId } = person;
  if (userId !== null && accountId !== null) return { ...person, userId, accountId };
  throw new ApiError(
    "forbidden",
    "The operator's token is nobody's: it has no sessions, tokens or password. Use the token of a member, or sign in.",
  );
}

async function getPerson(db: Db, request: Request): Promise<Person> {
  const person = await findPerson(db, request);
  if (person !== undefined) return person;
  const message =
    "Nobody is signed in, or the session or token is not good any more. Sign in, or send an access token.";
  throw new ApiError("unauthorized", message, {}, { "WWW-Authenticate": "Bearer" });
}

async function chooseAccount(db: Db, request: Request, person: Person): Promise<AccountId> {
  const name = queryText(request, "account");
  if (person.accountId !== null && name === undefined) return person.accountId;
  return (await getAccount(db, person, name)).id;
}
