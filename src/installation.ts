import { randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findUserState, insertOperatorToken, putUser } from "../db/access.ts";
import { type Account, createAccount, listAccounts } from "../db/accounts.ts";
import type { Db } from "../db/connect.ts";
import { grant } from "../db/credits.ts";
import type { MicroCredits } from "../domain/credits.ts";
import { createAccountId, createUserId } from "./ids.ts";
import { hashPassword } from "./keys/password.ts";
import { createAccessToken, hashToken } from "./keys/tokens.ts";

const EMAIL = "owner@treadle.localhost";
const FIRST_ACCOUNT = "main";

export interface Installation {
  readonly account: Account;
  /** The password is null where somebody has chosen another one, all of it where that user was removed. */
  readonly signIn: { readonly email: string; readonly password: string | null } | null;
  readonly operatorToken: string;
}

/**
 * What a new installation has before anybody comes: an account with credits, somebody to sign in as, and a token
 * for the command line. Found again on every later start. The two secrets live in `keysDir`, readable by the
 * service's user alone.
 */
export async function prepareInstallation(deps: {
  db: Db;
  keysDir: string;
  initialCredits: MicroCredits;
}): Promise<Installation> {
  const { db, keysDir } = deps;
  const account = (await listAccounts(db))[0] ?? (await createFirstAccount(db, deps.initialCredits));
  const password = await readOrCreate(join(keysDir, "sign-in-password"), () => randomBytes(15).toString("base64url"));
  const operatorToken = await readOrCreate(join(keysDir, "operator-token"), createAccessToken);
  const known = await findUserState(db, EMAIL);
  // Hashing is slow on purpose: only for a new password, or a database that does not know the user.
  const isNew = known === undefined || (password.created && !known.removed);
  if (isNew) {
    const passwordHash = await hashPassword(password.value);
    await putUser(db, { id: createUserId(), accountId: account.id, email: EMAIL, role: "owner", passwordHash });
  }
  await insertOperatorToken(db, { tokenHash: hashToken(operatorToken.value), name: "operator" });
  const isChosen = !isNew && known.passwordChosen;
  const signIn = known?.removed === true ? null : { email: EMAIL, password: isChosen ? null : password.value };
  return { account, signIn, operatorToken: operatorToken.value };
}

/** Two processes that start together on an empty database agree on the first one's account. */
async function createFirstAccount(db: Db, initialCredits: MicroCredits): Promise<Account> {
  const account: Account = { id: createAccountId(), name: FIRST_ACCOUNT };
  const outcome = await db
    .transaction(async (tx) => {
      const created = await createAccount(tx, account);
      if (created.kind === "created" && initialCredits > 0n) {
        await grant(tx, { accountId: account.id, amount: initialCredits, reason: "first start" });
      }
      return created;
    })
    .catch((error: unknown) => ({ kind: "raced" as const, error }));
  if (outcome.kind === "created") return account;
  const [first] = await listAccounts(db);
  if (first === undefined) throw new Error("The first account could not be created.", { cause: outcome });
  return first;
}

async function readOrCreate(path: string, create: () => string): Promise<{ value: string; created: boolean }> {
  try {
    return { value: (await readFile(path, "utf8")).trim(), created: false };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const value = create();
  await writeFile(`${path}.tmp`, `${value}\n`, { mode: 0o600 });
  await rename(`${path}.tmp`, path);
  return { value, created: true };
}
