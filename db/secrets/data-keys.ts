import type { AccountId } from "../../domain/ids.ts";
import { type Db, queryRows } from "../connect.ts";

/** Returns the sealed data key of an account; undefined before it has one. */
export async function findDataKey(db: Db, accountId: AccountId): Promise<Buffer | undefined> {
  const [row] = await queryRows<{ sealed: Buffer }>(db, `select sealed from data_keys where account_id = :accountId`, {
    accountId,
  });
  return row?.sealed;
}

/** Keeps a sealed data key for an account that has none. Returns the one that it has then: of two at once, the first. */
export async function keepDataKey(db: Db, accountId: AccountId, sealed: Buffer): Promise<Buffer> {
  await queryRows(
    db,
    `insert into data_keys (account_id, sealed) values (:accountId, :sealed) on conflict (account_id) do nothing`,
    { accountId, sealed },
  );
  return (await findDataKey(db, accountId)) as Buffer;
}
