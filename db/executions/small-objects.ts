import { type Db, queryRows } from "../connect.ts";

interface SmallObjectRow {
  readonly key: string;
  readonly content: Buffer;
}

/** The small objects of the record: outputs and logs that were committed with the end of their execution. */
export function createSmallObjects(db: Db) {
  return {
    /** Returns the bytes of an object; undefined when there is none of that key. */
    async find(key: string): Promise<Buffer | undefined> {
      const [row] = await queryRows<{ content: Buffer }>(
        db,
        `select content from small_objects where storage_key = cast(:key as text)`,
        { key },
      );
      return row?.content;
    },

    /** Lists the keys under a prefix. */
    async list(prefix: string): Promise<string[]> {
      const rows = await queryRows<{ key: string }>(
        db,
        // No character of a key comes after a tilde.
        `select storage_key as key from small_objects
          where storage_key >= cast(:prefix as text) and storage_key < cast(:prefix as text) || '~'`,
        { prefix },
      );
      return rows.map(({ key }) => key);
    },

    /**
     * Hands objects that are older than `seconds`, the oldest first, to `store`, and forgets those whose keys it returns. Nobody else
     * moves, replaces or deletes them meanwhile. Those that another process moves are left to it. Returns how many there were.
     */
    async moveDue(
      input: { seconds: number; limit: number },
      store: (objects: readonly SmallObjectRow[]) => Promise<readonly string[]>,
    ): Promise<number> {
      return db.transaction(async (transaction) => {
        const rows = await queryRows<SmallObjectRow>(
          transaction,
          `select storage_key as key, content from small_objects where created_at <= now() - make_interval(secs => :seconds)
            order by created_at limit :limit for update skip locked`,
          input,
        );
        if (rows.length === 0) return 0;
        const keys = await store(rows);
        await queryRows(transaction, `delete from small_objects where storage_key = any(cast(:keys as text[]))`, {
          keys,
        });
        return rows.length;
      });
    },

    /** Deletes an object; waits for a move of it that is under way. Deleting what is not there is fine. */
    delete: (key: string): Promise<void> => forget(db, key),

    /**
     * Hands an object to `store` and forgets it when that has kept it. Nobody else moves, replaces or deletes it meanwhile. Does
     * nothing when there is none of that key. What `store` throws is passed on, and the object stays.
     */
    async move(key: string, store: (content: Buffer) => Promise<unknown>): Promise<void> {
      await db.transaction(async (transaction) => {
        const [row] = await queryRows<{ content: Buffer }>(
          transaction,
          `select content from small_objects where storage_key = cast(:key as text) for update`,
          { key },
        );
        if (row === undefined) return;
        await store(row.content);
        await forget(transaction, key);
      });
    },
  };
}

async function forget(db: Db, key: string): Promise<void> {
  await queryRows(db, `delete from small_objects where storage_key = cast(:key as text)`, { key });
}

/** Returns since when the oldest object waits for storage, in seconds, 0 without one; and the size of the table in bytes. */
export async function findSmallObjectFigures(db: Db): Promise<{ oldestSeconds: number; bytes: number }> {
  const [row] = await queryRows<{ oldestSeconds: number; bytes: number }>(
    db,
    `select coalesce(extract(epoch from now() - min(created_at)), 0)::float as "oldestSeconds",
            pg_total_relation_size('small_objects')::float as bytes
       from small_objects`,
  );
  return row as { oldestSeconds: number; bytes: number };
}
