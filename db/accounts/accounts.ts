import type { AccountId } from "../../domain/ids.ts";
import { type Db, queryRows, sqlState, UNIQUE_VIOLATION } from "../connect.ts";

export interface Account {
  readonly id: AccountId;
  readonly name: string;
}

/** Creates an account without credits. `name_taken` when the name exists: names are how people address accounts. */
export async function createAccount(db: Db, account: Account): Promise<{ kind: "created" } | { kind: "name_taken" }> {
  try {
    await queryRows(db, `insert into accounts (id, name) values (:id, :name)`, { ...account });
    return { kind: "created" };
  } catch (error) {
    if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
    return { kind: "name_taken" };
  }
}

export async function findAccountByName(db: Db, name: string): Promise<Account | undefined> {
  const [row] = await queryRows<Account>(db, `select id, name from accounts where name = :name`, { name });
  return row;
}

/** The name of an account that there is. */
export async function getAccountName(db: Db, id: AccountId): Promise<string> {
  const [row] = await queryRows<{ name: string }>(db, `select name from accounts where id = :id`, { id });
  if (row === undefined) throw new Error(`There is no account ${id}.`);
  return row.name;
}

/** Returns whether this is the account that the installation made for its owner. */
export async function isFirstAccount(db: Db, id: AccountId): Promise<boolean> {
  const [row] = await queryRows<{ id: AccountId }>(db, `select id from accounts order by created_at, id limit 1`, {});
  return row?.id === id;
}

/** All accounts, oldest first: the first is the one the installation made for its owner. */
export async function listAccounts(db: Db): Promise<Account[]> {
  return queryRows<Account>(db, `select id, name from accounts order by created_at, id`);
}
