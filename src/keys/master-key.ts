import type { Db } from "../../db/connect.ts";
import { findCanary, findOldestSealedKey, keepCanary } from "../../db/installation.ts";
import type { SecretBox } from "./secret-box.ts";

const CONTEXT = "installation";

/**
 * Refuses a master key that is not the installation's: what it seals nobody else could open. The first process of an
 * installation decides which key that is; an older installation's key is the one that opens its oldest API key.
 */
export async function requireMasterKey(
  db: Db,
  { secretBox, file }: { readonly secretBox: Pick<SecretBox, "seal" | "open">; readonly file: string },
): Promise<void> {
  const canary = await findCanary(db);
  const older = canary === undefined ? await findOldestSealedKey(db) : undefined;
  const opens = (box: Buffer, context: string): boolean => {
    try {
      secretBox.open(box, context);
      return true;
    } catch {
      return false;
    }
  };
  const isOurs =
    (older === undefined || opens(older.encrypted, older.workflowId)) &&
    opens(canary ?? (await keepCanary(db, secretBox.seal("canary", CONTEXT))), CONTEXT);
  if (isOurs) return;
  throw new Error(
    `${file} is not the master key of this installation: its keys and secret inputs were sealed with another one. Put a copy of the installation's key there (mode 0600), or name one by TREADLE_MASTER_KEY_FILE. The installation's first process has it where its own TREADLE_MASTER_KEY_FILE says, else as keys/master in its data folder; a backup has it as data/keys/master.`,
  );
}
