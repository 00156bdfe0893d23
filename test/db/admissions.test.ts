import { expect, test } from "@jest/globals";
import { acceptExecution, UNCONDITIONAL } from "../../db/executions/acceptance.ts";
import { admitExecutions, listWaitingWorkflows } from "../../db/executions/admissions.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { createExecutionId } from "../../src/ids.ts";
import { aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const { db } = await aFileDatabase();

/** An execution that waits: as if none might be under way when it was accepted. */
async function aWaiting(workflow: TestWorkflow): Promise<ExecutionId> {
  const id = createExecutionId();
  const execution = {
    id,
    accountId: workflow.accountId,
    workflowId: workflow.workflowId,
    commitId: workflow.commitId,
    trigger: "api" as const,
    inputs: {},
    secretInputs: null,
    files: [],
    acceptedBy: "proc_test",
    timeoutSeconds: 1,
    cpu: 1,
    attemptsMax: 1,
    chargeMax: microCredits(1n),
  };
  await acceptExecution(db, execution, { ...UNCONDITIONAL, concurrency: { executionsMax: 0, waitingMax: 100 } });
  return id;
}

test("admitExecutions, by two at once, lets in and answers each execution once", async () => {
  const workflow = await aWorkflow(db, { manifest: { concurrency: { executionsMax: 2, whenFull: "queue" } } });
  const ids = [await aWaiting(workflow), await aWaiting(workflow), await aWaiting(workflow)];
  let second: Promise<ExecutionId[]> | undefined;
  const first = await db.transaction(async (tx) => {
    const admitted = await admitExecutions(tx, workflow.workflowId);
    second = admitExecutions(db, workflow.workflowId);
    // Long enough for the second to get as far as it can.
    await db.raw("select pg_sleep(0.3)");
    return admitted;
  });
  expect([first, await second]).toEqual([ids.slice(0, 2), []]);
});

test("listWaitingWorkflows, names those of which executions wait, once, and no other", async () => {
  const [waiting, other] = [await aWorkflow(db), await aWorkflow(db)];
  await aWaiting(waiting);
  await aWaiting(waiting);
  const listed = await listWaitingWorkflows(db);
  expect(listed.filter((id) => id === waiting.workflowId)).toHaveLength(1);
  expect(listed).not.toContain(other.workflowId);
  await admitExecutions(db, waiting.workflowId);
  expect(await listWaitingWorkflows(db)).not.toContain(waiting.workflowId);
});
