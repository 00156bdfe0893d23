import { join } from "node:path";
import type { Knex } from "knex";
import { connect } from "../../db/connect.ts";
import { POSTGRES_USER } from "../../src/setup/servers/postgres-data.ts";
import type { Filling } from "./peer.ts";

/** Rows a statement writes. */
const BATCH = 25_000;

/** Returns what fills a running service's own database: each writes numbers `from` to `to`. */
export function fillDatabase(dataDir: string): Filling {
  const inBatches =
    (add: (db: Knex, first: number, last: number) => Promise<void>) => async (from: number, to: number) => {
      const host = join(dataDir, "postgres/socket");
      const db = connect({ host, user: POSTGRES_USER, database: "treadle" }, { poolMax: 1, applicationName: "bench" });
      try {
        for (let last = from; last < to; last += BATCH) await add(db, last + 1, Math.min(last + BATCH, to));
      } finally {
        await db.destroy();
      }
    };
  return { executions: inBatches(addFinishedExecutions), workflows: inBatches(addWorkflows) };
}

/** Of a workflow there is, over the last 200 days. */
async function addFinishedExecutions(db: Knex, first: number, last: number): Promise<void> {
  await db.raw(
    `insert into executions (id, account_id, workflow_id, commit_id, trigger, state, inputs, timeout_seconds, cpu,
                             charge_max, charge_total, seconds_used, accepted_by, created_at, started_at, finished_at)
     select 'ex_' || lpad(cast(n as text), 26, '0'), one.account_id, one.workflow_id, one.commit_id, 'api', 'success',
            jsonb_build_object('value', 'number ' || n), 300, 1, 1000000, 1000, 1.5, 'bench', at, at, at + interval '1 second'
       from (select n, now() - interval '200 days' * random() as at from generate_series(cast(:first as int), cast(:last as int)) as n) made
       cross join (select w.account_id, c.workflow_id, c.id as commit_id
                     from commits c join workflows w on w.id = c.workflow_id limit 1) one`,
    { first, last },
  );
}

/**
 * Each is what the first one is: its account, its commit with the files of it, and a key. Nothing is announced, as if they had been
 * there for long: a published commit gets a lane.
 */
async function addWorkflows(db: Knex, first: number, last: number): Promise<void> {
  const numbers = `select 'wf_' || lpad(cast(n as text), 26, '0') as id, n
                     from generate_series(cast(:first as int), cast(:last as int)) as n`;
  const one = `select w.* from workflows w where w.head is not null order by w.created_at limit 1`;
  await db.transaction(async (trx) => {
    await trx.raw("set local session_replication_role = replica");
    for (const statement of [
      `with made as (${numbers}), one as (${one})
       insert into workflows (id, account_id, name)
       select made.id, one.account_id, 'workflow ' || made.n from made cross join one`,
      `with made as (${numbers}), one as (${one})
       insert into git_objects (workflow_id, id, kind, content)
       select made.id, g.id, g.kind, g.content from made cross join one join git_objects g on g.workflow_id = one.id`,
      `with made as (${numbers}), one as (${one})
       insert into commits (workflow_id, id, tree_id, message, manifest, environment_key, python)
       select made.id, c.id, c.tree_id, c.message, c.manifest, c.environment_key, c.python
         from made cross join one join commits c on c.workflow_id = one.id and c.id = one.head`,
      `with made as (${numbers}), one as (${one})
       update workflows w set head = one.head from made, one where w.id = made.id`,
      `with made as (${numbers})
       insert into api_keys (hash, workflow_id, encrypted)
       select sha256(cast(made.id as bytea)), made.id, '' from made`,
    ])
      await trx.raw(statement, { first, last });
  });
}
