import { expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { reserve, settle } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { anAccount, anExecution, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import type { Answer } from "../support/https.ts";
import { aFileService, execute } from "./service.ts";

const AT_MOST = 3_001_000n;

const service = await aFileService({ run: async (db, { executionId }) => void (await reserve(db, executionId)) });

/** A workflow whose executions have succeeded at these charges, in micro-credits. */
async function aWorkflowThatCost(charges: readonly bigint[], credits = "1000"): Promise<TestWorkflow> {
  const workflow = await aWorkflow(service.db, { accountId: await anAccount(service.db, { credits }) });
  for (const charge of charges) {
    const executionId = await anExecution(service.db, { workflow });
    await reserve(service.db, executionId);
    const amounts = { compute: microCredits(charge), total: microCredits(charge) };
    await settle(service.db, { executionId, status: "success", secondsUsed: 1, ...amounts });
  }
  return workflow;
}

function validate({ workflowId, apiKey }: TestWorkflow): Promise<Answer> {
  return service.call(`/api/workflows/${workflowId}/validate`, {
    method: "POST",
    headers: { "x-api-key": apiKey, "content-type": "application/json" },
    body: "{}",
  });
}

test("validate, of a workflow that has succeeded, tells the median of what it cost, and of how many executions", async () => {
  const answer = await validate(await aWorkflowThatCost([1_000n, 900_000n, 12_340n]));
  expect([answer.status, answer.json()]).toEqual([
    200,
    { valid: true, nextRuns: [], estimate: { credits: 0.01234, basedOn: 3 } },
  ]);
});

test("validate, of a workflow that has never succeeded, tells no estimate", async () => {
  expect((await validate(await aWorkflowThatCost([]))).json()).toEqual({ valid: true, nextRuns: [] });
});

test("validate, of a workflow whose executions were measured, tells the most of them beside the limits", async () => {
  const workflow = await aWorkflowThatCost([1n, 1n]);
  await queryRows(
    service.db,
    `insert into attempts (execution_id, attempt, host_id, process_id, lease_until, ended_at, status, seconds_used,
                           peak_memory_bytes, used_processor_seconds)
     select id, 1, 'h', 'p', now(), now(), 'success', 1.5 * n, 40000000 * n, nullif(0.25 * (n - 1), 0)
       from (select id, row_number() over () as n from executions where workflow_id = :workflowId) as e`,
    { workflowId: workflow.workflowId },
  );
  expect((await validate(workflow)).json()).toMatchObject({
    usage: {
      basedOn: 2,
      seconds: 3,
      memoryBytes: 80_000_000,
      processorSeconds: 0.25,
      limits: { timeoutSeconds: 300, memoryBytes: 512_000_000, cpu: 1 },
    },
  });
});

test("execute, whatever it is estimated to cost, reserves the most that it can cost", async () => {
  for (const workflow of [await aWorkflowThatCost([]), await aWorkflowThatCost([1n, 2n, 3n])]) {
    const answer = await execute(service, workflow, {}, { prefer: "respond-async" });
    expect(answer.status).toBe(202);
    const { executionId } = answer.json() as { executionId: ExecutionId };
    const [row] = await queryRows(
      service.db,
      "select amount, state from reservations where execution_id = :executionId",
      { executionId },
    );
    expect(row).toEqual({ amount: AT_MOST, state: "open" });
  }
});

test("execute, of an account that could pay what is estimated but not the most it can cost, is refused", async () => {
  // Each took 1 micro-credit; 3.000003 were granted, so 3 are left of the 3.001 that are needed.
  const workflow = await aWorkflowThatCost([], "3");
  const rich = await aWorkflowThatCost([1n, 1n, 1n]);
  await queryRows(
    service.db,
    "update executions set workflow_id = :to, commit_id = :commit where workflow_id = :from",
    {
      to: workflow.workflowId,
      commit: workflow.commitId,
      from: rich.workflowId,
    },
  );
  expect((await validate(workflow)).json()).toMatchObject({ estimate: { credits: 0.000001, basedOn: 3 } });
  const answer = await execute(service, workflow);
  expect([answer.status, answer.json()]).toEqual([402, expect.objectContaining({ needed: 3.001, available: 3 })]);
});
