import { setTimeout as sleep } from "node:timers/promises";
import { type Db, queryRows } from "../../db/connect.ts";

const PATIENCE_MS = 60_000;

/** Resolves once a statement of this database waits for a lock that another holds. */
export async function waitForLockWait(db: Db): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(20)) {
    const waiting = await queryRows(
      db,
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    if (waiting.length > 0) return;
  }
  throw new Error("Nothing waits for a lock.");
}
