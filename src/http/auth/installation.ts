import { isFirstAccount } from "../../../db/accounts/accounts.ts";
import type { Db } from "../../../db/connect.ts";
import type { AccountId } from "../../../domain/ids.ts";
import { hasRight, type Role } from "../../../domain/members.ts";

/** Returns whether a person may look at the installation as a whole, beyond their account. */
export async function mayLookAtInstallation(
  db: Db,
  { accountId, role }: { readonly accountId: AccountId | null; readonly role: Role },
): Promise<boolean> {
  return accountId === null || (hasRight(role, "own") && (await isFirstAccount(db, accountId)));
}
