import { connect } from "../../db/connect.ts";
import { migrate } from "../../db/migrate.ts";
import type { Settings } from "../config.ts";
import { checkExternalDatabase } from "../setup/servers/external-database.ts";

/** One holds the lock, and one applies what is missing. */
const POOL_MAX = 2;

/**
 * Brings the database of `DATABASE_URL` up to date, and returns the names of the migrations that it lacked. Undefined
 * without that setting. Waits a quarter of a minute for a server that is away, and rejects as a start does.
 */
export async function migrateExternal({ DATABASE_URL: url }: Settings): Promise<string[] | undefined> {
  if (url === undefined) return undefined;
  await checkExternalDatabase(url);
  const db = connect({ connectionString: url }, { poolMax: POOL_MAX, applicationName: "treadle migrate" });
  try {
    return await migrate(db);
  } finally {
    await db.destroy();
  }
}
