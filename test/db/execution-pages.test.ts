import { beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { type ExecutionFilter, listExecutionPage, type Place } from "../../db/executions/pages.ts";
import { aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const COUNT = 3_000;

const { db } = await aFileDatabase();
let workflow: TestWorkflow;
let filter: ExecutionFilter;

/** Two in a thousand have failed: the first and the last of them. */
beforeAll(async () => {
  workflow = await aWorkflow(db);
  const { accountId, workflowId, commitId } = workflow;
  filter = { accountId };
  await queryRows(
    db,
    `insert into executions (id, account_id, workflow_id, commit_id, trigger, state, message, timeout_seconds, cpu, charge_max,
                             accepted_by, created_at, finished_at)
     select 'ex_' || lpad(cast(n as text), 26, '0'), :accountId, :workflowId, :commitId, 'api',
            case when n % 1000 in (0, 999) then 'failed' else 'success' end,
            case when n % 1000 = 7 then 'Needle ' || n else '' end, 300, 1, 0, 'test',
            timestamptz '2026-05-01 00:00:00Z' + n * interval '1 second', now()
       from generate_series(0, cast(:last as int)) as n`,
    { accountId, workflowId, commitId, last: COUNT - 1 },
  );
  await db.raw("analyze executions");
});

const numberOf = ({ id }: { id: string }): number => Number(id.slice(3));

async function readAll(more: Partial<ExecutionFilter>, page: { limit: number; windowMax: number }) {
  const found: number[] = [];
  const sizes: number[] = [];
  let after: Place | null = null;
  do {
    const read: Awaited<ReturnType<typeof listExecutionPage>> = await listExecutionPage(
      db,
      { ...filter, ...more },
      { ...page, after },
    );
    found.push(...read.executions.map(numberOf));
    sizes.push(read.executions.length);
    after = read.next;
  } while (after !== null && sizes.length < 1_000);
  return { found, sizes };
}

test("pages, of something rare, look through a window each and miss nothing", async () => {
  const { found, sizes } = await readAll({ text: "needle" }, { limit: 10, windowMax: 500 });
  expect(found).toEqual([2007, 1007, 7]);
  // Six windows, and one that finds that there is no other.
  expect(sizes).toEqual([0, 1, 0, 1, 0, 1, 0]);
});

test("pages, with matches at both ends of a window, have each once", async () => {
  for (const windowMax of [1_000, 999, 1_001, 7])
    expect((await readAll({ text: "needle" }, { limit: 1, windowMax })).found).toEqual([2007, 1007, 7]);
});

test("pages, through everything, have each once in order", async () => {
  const { found } = await readAll({}, { limit: 100, windowMax: 250 });
  expect(found).toEqual(Array.from({ length: COUNT }, (_, index) => COUNT - 1 - index));
});

test("a page, of a rare state, looks at those alone", async () => {
  const { executions, next } = await listExecutionPage(
    db,
    { ...filter, state: "failed" },
    { limit: 10, after: null, windowMax: 6 },
  );
  expect(executions.map(numberOf)).toEqual([2999, 2000, 1999, 1000, 999, 0]);
  expect(next).toEqual({ createdMicros: 1777593600000000n, id: `ex_${"0".repeat(26)}` });
});

test("a page, whatever is asked for, reads an index and sorts no more than a window", async () => {
  const { workflowId, commitId } = workflow;
  const span = { from: new Date("2026-05-01T00:10:00Z"), to: new Date("2026-05-01T00:20:00Z") };
  const filters: [Partial<ExecutionFilter>, string][] = [
    [{}, "executions_"],
    [{ workflowId }, "executions_"],
    [{ workflowId, commitId }, "executions_"],
    [{ state: "failed" }, "executions_unsuccessful"],
    [{ state: "success" }, "executions_"],
    [{ trigger: "schedule" }, "executions_not_called"],
    [{ workflowId, state: "queued", trigger: "form", text: "x" }, "executions_unsuccessful"],
    [{ text: `ex_${"0".repeat(26)}` }, "executions_pkey"],
    [{ text: "x", ...span }, "executions_"],
  ];
  for (const [one, index] of filters) {
    const statements: { sql: string; bindings: readonly unknown[] }[] = [];
    const note = (query: { sql: string; bindings: readonly unknown[] }): void => void statements.push(query);
    db.on("query", note);
    await listExecutionPage(db, { ...filter, ...one }, { limit: 50, after: null });
    db.removeListener("query", note);
    const [statement] = statements;
    await db.transaction(async (tx) => {
      await tx.raw("set local enable_seqscan = off");
      const plan: { rows: { "QUERY PLAN": string }[] } = await tx.raw(
        `explain ${statement?.sql.replaceAll(/\$\d+/g, "?")}`,
        statement?.bindings as string[],
      );
      const text = plan.rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect([one, text]).toEqual([one, expect.stringContaining(index)]);
      expect([one, text]).toEqual([one, expect.not.stringContaining("Seq Scan on executions")]);
    });
  }
});
