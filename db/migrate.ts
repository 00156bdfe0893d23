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

/** The last of 31 migrations that the first nine files replaced: both make the same database. */
const LAST_REPLACED = "0031_logs_of_attempts";

/** Returns what a database with these migrations has, by the names of today's files. Other names stay as they are. */
export function renameReplaced(names: readonly string[]): string[] {
  return names.includes(LAST_REPLACED) ? listMigrations().slice(0, 9) : [...names];
}

/** Returns the names of a database's migrations, in order, or undefined when it has none of our tables. */
export async function listApplied(db: Db): Promise<string[] | undefined> {
  const [there] = await queryRows<{ there: boolean }>(db, "select to_regclass('migrations') is not null as there");
  if (there?.there !== true) return undefined;
  const applied = await queryRows<{ name: string }>(db, "select name from migrations order by name");
  return renameReplaced(applied.map(({ name }) => name));
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
 * Applies what is missing, once, in order; returns the names applied. Processes that start together wait for each other
 * on an advisory lock. The lock of knex needs its tables first, and they would race to create those. Refuses a database
 * that a newer program has migrated, and changes nothing in it.
 */
export async function migrate(db: Db): Promise<string[]> {
  return db.transaction(async (lock) => {
    await lock.raw("set local lock_timeout = 0");
    await lock.raw("set local statement_timeout = 0");
    await lock.raw("set local idle_in_transaction_session_timeout = 0");
    await lock.raw("select pg_advisory_xact_lock(?)", [ADVISORY_LOCK]);
    const source = new SqlFolder();
    const before = await listApplied(lock);
    if (before !== undefined) {
      refuseUnknown(before, source.names);
      await recordRenamed(db, before);
    }
    const [, applied]: [number, string[]] = await db.migrate.latest({
      migrationSource: source,
      tableName: "migrations",
    });
    return applied;
  });
}

function refuseUnknown(applied: readonly string[], known: readonly string[]): void {
  const unknown = applied.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  if (applied.includes("0001_accounts_and_ledger"))
    throw new Error(
      `The database was written by a Treadle from before 0.1.0, up to ${applied.at(-1)}. Start the last program before 0.1.0 on it once, then this one. Nothing was changed.`,
    );
  const missing = known.filter((name) => !applied.includes(name));
  const lacks = missing.length === 0 ? "" : ` It lacks ${missing.join(", ")}, which this program has.`;
  throw new Error(
    `The database has migrations that this program does not know: ${unknown.join(", ")}.${lacks} A newer or another Treadle wrote it. Start that program. To go back to this one, restore the backup that was made before the upgrade (docs/upgrades.md). Nothing was changed.`,
  );
}

/** Records migrations under today's names where they have others. Outside the lock's transaction, because knex must see it. */
async function recordRenamed(db: Db, names: readonly string[]): Promise<void> {
  await queryRows(
    db,
    `with renamed as (delete from migrations where name <> all (cast(:names as text[])) returning 1)
     insert into migrations (name, batch, migration_time)
     select n.name, 1, now() from unnest(cast(:names as text[])) as n (name) where exists (select from renamed)
      order by n.name`,
    { names },
  );
}

/** Applies exactly these migrations to an empty database, in a transaction. A backup of an older version was made of those. */
export async function migrateTo(tx: Db, names: readonly string[]): Promise<void> {
  await tx.migrate.latest({ migrationSource: new SqlFolder(names), tableName: "migrations" });
}
