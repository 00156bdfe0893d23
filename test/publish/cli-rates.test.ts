import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { accountBucket, keyBucket, spacingSeconds } from "../../db/rates.ts";
import { anAccount, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aCliService, type CliService } from "./cli-service.ts";

let service: CliService;
beforeAll(async () => {
  service = await aCliService();
});
afterAll(() => service?.close());

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
  expect([set.code, set.json()]).toEqual([0, { accountId, name: "calls often", ...agreed }]);
  expect(await readAgreed(accountId)).toEqual([agreed]);

  const one = await service.cli("rates", "set", "--burst", "7", ...account);
  expect([one.code, one.out]).toEqual([
    0,
    "calls often: per minute as everybody, burst 7, account per minute as everybody\n",
  ]);
  expect(await readAgreed(accountId)).toEqual([{ perMinute: null, burst: 7, accountPerMinute: null }]);

  const usual = { perMinute: null, burst: null, accountPerMinute: null };
  expect((await service.cli("rates", "reset", ...account, "--json")).json()).toEqual({
    accountId,
    name: "calls often",
    ...usual,
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
      ...{ key: keyBucket(workflowId), account: accountBucket(accountId) },
      ...{ keySeconds: count * spacingSeconds(KEY), accountSeconds: count * spacingSeconds(ACCOUNT) },
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
      ...{ accountId, name: "looks", agreed: everybody, key: { perMinute: 120, burst: 40 } },
      account: { perMinute: 600, burst: 200, remaining: 200, fullAfterSeconds: 0 },
    },
  ]);

  await service.cli("rates", "set", "--per-minute", "1", "--account-per-minute", "3", "--account", "looks");
  await use(workflow, 3);
  const used = (await service.cli("rates", "show", "--workflow", workflowId, "--json")).json();
  expect(used).toEqual({
    ...{ accountId, name: "looks", workflowId },
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
