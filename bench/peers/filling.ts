import { join } from "node:path";
import { connect } from "../../db/connect.ts";
import { POSTGRES_USER } from "../../src/setup/servers/postgres-data.ts";

/** Rows a statement writes. */
const BATCH = 25_000;

/**
 * Writes finished executions of the workflows there are into a running service's own database: numbers `from` to `to`,
 * over the last 200 days.
 */
export async function addFinishedExecutions(
  dataDir: string,
  { from, to }: { from: number; to: number },
): Promise<void> {
  const host = join(dataDir, "postgres/socket");
  const db = connect({ host, user: POSTGRES_USER, database: "treadle" }, { poolMax: 1, applicationName: "bench" });
  try {
    for (let last = from; last < to; last += BATCH) {
      await db.raw(
        `insert into executions (id, account_id, workflow_id, commit_id, trigger, state, inputs, timeout_seconds, cpu,
                                 charge_max, charge_total, seconds_used, accepted_by, created_at, started_at, finished_at)
         select 'ex_' || lpad(cast(n as text), 26, '0'), one.account_id, one.workflow_id, one.commit_id, 'api', 'success',
                jsonb_build_object('value', 'number ' || n), 300, 1, 1000000, 1000, 1.5, 'bench', at, at, at + interval '1 second'
           from (select n, now() - interval '200 days' * random() as at from generate_series(cast(:first as int), cast(:last as int)) as n) made
           cross join (select w.account_id, c.workflow_id, c.id as commit_id
                         from commits c join workflows w on w.id = c.workflow_id limit 1) one`,
        { first: last + 1, last: Math.min(last + BATCH, to) },
      );
    }
  } finally {
    await db.destroy();
  }
}
