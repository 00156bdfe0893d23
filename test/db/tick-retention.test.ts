import { expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { insertTicks, listTicks } from "../../db/schedules/ticks.ts";
import { NOTHING_REMOVED, removeOld } from "../../src/housekeeping/retention.ts";
import { aFileDatabase } from "../support/file-database.ts";
import { aScheduledWorkflow, commitSchedule } from "../support/schedules.ts";

const HOUR_MS = 3_600_000;
const LAST_HOUR = Math.floor(Date.now() / HOUR_MS);

const { db } = await aFileDatabase();

function daysAgo(days: number): Date {
  return new Date((LAST_HOUR - days * 24) * HOUR_MS);
}

function remove({ executionDays }: { executionDays: number }) {
  const storage = { delete: async () => undefined, list: async function* () {} };
  return removeOld({ db, storage, retention: { keyDays: null, fileDays: null, logDays: null, executionDays } });
}

test("retention, of ticks, removes those that are as old as executions may be, and ended schedules with nothing left to account for", async () => {
  const workflow = await aScheduledWorkflow(db, { since: daysAgo(50) });
  const { workflowId } = workflow;
  const recorded = [40, 31, 29].map((days) => ({
    workflowId,
    outcome: "missed" as const,
    reason: "",
    source: "clock" as const,
    executionId: null,
    nominalAt: daysAgo(days),
    decidedAt: daysAgo(days),
  }));
  await insertTicks(db, recorded);
  const left = async () => {
    const ticks = await listTicks(db, { workflowId, before: null, limit: 10 });
    const days = ticks.map(({ nominalAt }) => (daysAgo(0).getTime() - nominalAt.getTime()) / 86_400_000);
    const rows = await queryRows<{ open: boolean }>(
      db,
      `select until is null as open from schedules where workflow_id = :workflowId order by id`,
      { workflowId },
    );
    return { days, open: rows.map(({ open }) => open) };
  };
  const account = (at: Date) =>
    queryRows(db, `update schedules set accounted_until = :at where workflow_id = :workflowId`, { workflowId, at });

  // Whoever accounts for the ticks after this would find none, and begin them again.
  await account(daysAgo(35));
  expect(await remove({ executionDays: 30 })).toEqual({ ...NOTHING_REMOVED, ticks: 1 });
  expect(await left()).toEqual({ days: [29, 31], open: [true] });
  await account(daysAgo(29));
  expect(await remove({ executionDays: 30 })).toEqual({ ...NOTHING_REMOVED, ticks: 1 });

  // Two that have ended: of the first not all is accounted for.
  const changed = await commitSchedule(db, workflow, { schedule: { cron: "30 * * * *" }, at: daysAgo(45) });
  const ended = await commitSchedule(db, changed, { schedule: null, at: daysAgo(44) });
  expect(await remove({ executionDays: 30 })).toEqual(NOTHING_REMOVED);
  await queryRows(db, `update schedules set look_at = null where workflow_id = :workflowId`, { workflowId });
  expect(await remove({ executionDays: 60 })).toEqual(NOTHING_REMOVED);
  expect(await remove({ executionDays: 30 })).toEqual({ ...NOTHING_REMOVED, schedules: 2 });
  expect(await left()).toEqual({ days: [29], open: [] });
  await commitSchedule(db, ended, { schedule: {}, at: daysAgo(40) });
  await queryRows(db, `update schedules set look_at = null where workflow_id = :workflowId`, { workflowId });
  expect(await remove({ executionDays: 30 })).toEqual(NOTHING_REMOVED);
  expect(await left()).toEqual({ days: [29], open: [true] });
});
