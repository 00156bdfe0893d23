import { beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { findFirstSteps, getAccountFigures, listFailingWorkflows } from "../../db/executions/account-overview.ts";
import { findLastFailure, listDayFigures, listRecentExecutions, SAMPLE_OF_DAY } from "../../db/executions/overview.ts";
import { aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const NOW = new Date("2026-05-10T12:00:00Z");
/** Runs of a minute each other, from the beginning of the first day on. */
const COUNT = 3 * 1_440;

const { db } = await aFileDatabase();
let workflow: TestWorkflow;

/** Three whole days up to the end of yesterday: the first of each hundred failed, and each took as long as its number says. */
beforeAll(async () => {
  workflow = await aWorkflow(db);
  const { accountId, workflowId, commitId } = workflow;
  await queryRows(
    db,
    `insert into executions (id, account_id, workflow_id, commit_id, trigger, state, failure, message, timeout_seconds, cpu,
                             charge_max, accepted_by, seconds_used, created_at, finished_at)
     select 'ex_' || lpad(cast(n as text), 26, '0'), :accountId, :workflowId, :commitId, 'api',
            case when n % 100 in (0, 50) then 'failed' else 'success' end,
            case when n % 100 = 50 then 'insufficient_credits' end,
            case when n % 100 = 0 then 'Failure ' || n else '' end, 300, 1, 0, 'test', n % 1440 / 1000.0,
            timestamptz '2026-05-07 00:00:00Z' + n * interval '1 minute', now()
       from generate_series(0, cast(:last as int)) as n`,
    { accountId, workflowId, commitId, last: COUNT - 1 },
  );
  await db.raw("analyze executions");
});

test("figures by day, of the newest of each day, have what succeeded, what failed and how long it took, and empty days", async () => {
  const days = await listDayFigures(db, { workflowId: workflow.workflowId, days: 5, now: NOW });
  expect(days.map(({ day }) => day)).toEqual(["2026-05-06", "2026-05-07", "2026-05-08", "2026-05-09", "2026-05-10"]);
  const none = { succeeded: 0, failed: 0, median: null, p95: null };
  expect(days[0]).toEqual({ day: "2026-05-06", ...none });
  expect(days[4]).toEqual({ day: "2026-05-10", ...none });
  // The last hundred minutes of a day; one of them failed, one was refused.
  for (const day of days.slice(1, 4)) {
    expect([day.succeeded, day.failed]).toEqual([SAMPLE_OF_DAY - 2, 1]);
    expect(day.median).toBeCloseTo(1.389, 2);
    expect(day.p95).toBeCloseTo(1.434, 2);
  }
});

test("the last executions and the last failure, of a workflow, are its newest, and of one without any there are none", async () => {
  const empty = await aWorkflow(db);
  const ids = [workflow.workflowId, empty.workflowId];
  const recent = await listRecentExecutions(db, { workflowIds: ids, most: 3 });
  expect(recent.get(workflow.workflowId)?.map(({ id }) => Number(id.slice(3)))).toEqual([4319, 4318, 4317]);
  expect(recent.get(empty.workflowId)).toBeUndefined();
  // The one after it was refused: no program failed.
  expect(await findLastFailure(db, workflow.workflowId)).toMatchObject({ state: "failed", message: "Failure 4300" });
  expect(await findLastFailure(db, empty.workflowId)).toBeUndefined();
});

test("the figures of an account, however many executions there are, are looked up in its indexes", async () => {
  const { accountId } = workflow;
  const statements: { sql: string; bindings: readonly unknown[] }[] = [];
  const note = (query: { sql: string; bindings: readonly unknown[] }): void => void statements.push(query);
  db.on("query", note);
  await getAccountFigures(db, { accountId, now: new Date() });
  await listFailingWorkflows(db, accountId);
  await findFirstSteps(db, accountId);
  db.removeListener("query", note);
  const indexes = ["executions_unsuccessful", "executions_workflow", "executions_account"];
  expect(statements).toHaveLength(indexes.length);
  for (const [at, { sql, bindings }] of statements.entries())
    expect(await explain(sql, bindings)).toContain(indexes[at]);
});

/** The plan of a statement that is carried out. */
async function explain(sql: string, bindings: readonly unknown[]): Promise<string> {
  const plan: { rows: { "QUERY PLAN": string }[] } = await db.raw(
    `explain (analyze, timing off) ${sql.replaceAll(/\$\d+/g, "?")}`,
    bindings as string[],
  );
  return plan.rows.map((row) => row["QUERY PLAN"]).join("\n");
}

test("the statements, however many executions there are, read the workflow's index and never the whole table", async () => {
  const { workflowId } = workflow;
  const statements: { sql: string; bindings: readonly unknown[] }[] = [];
  const note = (query: { sql: string; bindings: readonly unknown[] }): void => void statements.push(query);
  db.on("query", note);
  await listRecentExecutions(db, { workflowIds: [workflowId], most: 30 });
  await listDayFigures(db, { workflowId, days: 14, now: NOW });
  await findLastFailure(db, workflowId);
  db.removeListener("query", note);
  expect(statements).toHaveLength(3);
  for (const { sql, bindings } of statements) {
    const text = await explain(sql, bindings);
    expect(text).toContain("executions_workflow");
    expect(text).not.toContain("Seq Scan on executions");
    // What is read follows from the statement alone: so many rows of each day, and no more.
    const read = [...text.matchAll(/executions_workflow.*actual rows=([\d.]+) loops=(\d+)/g)];
    for (const [, rows, loops] of read) expect(Number(rows) * Number(loops)).toBeLessThanOrEqual(14 * SAMPLE_OF_DAY);
  }
});
