import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { findUserByEmail, findUserState, insertOperatorToken, putUser } from "../../db/accounts/access.ts";
import { type Account, createAccount, listAccounts } from "../../db/accounts/accounts.ts";
import type { Db } from "../../db/connect.ts";
import {
  isOperatorToken,
  keepInstallationSecrets,
  lockInstallation,
  revokeOperatorTokens,
} from "../../db/installation.ts";
import { grant } from "../../db/ledger/credits.ts";
import type { MicroCredits } from "../../domain/credits.ts";
import { writeWhole } from "../../system/whole-file.ts";
import { createAccountId, createUserId } from "../ids.ts";
import { hashPassword, verifyPassword } from "../keys/password.ts";
import type { SecretBox } from "../keys/secret-box.ts";
import { createAccessToken, hashToken } from "../keys/tokens.ts";

const EMAIL = "owner@treadle.localhost";
const FIRST_ACCOUNT = "main";
const TOKEN_CONTEXT = "operator token";
const PASSWORD_CONTEXT = "first owner's password";

export interface Installation {
  readonly account: Account;
  /** The password is null where the user has chosen another one, all of it where that user was removed. */
  readonly signIn: { readonly email: string; readonly password: string | null } | null;
  readonly operatorToken: string;
}

/** What the data folder has of the installation's secrets; an empty one asks for a new one. */
interface Files {
  readonly password: string | undefined;
  readonly token: string | undefined;
}

/**
 * Makes what a new installation has at first: an account with credits, a user to sign in as, and a token for the
 * command line. The database keeps them. So every later process finds the same, also one with a new data folder, and
 * processes that start at once agree. Each keeps the two secrets in its `keysDir`, readable by the service's user
 * alone.
 */
export async function prepareInstallation(deps: {
  db: Db;
  keysDir: string;
  secretBox: Pick<SecretBox, "seal" | "open">;
  initialCredits: MicroCredits;
}): Promise<Installation> {
  const { db, keysDir, secretBox } = deps;
  const [passwordPath, tokenPath] = [join(keysDir, "sign-in-password"), join(keysDir, "operator-token")];
  const files: Files = { password: await readIfThere(passwordPath), token: await readIfThere(tokenPath) };
  const installation = await db.transaction(async (tx): Promise<Installation> => {
    const kept = await lockInstallation(tx);
    const known = {
      token: kept.operatorToken && secretBox.open(kept.operatorToken, TOKEN_CONTEXT).toString(),
      password: kept.ownerPassword && secretBox.open(kept.ownerPassword, PASSWORD_CONTEXT).toString(),
    };
    const account = (await listAccounts(tx))[0] ?? (await createFirstAccount(tx, deps.initialCredits));
    if (files.token === "") await revokeOperatorTokens(tx);
    const operatorToken = await settleOperatorToken(tx, known.token ?? files.token);
    const signIn = await settleFirstOwner(tx, account, { known: known.password, file: files.password });
    const password = signIn?.password ?? null;
    if (operatorToken !== known.token || password !== known.password)
      await keepInstallationSecrets(tx, {
        operatorToken: secretBox.seal(operatorToken, TOKEN_CONTEXT),
        ownerPassword: password === null ? null : secretBox.seal(password, PASSWORD_CONTEXT),
      });
    return { account, signIn, operatorToken };
  });
  const { signIn, operatorToken } = installation;
  if (operatorToken !== files.token) await writeSecret(tokenPath, operatorToken);
  if (signIn?.password && signIn.password !== files.password) await writeSecret(passwordPath, signIn.password);
  return installation;
}

async function createFirstAccount(tx: Db, initialCredits: MicroCredits): Promise<Account> {
  const account: Account = { id: createAccountId(), name: FIRST_ACCOUNT };
  const { kind } = await createAccount(tx, account);
  if (kind !== "created") throw new Error(`The first account could not be created: ${kind}.`);
  if (initialCredits > 0n) await grant(tx, { accountId: account.id, amount: initialCredits, reason: "first start" });
  return account;
}

/** Returns the operator's token that there is, or a new one where that is good for nothing. */
async function settleOperatorToken(tx: Db, known: string | undefined): Promise<string> {
  if (known !== undefined && (await isOperatorToken(tx, hashToken(known)))) return known;
  const token = createAccessToken();
  await insertOperatorToken(tx, { tokenHash: hashToken(token), name: "operator" });
  return token;
}

/** Makes the first owner where there is none. One that there is gets another password only where the file of it is empty. */
async function settleFirstOwner(
  tx: Db,
  account: Account,
  { known, file }: { known: string | null; file: string | undefined },
): Promise<Installation["signIn"]> {
  const state = await findUserState(tx, EMAIL);
  if (state?.removed === true) return null;
  if (state === undefined || file === "") {
    const password = randomBytes(15).toString("base64url");
    // Hashing is slow on purpose: only for a new password.
    const passwordHash = await hashPassword(password);
    await putUser(tx, { id: createUserId(), accountId: account.id, email: EMAIL, role: "owner", passwordHash });
    return { email: EMAIL, password };
  }
  if (state.passwordChosen) return { email: EMAIL, password: null };
  return { email: EMAIL, password: known ?? (await verified(tx, file)) };
}

/** The password of a file as older versions wrote it, when it still is the one. */
async function verified(tx: Db, file: string | undefined): Promise<string | null> {
  if (file === undefined) return null;
  const { valid } = await verifyPassword(file, (await findUserByEmail(tx, EMAIL))?.passwordHash);
  return valid ? file : null;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return undefined;
  }
}

async function writeSecret(path: string, value: string): Promise<void> {
  await writeWhole(path, `${value}\n`, 0o600);
}
