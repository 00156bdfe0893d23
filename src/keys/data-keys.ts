import { randomBytes } from "node:crypto";
import type { Db } from "../../db/connect.ts";
import { findDataKey, keepDataKey } from "../../db/secrets/data-keys.ts";
import type { AccountId } from "../../domain/ids.ts";
import { createSecretBox, type SecretBox } from "./secret-box.ts";

const KEY_BYTES = 32;

/** Returns the box of an account for its secrets. Its key is made at first use, and sealed by the master key. */
export async function openAccountBox(
  db: Db,
  masterBox: Pick<SecretBox, "seal" | "open">,
  accountId: AccountId,
): Promise<Pick<SecretBox, "seal" | "open">> {
  const context = `data key of ${accountId}`;
  const sealed =
    (await findDataKey(db, accountId)) ??
    (await keepDataKey(db, accountId, masterBox.seal(randomBytes(KEY_BYTES), context)));
  return createSecretBox(masterBox.open(sealed, context));
}
