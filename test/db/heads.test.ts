import { expect, test } from "@jest/globals";
import { listRecentlyRun } from "../../db/commits/heads.ts";
import { queryRows } from "../../db/connect.ts";
import type { WorkflowId } from "../../domain/ids.ts";
import { anExecution, aWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const { db } = await aFileDatabase();

/** A workflow that last ran so many minutes ago. */
async function ranAgo(...minutes: readonly number[]): Promise<WorkflowId> {
  const workflow = await aWorkflow(db);
  for (const each of minutes) {
    const id = await anExecution(db, { workflow });
    await queryRows(db, "update executions set created_at = now() - make_interval(mins => :each) where id = :id", {
      each,
      id,
    });
  }
  return workflow.workflowId;
}

test("workflows to be warmed at a start, are those that ran in the last hour, the latest first, without those that are deleted", async () => {
  const [older, latest, deleted] = [await ranAgo(200, 59), await ranAgo(1), await ranAgo(2)];
  await ranAgo(61);
  await ranAgo();
  await queryRows(db, "update workflows set deleted_at = now() where id = :deleted", { deleted });
  expect(await listRecentlyRun(db, 10)).toEqual([latest, older]);
  expect(await listRecentlyRun(db, 1)).toEqual([latest]);
});
