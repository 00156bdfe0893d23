import { beforeAll, expect, test } from "@jest/globals";
import { putAccountRates } from "../../db/accounts/rates.ts";
import { queryRows } from "../../db/connect.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { recordRefusedExecution } from "../../db/executions/refused.ts";
import { findMoneyFaults } from "../../db/ledger/audit.ts";
import { findBalance } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { createExecutionId, createWorkflowId } from "../../src/ids.ts";
import { anAccount, aSession, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import type { Answer } from "../support/https.ts";
import { aFileService, execute } from "./service.ts";

const NEEDED = 3.001;
const AVAILABLE = 0.5;
const MESSAGE = `This execution needs ${NEEDED} credits to begin, and the account had ${AVAILABLE} available.`;

let poor: { accountId: AccountId; workflow: TestWorkflow; cookie: string };

const service = await aFileService({ rateLimits: { perMinute: 60, burst: 5, accountPerMinute: 0 } });

beforeAll(async () => {
  poor = await aPerson(String(AVAILABLE));
});

/** Somebody signed in, with a workflow that only a form may start, in an account with so many credits. */
async function aPerson(credits: string) {
  const accountId = await anAccount(service.db, { credits });
  const triggers = { api: null, schedule: null };
  const workflow = await aWorkflow(service.db, { accountId, manifest: { triggers } });
  return { accountId, workflow, cookie: await aSession(service.db, accountId) };
}

function submit(workflow: TestWorkflow, headers: Record<string, string>): Promise<Answer> {
  return service.call(`/api/workflows/${workflow.workflowId}/execute`, {
    method: "POST",
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin", ...headers },
    body: "{}",
  });
}

const countExecutions = async (accountId: AccountId): Promise<number> =>
  (await queryRows(service.db, "select from executions where account_id = :accountId", { accountId })).length;

test("a form, of an account with too few credits, is refused before anything runs and leaves a record with both amounts", async () => {
  const { accountId, workflow, cookie } = poor;
  const answer = await submit(workflow, { cookie });
  expect(answer.status).toBe(402);
  const { executionId, ...body } = answer.json() as { executionId: ExecutionId };
  expect(body).toEqual({
    error: "Insufficient credits",
    message: expect.stringContaining("Top up the account"),
    needed: NEEDED,
    available: AVAILABLE,
  });
  expect(await findExecution(service.db, executionId)).toMatchObject({
    trigger: "form",
    state: "failed",
    failure: "insufficient_credits",
    message: MESSAGE,
    chargeTotal: 0n,
    startedAt: null,
    finishedAt: expect.any(Date),
    creditsNeeded: 3_001_000n,
    creditsAvailable: 500_000n,
  });
  const record = await service.call(`/api/run-logs/${executionId}`, { headers: { cookie } });
  expect([record.status, record.json()]).toEqual([
    200,
    {
      error: "Insufficient credits",
      message: MESSAGE,
      needed: NEEDED,
      available: AVAILABLE,
      status: "failed",
      executionId,
      duration: 0,
      outputs: {},
      cost: { compute: 0, total: 0 },
    },
  ]);
  expect(service.started).toEqual([]);
  expect(await findBalance(service.db, accountId)).toMatchObject({ balance: 500_000n, reserved: 0n });
  expect(await findMoneyFaults(service.db)).toEqual([]);
});

test("a call with the key, of the same account, is refused without a record", async () => {
  const workflow = await aWorkflow(service.db, { accountId: poor.accountId });
  const before = await countExecutions(poor.accountId);
  const answer = await execute(service, workflow);
  expect([answer.status, answer.json()]).toEqual([
    402,
    expect.not.objectContaining({ executionId: expect.anything() }),
  ]);
  expect(await countExecutions(poor.accountId)).toBe(before);
});

test("a form, of an account that can pay, is executed as a form's, whether the API trigger is enabled or not", async () => {
  const { workflow, cookie } = await aPerson("10");
  const answer = await submit(workflow, { cookie });
  expect(answer.status).toBe(200);
  const { executionId } = answer.json() as { executionId: ExecutionId };
  expect(await findExecution(service.db, executionId)).toMatchObject({ trigger: "form", state: "success" });
  expect(service.started.at(-1)).toMatchObject({ executionId, trigger: "form" });
});

test.each([
  ["somebody of another account", 404, async () => ({ cookie: (await aPerson("10")).cookie })],
  ["nobody who is signed in", 401, async () => ({ cookie: `__Host-session=${"x".repeat(43)}` })],
  [
    "another website, in the browser of its owner",
    403,
    async () => ({ cookie: poor.cookie, "sec-fetch-site": "cross-site" }),
  ],
])("a form, sent by %s, is answered %i and leaves nothing", async (_who, status, headers) => {
  const before = await countExecutions(poor.accountId);
  const answer = await submit(poor.workflow, await headers());
  expect(answer.status).toBe(status);
  expect(await countExecutions(poor.accountId)).toBe(before);
});

test("forms that are refused, more than the rate allows, leave no more records than it allows", async () => {
  const { accountId, workflow, cookie } = await aPerson("0");
  // A third of it at once, as by a key.
  await putAccountRates(service.db, accountId, { perMinute: null, burst: null, accountPerMinute: 15 });
  const statuses = await Promise.all(
    Array.from({ length: 12 }, async () => (await submit(workflow, { cookie })).status),
  );
  expect(new Set(statuses)).toEqual(new Set([402, 429]));
  const records = await countExecutions(accountId);
  expect(records).toBe(statuses.filter((status) => status === 402).length);
  expect(records).toBeLessThanOrEqual(6);
});

test("recordRefusedExecution, of a scheduled one, keeps its inputs, holds nothing, and lets nobody begin it", async () => {
  const { accountId, workflow } = poor;
  const id = createExecutionId();
  const recorded = await recordRefusedExecution(
    service.db,
    {
      id,
      accountId,
      workflowId: workflow.workflowId,
      commitId: workflow.commitId,
      trigger: "schedule",
      inputs: { region: "US" },
      secretInputs: null,
      files: [],
      acceptedBy: "proc_test",
      timeoutSeconds: 300,
      cpu: 1,
      attemptsMax: 1,
      chargeMax: microCredits(3_001_000),
    },
    { available: microCredits(500_000) },
  );
  expect(recorded.kind).toBe("accepted");
  const [row] = await queryRows(
    service.db,
    `select e.trigger, e.inputs, e.state, r.state as reservation, r.amount from executions e
       join reservations r on r.execution_id = e.id where e.id = :id`,
    { id },
  );
  expect(row).toEqual({
    trigger: "schedule",
    inputs: { region: "US" },
    state: "failed",
    reservation: "released",
    amount: 0n,
  });
});

interface Listed {
  readonly calls: readonly { readonly status: number; readonly message: string; readonly keyEnd: string }[];
}

async function listRefused({ workflowId }: TestWorkflow, cookie: string): Promise<Listed["calls"]> {
  await service.refusedCalls.store();
  const answer = await service.call(`/api/workflows/${workflowId}/refused-calls`, { headers: { cookie } });
  expect(answer.status).toBe(200);
  return (answer.json() as unknown as Listed).calls;
}

test("calls that are refused, more of them than are kept, leave the newest, and a flood of wrong keys pushes out no others", async () => {
  const accountId = await anAccount(service.db, { credits: "0" });
  const cookie = await aSession(service.db, accountId);
  const workflow = await aWorkflow(service.db, { accountId });
  const other = await aWorkflow(service.db, { accountId });
  await execute(service, workflow);
  await execute(service, { ...workflow, apiKey: "short" });
  await submit(workflow, { cookie });
  expect((await listRefused(workflow, cookie)).map(({ status, keyEnd }) => [status, keyEnd])).toEqual([
    [401, ""],
    [402, workflow.apiKey.slice(-4)],
  ]);
  for (let round = 0; round < 3; round += 1) {
    const wrong = Array.from(
      { length: 30 },
      (_, at) => `${workflow.apiKey}${String(round * 30 + at).padStart(4, "0")}`,
    );
    for (const apiKey of wrong) await execute(service, { ...workflow, apiKey });
    await service.refusedCalls.store();
  }
  const kept = await queryRows<{ status: number; keyEnd: string }>(
    service.db,
    `select status, key_end as "keyEnd" from refused_calls where workflow_id = :id order by id desc`,
    { id: workflow.workflowId },
  );
  expect(kept.filter(({ status }) => status === 401)).toHaveLength(50);
  expect(kept[0]).toEqual({ status: 401, keyEnd: "0089" });
  expect(kept.filter(({ status }) => status === 402)).toHaveLength(1);
  expect(await listRefused(other, cookie)).toEqual([]);

  // Week-old ones are listed no more, and unknown workflows get no row.
  await queryRows(service.db, "update refused_calls set refused_at = now() - interval '8 days'");
  await execute(service, { ...workflow, workflowId: createWorkflowId() });
  expect(await listRefused(workflow, cookie)).toEqual([]);
});
