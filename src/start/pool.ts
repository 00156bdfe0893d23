import { connect, type DatabaseAddress, type Db, requireSessionLimits } from "../../db/connect.ts";
import { migrate } from "../../db/migrate.ts";
import type { Settings } from "../config.ts";
import { checkExternalDatabase } from "../setup/servers/external-database.ts";
import { POOL_MAX } from "./descriptors.ts";

/** One holds the lock of migrations, and one applies what is missing. */
const MIGRATION_POOL_MAX = 2;

/**
 * Opens the pool of a process on a database that is up to date then. It goes through the pooler of `DATABASE_POOLER_URL`
 * where there is one; migrations go past it. Rejects when the pooler cannot be used. The caller destroys the pool.
 */
export async function openPool({ DATABASE_POOLER_URL: pooler }: Settings, address: DatabaseAddress): Promise<Db> {
  const direct = connect(address, {
    poolMax: pooler === undefined ? POOL_MAX : MIGRATION_POOL_MAX,
    applicationName: "treadle",
  });
  try {
    await migrate(direct);
    if (pooler === undefined) return direct;
  } catch (error) {
    await direct.destroy();
    throw error;
  }
  await direct.destroy();
  await checkExternalDatabase(pooler, "DATABASE_POOLER_URL");
  const pooled = connect(
    { connectionString: pooler },
    { poolMax: POOL_MAX, applicationName: "treadle", isPooled: true },
  );
  await requireSessionLimits(pooled).catch(async (error: unknown) => {
    await pooled.destroy();
    throw error;
  });
  return pooled;
}
