import { type Db, queryRows } from "../connect.ts";

/** A column with what the master key seals. `context` is an expression for what each box belongs to. */
interface SealedColumn {
  readonly table: string;
  readonly id: string;
  readonly column: string;
  readonly context: string;
}

/** All that the master key seals. The canary comes last: it says which key the others have. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: "api_keys", id: "encode(hash, 'hex')", column: "encrypted", context: "workflow_id" },
  { table: "data_keys", id: "account_id", column: "sealed", context: "'data key of ' || account_id" },
  { table: "executions", id: "id", column: "secret_inputs", context: "id" },
  { table: "installation", id: "cast(single as text)", column: "operator_token", context: "'operator token'" },
  { table: "installation", id: "cast(single as text)", column: "owner_password", context: "'first owner''s password'" },
  { table: "installation", id: "cast(single as text)", column: "canary", context: "'installation'" },
];

export interface SealedRow {
  readonly id: string;
  readonly context: string;
  readonly sealed: Buffer;
}

/** Lists the sealed rows of a column in the order of their ids, after one of them; null begins. */
export async function listSealed(
  db: Db,
  { table, id, column, context }: SealedColumn,
  { after, limit }: { after: string | null; limit: number },
): Promise<SealedRow[]> {
  return queryRows<SealedRow>(
    db,
    `select ${id} as id, ${context} as context, ${column} as sealed from ${table}
      where ${column} is not null and (cast(:after as text) is null or ${id} > :after) order by ${id} limit :limit`,
    { after, limit },
  );
}

/** Replaces what a row has sealed, unless it was changed meanwhile. */
export async function replaceSealed(
  db: Db,
  { table, id, column }: SealedColumn,
  row: { readonly id: string; readonly before: Buffer; readonly after: Buffer },
): Promise<void> {
  await queryRows(db, `update ${table} set ${column} = :after where ${id} = :id and ${column} = :before`, { ...row });
}

/** A host whose process is there, and the ids of its master keys; null where it says nothing of them. */
export interface KeyHost {
  readonly hostId: string;
  readonly keyIds: readonly string[] | null;
}

export async function listKeyHosts(db: Db): Promise<KeyHost[]> {
  return queryRows<KeyHost>(
    db,
    `select id as "hostId", key_ids as "keyIds" from hosts where present_until > now() order by id`,
  );
}
