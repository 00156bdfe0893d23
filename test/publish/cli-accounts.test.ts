import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { accountBucket, keyBucket, spacingSeconds } from "../../db/accounts/rates.ts";
import { queryRows } from "../../db/connect.ts";
import { reserve, settle } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { AccountId } from "../../domain/ids.ts";
import { aMember, anAccount, anExecution, anInput, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aCliService, type CliService } from "./cli-service.ts";

let service: CliService;
let accountId: AccountId;
let workflow: TestWorkflow;

beforeAll(async () => {
  service = await aCliService({ rateLimits: { perMinute: 120, burst: 40, accountPerMinute: 600 } });
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
  const message = "This execution needs 3.001 credits to begin, and the account had 0.5 available.";
  expect(listed.json()["executions"]).toMatchObject([
    { executionId, workflowId: workflow.workflowId, status: "failed", trigger: "form", cost: 0, message },
  ]);
  expect((await as(accountId, "executions", "list")).out).toContain(message);
  const stranger = await anAccount(service.db);
  expect((await as(stranger, "executions", "list", "--json")).json()).toEqual({ executions: [], nextCursor: null });
  const shown = await as(accountId, "executions", "show", executionId as string);
  expect(shown.out).toContain(message);
});

test("run, by the token of another account, does not find the workflow", async () => {
  const run = await as(await anAccount(service.db), "run", workflow.workflowId, "--json");
  expect([run.code, run.json()["error"]]).toEqual([1, "Workflow not found"]);
});

test("run --dry-run, of a workflow that has succeeded, tells the usual cost and executes nothing", async () => {
  const rich = await anAccount(service.db);
  const succeeded = await aWorkflow(service.db, { accountId: rich, inputs: [anInput("string", "name")] });
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
  const workflows = await as(rich, "workflows", "list");
  expect(workflows.out).toContain("0.01234 credits (median of 1)");
  const { workflows: listed } = (await as(rich, "workflows", "list", "--json")).json() as {
    workflows: { workflowId: string; estimate?: unknown }[];
  };
  expect(listed.map(({ workflowId, estimate }) => [workflowId, estimate])).toEqual([
    [succeeded.workflowId, { credits: 0.01234, basedOn: 1 }],
  ]);
});

test("run --dry-run, of a folder that was never published, publishes nothing and says what to do", async () => {
  const folder = service.folder({ "config.yaml": "triggers:\n  api: { enabled: true }\n", "main.py": "" });
  const judged = await service.cli("run", folder, "--dry-run", "--json");
  expect([judged.code, judged.json()["error"]]).toEqual([1, "Not published"]);
});

test("storage, shown, agreed and taken back, is that of the account named", async () => {
  const accountId = await anAccount(service.db, { name: "keeps much" });
  await queryRows(service.db, "insert into kept_changes (account_id, bytes) values (:accountId, 1500000000)", {
    accountId,
  });
  const account = ["--account", "keeps much"];
  const document = { accountId, name: "keeps much", bytes: 1_500_000_000, bytesMax: null, agreedMax: null };
  expect((await service.cli("storage", "show", ...account, "--json")).json()).toEqual(document);
  const set = await service.cli("storage", "set", "200GB", ...account);
  expect([set.code, set.out]).toEqual([0, "keeps much: 1.5 GB kept, 200 GB allowed, as agreed\n"]);
  expect((await service.cli("storage", "show", ...account, "--json")).json()).toEqual({
    ...document,
    bytesMax: 200_000_000_000,
    agreedMax: 200_000_000_000,
  });
  expect((await service.cli("storage", "set", "0", ...account)).out).toBe(
    "keeps much: 1.5 GB kept, no bound, as agreed\n",
  );
  expect((await service.cli("storage", "reset", ...account, "--json")).json()).toEqual(document);
});

test("publish, into an account that keeps as much as it may, is refused with what to do, and stores nothing; a dry run is not", async () => {
  const accountId = await anAccount(service.db, { name: "full" });
  // Commits may take a tenth more than the account may keep.
  await queryRows(service.db, "insert into kept_changes (account_id, bytes) values (:accountId, 1100)", { accountId });
  expect((await service.cli("storage", "set", "1kB", "--account", "full")).code).toBe(0);
  const folder = service.folder({ "config.yaml": "name: Greeter\n", "main.py": "def main():\n    return 1\n" });
  expect((await service.cli("publish", folder, "--account", "full", "--dry-run")).code).toBe(0);
  const refused = await service.cli("publish", folder, "--account", "full", "--json");
  expect([refused.code, refused.json()]).toMatchObject([
    1,
    {
      error: "Storage full",
      kept: 1_100,
      allowed: 1_100,
      message:
        "The account keeps 1.1 kB of files, logs, commits and drafts, and may keep 1.1 kB. Nothing was started or committed. Wait until old files are removed, or ask the operator for more.",
    },
  ]);
  expect(await queryRows(service.db, "select 1 from workflows where account_id = :accountId", { accountId })).toEqual(
    [],
  );
});

test("storage, set to no size, is wrong usage; set by an owner, is refused", async () => {
  expect((await service.cli("storage", "set", "much")).code).toBe(2);
  const owner = await aMember(service.db, await anAccount(service.db, { name: "another" }));
  const refused = await service.cliAs(owner, "storage", "set", "1GB", "--json");
  expect([refused.code, refused.json()["error"]]).toEqual([1, "Forbidden"]);
  expect((await service.cliAs(owner, "storage", "show", "--json")).json()).toMatchObject({ name: "another", bytes: 0 });
});

function readAgreed(accountId: string): Promise<unknown[]> {
  return queryRows(
    service.db,
    `select per_minute as "perMinute", burst, account_per_minute as "accountPerMinute"
       from account_rates where account_id = :accountId`,
    { accountId },
  );
}

test("rates, set and reset, are agreed with the account and answered", async () => {
  const accountId = await anAccount(service.db, { name: "calls often" });
  const account = ["--account", "calls often"];
  const agreed = { perMinute: 6_000, burst: 500, accountPerMinute: 0 };
  const limits = ["--per-minute", "6000", "--burst", "500", "--account-per-minute", "0"];
  const set = await service.cli("rates", "set", ...limits, ...account, "--json");
  expect([set.code, set.json()]).toMatchObject([0, { accountId, name: "calls often", agreed }]);
  expect(await readAgreed(accountId)).toEqual([agreed]);

  const one = await service.cli("rates", "set", "--burst", "7", ...account);
  expect([one.code, one.out]).toEqual([
    0,
    "calls often: per minute as everybody, burst 7, account per minute as everybody\n",
  ]);
  expect(await readAgreed(accountId)).toEqual([{ perMinute: null, burst: 7, accountPerMinute: null }]);

  const usual = { perMinute: null, burst: null, accountPerMinute: null };
  expect((await service.cli("rates", "reset", ...account, "--json")).json()).toMatchObject({
    accountId,
    name: "calls often",
    agreed: usual,
  });
  expect(await readAgreed(accountId)).toEqual([usual]);
});

test("rates, without an account, are those of the first", async () => {
  const { name } = (await service.cli("rates", "set", "--per-minute", "9", "--json")).json();
  expect(name).toBe("main");
  await service.cli("rates", "reset");
});

/** A test that starts no executions: the limits of this workflow as if it had started so many just now. */
async function use(workflow: TestWorkflow, count: number): Promise<void> {
  const { workflowId, accountId } = workflow;
  await queryRows(
    service.db,
    `insert into rate_buckets (bucket, busy_until)
     values (:key, now() + make_interval(secs => :keySeconds)), (:account, now() + make_interval(secs => :accountSeconds))`,
    {
      key: keyBucket(workflowId),
      account: accountBucket(accountId),
      keySeconds: count * spacingSeconds(KEY),
      accountSeconds: count * spacingSeconds(ACCOUNT),
    },
  );
}

/** So slow that a token does not come back while a test looks. */
const [KEY, ACCOUNT] = [
  { perMinute: 1, burst: 40 },
  { perMinute: 3, burst: 40 },
];

test("rates, shown for an account or a workflow, are what counts, with what is left now", async () => {
  const accountId = await anAccount(service.db, { name: "looks" });
  const workflow = await aWorkflow(service.db, { accountId });
  const { workflowId } = workflow;
  const everybody = { perMinute: null, burst: null, accountPerMinute: null };
  const shown = await service.cli("rates", "show", "--account", "looks", "--json");
  expect([shown.code, shown.json()]).toEqual([
    0,
    {
      accountId,
      name: "looks",
      agreed: everybody,
      key: { perMinute: 120, burst: 40 },
      account: { perMinute: 600, burst: 200, remaining: 200, fullAfterSeconds: 0 },
    },
  ]);

  await service.cli("rates", "set", "--per-minute", "1", "--account-per-minute", "3", "--account", "looks");
  await use(workflow, 3);
  const used = (await service.cli("rates", "show", "--workflow", workflowId, "--json")).json();
  expect(used).toEqual({
    accountId,
    name: "looks",
    workflowId,
    agreed: { perMinute: 1, burst: null, accountPerMinute: 3 },
    key: { ...KEY, remaining: 37, fullAfterSeconds: expect.any(Number) },
    account: { ...ACCOUNT, remaining: 37, fullAfterSeconds: expect.any(Number) },
  });
  const wait = (used["key"] as { fullAfterSeconds: number }).fullAfterSeconds;
  expect(wait).toBeGreaterThan(120);
  expect(wait).toBeLessThanOrEqual(180);
  expect((await service.cli("rates", "show", "--workflow", workflowId)).out).toMatch(
    new RegExp(
      `^The key of ${workflowId}: 1 a minute, 40 at once; 37 left now, all of them in \\d+ s, as agreed\\nAll of looks: 3 a minute`,
    ),
  );

  await service.cli("rates", "set", "--per-minute", "0", "--account-per-minute", "0", "--account", "looks");
  expect((await service.cli("rates", "show", "--account", "looks")).out).toBe(
    "Each workflow's key: no limit, as agreed\nAll of looks: no limit, as agreed\n",
  );
});

test("rates, shown for nobody, for no workflow or for two things at once, are refused", async () => {
  const nobody = await service.cli("rates", "show", "--account", "nobody", "--json");
  const nothing = await service.cli("rates", "show", "--workflow", "wf_0000000000000000000000000a", "--json");
  const both = ["--account", "main", "--workflow", "wf_0000000000000000000000000a", "--json"];
  const two = await service.cli("rates", "show", ...both);
  expect([nobody, nothing, two].map(({ code, json }) => [code, json()["error"]])).toEqual([
    [1, "Not found"],
    [1, "Workflow not found"],
    [1, "Invalid request"],
  ]);
});

test("rates, set to nothing or for nobody, are refused and change nothing", async () => {
  const accountId = await anAccount(service.db, { name: "left alone" });
  const nothing = await service.cli("rates", "set", "--account", "left alone", "--json");
  expect([nothing.code, nothing.json()["error"]]).toEqual([1, "Nothing to set"]);
  const nobody = await service.cli("rates", "set", "--burst", "1", "--account", "nobody", "--json");
  expect([nobody.code, nobody.json()["error"]]).toEqual([1, "Not found"]);
  expect(await readAgreed(accountId)).toEqual([]);
});

test.each([
  ["a rate that is none", ["--per-minute", "fast"]],
  ["a rate below 0", ["--per-minute=-1"]],
  ["a rate over the most", ["--account-per-minute", "1000001"]],
  ["no burst at all", ["--burst", "0"]],
])("rates, set to %s, are wrong usage", async (_what, options) => {
  const answer = await service.cli("rates", "set", ...options);
  expect([answer.code, answer.out]).toEqual([2, ""]);
});
