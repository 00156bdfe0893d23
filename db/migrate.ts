import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import type { Knex } from "knex";
import { type Db, queryRows } from "./connect.ts";

const FOLDER = fileURLToPath(new URL("./migrations/", import.meta.url));
/** Any number; the same in every process of every version, so that they wait for each other. */
const ADVISORY_LOCK = 7_283_514;

/** The names of all migrations there are, in order. */
export function listMigrations(): string[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(".sql"))
    .map((file) => basename(file, ".sql"))
    .sort();
}

/** Names are recorded without extension or folder, so that sources and builds are the same migrations. */
class SqlFolder implements Knex.MigrationSource<string> {
  readonly names: readonly string[];

  constructor(names: readonly string[] = listMigrations()) {
    this.names = names;
  }

  async getMigrations(): Promise<string[]> {
    return [...this.names];
  }

  getMigrationName(name: string): string {
    return name;
  }

  async getMigration(name: string): Promise<Knex.Migration> {
    const sql = readFileSync(`${FOLDER}${name}.sql`, "utf8");
    return { up: async (tx) => void (await tx.raw(sql)), down: async () => refuseDown(name) };
  }
}

function refuseDown(name: string): never {
  throw new Error(`${name} cannot be undone: migrations go forward only. Restore a backup instead.`);
}

/**
 * Applies what is missing, once, in order; answers the names applied. Processes that start together wait
 * for each other on an advisory lock: knex's own lock needs its tables first, and they would race to create those.
 * Refuses a database that a newer program has migrated, and changes nothing in it.
 */
export async function migrate(db: Db): Promise<string[]> {
  return db.transaction(async (lock) => {
    await lock.raw("set local lock_timeout = 0");
    await lock.raw("set local statement_timeout = 0");
    await lock.raw("set local idle_in_transaction_session_timeout = 0");
    await lock.raw("select pg_advisory_xact_lock(?)", [ADVISORY_LOCK]);
    const source = new SqlFolder();
    await refuseNewer(lock, source.names);
    const [, applied]: [number, string[]] = await db.migrate.latest({
      migrationSource: source,
      tableName: "migrations",
    });
    return applied;
  });
}

async function refuseNewer(db: Db, known: readonly string[]): Promise<void> {
  const [table] = await queryRows<{ name: string | null }>(db, "select to_regclass('migrations')::text as name");
  if (table?.name == null) return;
  const applied = await queryRows<{ name: string }>(db, "select name from migrations order by name");
  const [unknown] = applied.map(({ name }) => name).filter((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new Error(
    `The database was written by a newer Treadle: it has ${unknown}, and this program knows migrations up to ${known.at(-1)}. Start the newer program. To go back to this one, restore the backup that was made before the upgrade (docs/upgrades.md). Nothing was changed.`,
  );
}

/** Applies exactly these migrations to an empty database, as part of a transaction: what a backup of an older version was made of. */
export async function migrateTo(tx: Db, names: readonly string[]): Promise<void> {
  await tx.migrate.latest({ migrationSource: new SqlFolder(names), tableName: "migrations" });
}
