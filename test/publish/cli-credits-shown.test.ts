import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { reserve, settle } from "../../db/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { AccountId } from "../../domain/ids.ts";
import { aMember, anAccount, anExecution, anInput, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aCliService, type CliService } from "./cli-service.ts";

let service: CliService;
let accountId: AccountId;
let workflow: TestWorkflow;

beforeAll(async () => {
  service = await aCliService();
  accountId = await anAccount(service.db, { name: "poor", credits: "0.5" });
  workflow = await aWorkflow(service.db, { accountId, manifest: { triggers: { api: null, schedule: null } } });
});

afterAll(() => service?.close());

/** A command of somebody whose token belongs to one account. */
async function as(account: AccountId, ...argv: string[]) {
  return service.cliAs(await aMember(service.db, account), ...argv);
}

test("run, of an account with too few credits, is refused, and executions list shows it with both amounts", async () => {
  const run = await as(accountId, "run", workflow.workflowId, "--json");
  expect(run.code).toBe(1);
  const { executionId, ...refusal } = run.json();
  expect(refusal).toMatchObject({ error: "Insufficient credits", needed: 3.001, available: 0.5 });
  const listed = await as(accountId, "executions", "list", "--json");
  expect(listed.json()["executions"]).toEqual([
    {
      ...{ executionId, workflowId: workflow.workflowId, status: "failed", trigger: "form" },
      ...{ createdAt: expect.any(String), needed: 3.001, available: 0.5 },
    },
  ]);
  expect((await as(accountId, "executions", "list")).out).toContain("failed: needed 3.001 credits, had 0.5");
  const stranger = await anAccount(service.db);
  expect((await as(stranger, "executions", "list", "--json")).json()).toEqual({ executions: [] });
  const shown = await as(accountId, "executions", "show", executionId as string);
  expect(shown.out).toContain("This execution may cost up to 3.001 credits, and the account had 0.5 available.");
});

test("run, by the token of another account, does not find the workflow", async () => {
  const run = await as(await anAccount(service.db), "run", workflow.workflowId, "--json");
  expect([run.code, run.json()["error"]]).toEqual([1, "Workflow not found"]);
});

test("run --dry-run, of a workflow that has succeeded, tells the usual cost and executes nothing", async () => {
  const succeeded = await aWorkflow(service.db, { inputs: [anInput("string", "name")] });
  const dryRun = (...argv: string[]) => service.cli("run", succeeded.workflowId, "--dry-run", ...argv);
  expect((await dryRun("-i", "name=Ada")).out).toContain("its usual cost is not known");
  const executionId = await anExecution(service.db, { workflow: succeeded });
  await reserve(service.db, executionId);
  const amounts = { compute: microCredits(12_000), total: microCredits(12_340) };
  await settle(service.db, { executionId, status: "success", secondsUsed: 1, ...amounts });
  const judged = await dryRun("-i", "name=Ada", "--json");
  expect([judged.code, judged.json()]).toEqual([
    0,
    { valid: true, nextRuns: [], estimate: { credits: 0.01234, basedOn: 1 } },
  ]);
  expect((await dryRun("-i", "name=Ada")).out).toContain("Usual cost  0.01234 credits (median of 1)");
  const wrong = await dryRun("-i", "nam=Ada", "--json");
  expect([wrong.code, wrong.json()["error"]]).toEqual([1, "Invalid request"]);
  expect(service.started).toEqual([]);
  const workflows = await service.cli("workflows", "list");
  expect(workflows.out).toContain("0.01234 credits (median of 1)");
  const { workflows: listed } = (await service.cli("workflows", "list", "--json")).json() as {
    workflows: { workflowId: string; estimate?: unknown }[];
  };
  expect(listed.map(({ workflowId, estimate }) => [workflowId, estimate])).toEqual([
    [succeeded.workflowId, { credits: 0.01234, basedOn: 1 }],
    [workflow.workflowId, undefined],
  ]);
});

test("run --dry-run, of a folder that was never published, publishes nothing and says what to do", async () => {
  const folder = service.folder({ "config.yaml": "triggers:\n  api: { enabled: true }\n", "main.py": "" });
  const judged = await service.cli("run", folder, "--dry-run", "--json");
  expect([judged.code, judged.json()["error"]]).toEqual([1, "Not published"]);
});
