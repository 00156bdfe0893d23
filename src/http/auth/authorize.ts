import type { Request } from "express";
import { type Account, findAccountByName, listAccounts } from "../../../db/accounts/accounts.ts";
import type { Db } from "../../../db/connect.ts";
import type { AccountId } from "../../../domain/ids.ts";
import type { Right, Role } from "../../../domain/members.ts";
import { queryText } from "../answers/body.ts";
import { ApiError } from "../errors.ts";
import { mayLookAtInstallation } from "./installation.ts";
import { findPerson, type Person, requireRight } from "./person.ts";

/** A member of one account who calls in person, or the operator acting for an account. */
export interface AccountCaller {
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
 * Returns who calls, by session or access token. Throws 401 when nobody is signed in, and 403 when their role lacks the
 * right. The operator acts as an owner of the account named by `?account=`, or of the first. For others, an account
 * that is not theirs is 404.
 */
export async function authorizeAccount(db: Db, request: Request, right: Right): Promise<AccountCaller> {
  const person = await getPerson(db, request);
  requireRight(person, right);
  const { userId, email, role, accessId } = person;
  return { userId, email, role, accessId, accountId: await chooseAccount(db, request, person) };
}

/** Returns the member who calls, for what belongs to one user alone. Throws 403 for the operator's token. */
export async function authorizeUser(
  db: Db,
  request: Request,
): Promise<Person & { userId: string; accountId: AccountId }> {
  const person = await getPerson(db, request);
  const { userId, accountId } = person;
  if (userId !== null && accountId !== null) return { ...person, userId, accountId };
  throw new ApiError(
    "forbidden",
    "The operator's token belongs to no user, so it has no sessions, tokens or password. Sign in, or use a member's token.",
  );
}

/** Returns the account that the operator means. Refuses everybody else with 403. */
export async function authorizeOperator(db: Db, request: Request): Promise<Account> {
  requireOperator(await getPerson(db, request));
  return getAccount(db, { accountId: null }, queryText(request, "account"));
}

/** Refuses everybody but the operator with 403. */
export async function authorizeInstallation(db: Db, request: Request): Promise<void> {
  requireOperator(await getPerson(db, request));
}

/** Refuses with 403 who may not look at the installation: everybody but the operator and those who own its first account. */
export async function authorizeLook(db: Db, request: Request): Promise<void> {
  if (await mayLookAtInstallation(db, await getPerson(db, request))) return;
  throw new ApiError(
    "forbidden",
    "Only the operator's token, and owners of the account that the installation made first, may look at this.",
  );
}

function requireOperator({ accountId }: Person): void {
  if (accountId === null) return;
  throw new ApiError("forbidden", "Only the operator's token may do this; yours belongs to one account.");
}

/** Lists the accounts that a caller may see: the operator all of them, others their own. Needs the right to read. */
export async function listVisibleAccounts(db: Db, request: Request): Promise<Account[]> {
  const person = await getPerson(db, request);
  requireRight(person, "read");
  return (await listAccounts(db)).filter(({ id }) => maySee(person, id));
}

async function getPerson(db: Db, request: Request): Promise<Person> {
  const person = await findPerson(db, request);
  if (person !== undefined) return person;
  const message = "You are not signed in, or your session or token has ended. Sign in, or send an access token.";
  throw new ApiError("unauthorized", message, {}, { "WWW-Authenticate": "Bearer" });
}

async function chooseAccount(db: Db, request: Request, person: Person): Promise<AccountId> {
  const name = queryText(request, "account");
  if (person.accountId !== null && name === undefined) return person.accountId;
  return (await getAccount(db, person, name)).id;
}

/** Returns the account named, else the caller's own, else the first of the installation. */
async function getAccount(db: Db, caller: Pick<Person, "accountId">, name: string | undefined): Promise<Account> {
  if (name !== undefined) {
    const account = await findAccountByName(db, name);
    if (account !== undefined && maySee(caller, account.id)) return account;
    throw new ApiError(
      "not_found",
      `There is no account ${JSON.stringify(name)}. "accounts list" shows those there are.`,
    );
  }
  const account = (await listAccounts(db)).find(({ id }) => maySee(caller, id));
  if (account === undefined)
    throw new ApiError("not_found", 'There is no account yet. Create one with "accounts create".');
  return account;
}

function maySee({ accountId }: Pick<Person, "accountId">, id: AccountId): boolean {
  return accountId === null || accountId === id;
}
