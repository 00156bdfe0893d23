import { afterEach, expect, test } from "@jest/globals";
import { type Db, queryRows } from "../../db/connect.ts";
import { claimAttempt, endAttempt } from "../../db/executions/attempts.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { insertOutputs } from "../../db/executions/outputs.ts";
import { findBalance, release, reserve, settle } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { DEFAULT_BOUNDS } from "../../domain/manifest/bounds.ts";
import { aCommit, aManifest, anAccount, anInput, aWorkflow, TEST_SECRET_BOX } from "../support/builders.ts";
import { someEditorParts } from "./editor/parts.ts";
import {
  aFileService,
  aService,
  execute,
  forgetExecutions,
  type Start,
  SUCCESS_COST,
  succeed,
  type TestServiceOptions,
} from "./service.ts";

let run: NonNullable<TestServiceOptions["run"]> = succeed;

const service = await aFileService({
  run: (db, start) => run(db, start),
});

afterEach(async () => {
  run = succeed;
  await forgetExecutions(service);
});

test("execute, of a workflow that succeeds, answers exactly the five fields", async () => {
  const workflow = await aWorkflow(service.db);
  run = async (db, start) => {
    await insertOutputs(db, {
      executionId: start.executionId,
      files: [
        {
          name: "report",
          fileName: "Q1 50% größe.pdf",
          storageKey: "k",
          bytes: 3,
          sha256: "0".repeat(64),
          contentType: "application/pdf",
        },
        {
          name: "data",
          fileName: "sub/data.csv",
          storageKey: "l",
          bytes: 3,
          sha256: "0".repeat(64),
          contentType: "text/csv",
        },
      ],
      logKey: null,
      logBytes: 0,
    });
    await succeed(db, start);
  };
  const answer = await execute(service, workflow);
  const { executionId } = answer.json() as { executionId: ExecutionId };
  expect(answer.status).toBe(200);
  expect(answer.json()).toEqual({
    status: "success",
    executionId: expect.stringMatching(/^ex_[0-9a-z]{26}$/),
    duration: 1.234,
    outputs: {
      data: `${service.apiUrl}/run-logs/${executionId}/files/sub%2Fdata.csv`,
      report: `${service.apiUrl}/run-logs/${executionId}/files/Q1%2050%25%20gr%C3%B6%C3%9Fe.pdf`,
    },
    cost: SUCCESS_COST,
  });
  expect(answer.headers).toMatchObject({
    "x-execution-id": executionId,
    location: `${service.apiUrl}/run-logs/${executionId}`,
    "cache-control": "no-store",
    "server-timing": expect.stringMatching(
      /^authenticate;dur=[\d.]+, receive;dur=[\d.]+, record;dur=[\d.]+, start;dur=[\d.]+, wait;dur=[\d.]+$/,
    ),
  });
  expect(service.started).toEqual([
    {
      executionId,
      workflowId: workflow.workflowId,
      commitId: workflow.commitId,
      accountId: workflow.accountId,
      trigger: "api",
      timeoutSeconds: 300,
      attemptsMax: 1,
      workflowName: workflow.workflowId,
    },
  ]);
});

test("execute, after a newer commit, runs that one and what it declares", async () => {
  const workflow = await aWorkflow(service.db);
  const manifest = aManifest({
    name: "Sales",
    retry: { attemptsMax: 2 },
    limits: { ...workflow.manifest.limits, timeoutSeconds: 10, cpu: 2 },
  });
  const commitId = await aCommit(service.db, {
    workflowId: workflow.workflowId,
    parentId: workflow.commitId,
    manifest,
  });
  expect((await execute(service, workflow)).status).toBe(200);
  expect(service.started[0]).toMatchObject({ commitId, workflowName: "Sales", timeoutSeconds: 10, attemptsMax: 2 });
  const [start] = service.started as [Start];
  // 2 cores × 10 s × 0.01, and the fee: credits are held for one attempt at a time.
  expect(await findExecution(service.db, start.executionId)).toMatchObject({ commitId, chargeMax: 201_000n });
});

test("execute, of a commit that asks for more than the installation allows by now, records and holds what it gets", async () => {
  const bounds = { ...DEFAULT_BOUNDS, timeoutSecondsMax: 600, cpuMax: 2 };
  const low = await aService({ db: service.db, editorParts: (db) => someEditorParts(db, { bounds }) });
  try {
    const workflow = await aWorkflow(low.db);
    const limits = { ...workflow.manifest.limits, timeoutSeconds: 86_400, cpu: 64 };
    await aCommit(low.db, { ...workflow, parentId: workflow.commitId, manifest: aManifest({ limits }) });
    expect((await execute(low, workflow)).status).toBe(200);
    const [start] = low.started as [Start];
    expect(start).toMatchObject({ timeoutSeconds: 600 });
    // 2 cores × 600 s × 0.01, and the fee.
    const record = await findExecution(low.db, start.executionId);
    expect(record).toMatchObject({ chargeMax: 12_001_000n });
    const [row] = await queryRows(low.db, "select cpu, timeout_seconds as seconds from executions where id = :id", {
      id: start.executionId,
    });
    expect(row).toEqual({ cpu: 2, seconds: 600 });
  } finally {
    await low.close();
  }
});

test.each([
  ["flat", { region: "EU", count: 3 }],
  ["nested", { inputs: { region: "EU", count: 3 } }],
  ["with null for what is not given", { region: "EU", count: 3, note: null }],
])("execute, with a %s body, records the inputs with their defaults", async (_form, body) => {
  const workflow = await aWorkflow(service.db, {
    inputs: [
      anInput("string", "region"),
      anInput("integer", "count"),
      anInput("string", "note", { required: false }),
      anInput("boolean", "draft", { required: false, default: true }),
    ],
  });
  const answer = await execute(service, workflow, body);
  expect(answer.status).toBe(200);
  const [row] = await queryRows<{ inputs: unknown; secret: unknown; acceptedBy: string }>(
    service.db,
    `select inputs, secret_inputs as secret, accepted_by as "acceptedBy" from executions`,
  );
  expect(row).toEqual({
    inputs: { region: "EU", count: 3, note: null, draft: true },
    secret: null,
    acceptedBy: "proc_test",
  });
});

test("execute, with an input called inputs, reads the body as flat", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("json", "inputs")] });
  expect((await execute(service, workflow, { inputs: { a: 1 } })).status).toBe(200);
  expect(await queryRows(service.db, "select inputs from executions")).toEqual([{ inputs: { inputs: { a: 1 } } }]);
});

test("execute, with a secret, keeps it sealed and nowhere else", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("secret", "token"), anInput("string", "region")] });
  const answer = await execute(service, workflow, { token: "hunter2-secret", region: "EU" });
  expect(answer.status).toBe(200);
  const [row] = await queryRows<{ id: string; text: string; sealed: Buffer }>(
    service.db,
    `select id, row_to_json(e)::text as text, secret_inputs as sealed from executions e`,
  );
  expect(row?.text).not.toContain("hunter2");
  expect(JSON.stringify(service.logged)).not.toContain("hunter2");
  expect(JSON.parse(TEST_SECRET_BOX.open(row?.sealed as Buffer, row?.id as string).toString())).toEqual({
    token: "hunter2-secret",
  });
});

test("execute, with a __proto__ key inside a JSON value, keeps it as data", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("json", "a")] });
  expect((await execute(service, workflow, '{"a":{"__proto__":{"x":1},"a":1,"a":2}}')).status).toBe(200);
  const [row] = await queryRows<{ inputs: string }>(service.db, "select inputs::text from executions");
  expect(row?.inputs).toBe('{"a": {"a": 2, "__proto__": {"x": 1}}}');
});

test("execute, when the reservation is refused after all, answers 402", async () => {
  const accountId = await anAccount(service.db, { credits: "4" });
  const workflow = await aWorkflow(service.db, { accountId });
  run = async (db, { executionId }) => {
    await queryRows(
      db,
      `insert into ledger_entries (account_id, kind, amount) values (:accountId, 'adjustment', -3000000)`,
      { accountId },
    );
    expect(await reserve(db, executionId)).toEqual({ kind: "insufficient_credits" });
    await release(db, { executionId, status: "failed", failure: "insufficient_credits", message: "Too few credits." });
  };
  const answer = await execute(service, workflow);
  expect([answer.status, answer.json()]).toEqual([
    402,
    {
      error: "Insufficient credits",
      message: expect.any(String),
      needed: 3.001,
      available: 1,
      executionId: answer.headers["x-execution-id"],
    },
  ]);
});

async function endAs(
  db: Db,
  executionId: ExecutionId,
  status: "failed" | "timed_out" | "out_of_memory" | "cancelled",
  message: string,
): Promise<void> {
  await reserve(db, executionId);
  const claim = await claimAttempt(db, { executionId, hostId: "h", processId: "p", leaseSeconds: 20, lostMax: 3 });
  expect(claim.kind).toBe("claimed");
  await endAttempt(db, { executionId, attempt: 1, processId: "p", outcome: { status, message, secondsUsed: 2 } });
  await settle(db, {
    executionId,
    status,
    secondsUsed: 2,
    compute: microCredits(20_000n),
    total: microCredits(21_000n),
  });
}

test.each([
  ["failed", "ValueError: no orders in line 3", "ValueError: no orders in line 3"],
  ["timed_out", "", "The program ran longer than its time-out allows."],
  ["out_of_memory", "", "The program needed more memory than its limit allows."],
  ["cancelled", "", "The execution was cancelled."],
] as const)(
  "execute, when the program ends as %s, answers 500 with the whole result, and charges",
  async (status, message, shown) => {
    const workflow = await aWorkflow(service.db);
    run = (db, { executionId }) => endAs(db, executionId, status, message);
    const answer = await execute(service, workflow);
    expect([answer.status, answer.json()]).toEqual([
      500,
      {
        error: "Execution failed",
        message: shown,
        status,
        executionId: answer.headers["x-execution-id"],
        duration: 2,
        outputs: {},
        cost: { compute: 0.02, total: 0.021 },
      },
    ]);
    expect(await findBalance(service.db, workflow.accountId)).toMatchObject({ balance: 999_979_000n, reserved: 0n });
  },
);

test("execute, when it is our fault, answers 500 with the execution id and charges nothing", async () => {
  const workflow = await aWorkflow(service.db);
  run = async (db, { executionId }) =>
    void (await release(db, { executionId, status: "failed", failure: "internal", message: "The worker was lost." }));
  const answer = await execute(service, workflow);
  expect([answer.status, answer.json()]).toEqual([
    500,
    {
      error: "Internal server error",
      message: "The worker was lost.",
      status: "failed",
      executionId: answer.headers["x-execution-id"],
      duration: 0,
      outputs: {},
      cost: { compute: 0, total: 0 },
    },
  ]);
  expect(await findBalance(service.db, workflow.accountId)).toMatchObject({ balance: 1_000_000_000n, reserved: 0n });
});
