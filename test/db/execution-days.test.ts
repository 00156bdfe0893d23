import { expect, test } from "@jest/globals";
import { listForPeople } from "../../db/commits/workflow-list.ts";
import { queryRows } from "../../db/connect.ts";
import { countExecutionDays } from "../../db/executions/days.ts";
import { removeExecutions } from "../../db/executions/retention.ts";
import { findMoneyFaults } from "../../db/ledger/audit.ts";
import { reserve, settle } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import { anExecution, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const database = await aFileDatabase();
/** Executions that ended so long ago, each of 1,000 micro-credits. */
async function end(workflow: TestWorkflow, ...hoursAgo: readonly number[]): Promise<void> {
  for (const hours of hoursAgo) {
    const id = await anExecution(database.db, { workflow });
    await queryRows(
      database.db,
      `update executions set state = 'success', charge_total = 1000, finished_at = now() - make_interval(secs => :seconds)
        where id = :id`,
      { id, seconds: hours * 3_600 },
    );
  }
}

async function countAll(): Promise<void> {
  while (await countExecutionDays(database.db));
}

test("executions, counted or not yet, by one or by many, are in the figures of a workflow exactly once", async () => {
  const { db } = database;
  const [workflow, other] = [await aWorkflow(db), await aWorkflow(db)];
  await queryRows(db, "update execution_days_counted set until = now() - interval '20 days'");
  await end(workflow, 0, 0.05, 1, 2, 30, 100, 400);
  await end(other, 1);
  await anExecution(db, { workflow });
  const since = new Date(Math.floor(Date.now() / 86_400_000 - 10) * 86_400_000);
  const figures = async () => {
    const [listed] = await listForPeople(db, { accountId: workflow.accountId, workflowId: workflow.workflowId, since });
    return [listed?.executions, listed?.spent];
  };
  expect(await figures()).toEqual([6, 6_000n]);
  expect(await countExecutionDays(db)).toBe(true);
  expect(await figures()).toEqual([6, 6_000n]);
  await Promise.all([countAll(), countAll(), countAll()]);
  expect(await figures()).toEqual([6, 6_000n]);
  await countAll();
  expect(await figures()).toEqual([6, 6_000n]);
  // Those of the last minutes may not all be visible yet: they are counted by whoever asks.
  const [row] = await queryRows<{ executions: number; spent: bigint }>(
    db,
    `select sum(executions)::int as executions, sum(spent)::bigint as spent from execution_days where workflow_id = :workflowId`,
    { workflowId: workflow.workflowId },
  );
  expect(row).toEqual({ executions: 5, spent: 5_000n });
});

test("executions of one day, counted in two goes, are added up, and those of midnight are of the day that begins", async () => {
  const { db } = database;
  const workflow = await aWorkflow(db);
  const day = Math.floor(Date.now() / 86_400_000 - 4) * 86_400_000;
  const at = (hours: number): Date => new Date(day + hours * 3_600_000);
  const ends = [at(6), at(18), at(0), at(24), new Date(day - 1)];
  for (const finishedAt of ends) {
    const id = await anExecution(db, { workflow });
    await queryRows(
      db,
      "update executions set state = 'success', charge_total = 1000, finished_at = :finishedAt where id = :id",
      { id, finishedAt },
    );
  }
  // One statement counts a day: until noon of that day, and from then on.
  await queryRows(db, "update execution_days_counted set until = :until", { until: at(-12) });
  await countAll();
  const days = await queryRows<{ day: string; executions: number; spent: bigint }>(
    db,
    `select to_char(day, 'YYYY-MM-DD') as day, executions, spent from execution_days where workflow_id = :workflowId order by day`,
    { workflowId: workflow.workflowId },
  );
  const dayOf = (hours: number): string => at(hours).toISOString().slice(0, 10);
  expect(days).toEqual([
    { day: dayOf(-1), executions: 1, spent: 1_000n },
    { day: dayOf(0), executions: 3, spent: 3_000n },
    { day: dayOf(24), executions: 1, spent: 1_000n },
  ]);
  const listed = await listForPeople(db, { accountId: workflow.accountId, since: at(0) });
  expect(listed.map(({ executions, spent }) => [executions, spent])).toEqual([[4, 4_000n]]);
});

test("figures, of executions that are not kept any more, stay", async () => {
  const { db } = database;
  const workflow = await aWorkflow(db);
  await end(workflow, 1);
  await queryRows(db, "update execution_days_counted set until = now() - interval '2 hours'");
  await queryRows(db, "delete from execution_days");
  await countAll();
  await queryRows(db, "delete from executions where workflow_id = :workflowId", { workflowId: workflow.workflowId });
  const [listed] = await listForPeople(db, {
    accountId: workflow.accountId,
    since: new Date(Date.now() - 2 * 86_400_000),
  });
  expect([listed?.executions, listed?.spent]).toEqual([1, 1_000n]);
});

test("days, beside the ledger, agree before executions are counted, after that, and after they are removed", async () => {
  const { db } = database;
  const workflow = await aWorkflow(db);
  await queryRows(db, "update execution_days_counted set until = now() - interval '20 days'");
  for (const days of [0, 2, 12]) {
    const executionId = await anExecution(db, { workflow });
    await reserve(db, executionId);
    const amounts = { compute: microCredits(10_000n), total: microCredits(11_000n) };
    await settle(db, { executionId, status: "success", secondsUsed: 1, ...amounts });
    await queryRows(
      db,
      "update executions set finished_at = now() - make_interval(days => :days) where id = :executionId",
      {
        days,
        executionId,
      },
    );
  }
  const findFaults = async () =>
    (await findMoneyFaults(db)).filter(({ accountId }) => accountId === workflow.accountId);
  const remove = () => removeExecutions(db, { days: 10, limit: 100 });
  expect(await findFaults()).toEqual([]);
  // Removed before it is counted, it would be in no figure.
  await remove();
  const left = () => queryRows(db, "select id from executions where workflow_id = :workflowId", { ...workflow });
  expect(await left()).toHaveLength(3);
  await countAll();
  expect(await findFaults()).toEqual([]);
  await remove();
  expect(await left()).toHaveLength(2);
  expect(await findFaults()).toEqual([]);
  await queryRows(db, "update execution_days set spent = spent - 1 where workflow_id = :workflowId", { ...workflow });
  expect(await findFaults()).toEqual([{ accountId: workflow.accountId, what: "days", due: 22_000n, actual: 21_998n }]);
});
