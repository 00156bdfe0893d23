import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import { deleteFullBuckets, putAccountRates } from "../../db/accounts/rates.ts";
import { queryRows } from "../../db/connect.ts";
import type { Manifest } from "../../domain/manifest/manifest.ts";
import { aMember, anAccount, anInput, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { type Answer, aForm } from "../support/https.ts";
import { aFileService, aService, execute, findLeftovers, forgetExecutions, sendForm } from "./service.ts";

const CONTACT = "sales@example.test";

const service = await aFileService({
  rateLimits: { perMinute: 6, burst: 3, accountPerMinute: 12 },
  contact: CONTACT,
});

afterEach(() => forgetExecutions(service));

const statuses = (answers: readonly Answer[]): number[] => answers.map((answer) => answer.status);

async function call(workflow: TestWorkflow, times: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let count = 0; count < times; count += 1) answers.push(await execute(service, workflow));
  return answers;
}

/** As if so much time had passed. */
async function pass(seconds: number): Promise<void> {
  await queryRows(service.db, "update rate_buckets set busy_until = busy_until - make_interval(secs => :seconds)", {
    seconds,
  });
}

test("execute, more often than a burst, answers 429 with when to come again, and starts nothing", async () => {
  const workflow = await aWorkflow(service.db);
  const answers = await call(workflow, 4);
  expect(statuses(answers)).toEqual([200, 200, 200, 429]);
  const [first, , third, refused] = answers as [Answer, Answer, Answer, Answer];
  expect(first.headers).toMatchObject({
    "ratelimit-policy": '"key";q=6;w=60, "account";q=12;w=60',
    ratelimit: '"key";r=2;t=10, "account";r=3;t=5',
  });
  expect(third.headers["ratelimit"]).toMatch(/^"key";r=0;t=(29|30), "account";r=1;t=1[45]$/);
  expect(refused.json()).toEqual({
    error: "Rate limit exceeded",
    message: expect.stringMatching(/this workflow's key.*6 a minute, 3 at once.*Ask sales@example\.test for more\.$/),
  });
  expect(Number(refused.headers["retry-after"])).toBeGreaterThanOrEqual(8);
  expect(Number(refused.headers["retry-after"])).toBeLessThanOrEqual(10);
  expect(refused.headers).toMatchObject({
    "ratelimit-policy": '"key";q=6;w=60, "account";q=12;w=60',
    ratelimit: expect.stringMatching(/^"key";r=0;t=(29|30), "account";r=1;t=1[45]$/),
  });
  expect(service.started).toHaveLength(3);
});

test("execute, by somebody signed in, counts for the account and takes nothing from the key", async () => {
  const workflow = await aWorkflow(service.db);
  const { cookie } = await aMember(service.db, workflow.accountId);
  const path = `/api/workflows/${workflow.workflowId}/execute`;
  const headers = { cookie, "sec-fetch-site": "same-origin", "content-type": "application/json" };
  const inPerson = (): Promise<Answer> => service.call(path, { method: "POST", headers, body: "{}" });
  const answers = [await inPerson(), await inPerson(), await inPerson()];
  expect(statuses(answers)).toEqual([200, 200, 200]);
  expect(answers.at(-1)?.headers["ratelimit"]).toMatch(/^"account";r=1;/);
  const [byKey] = await call(workflow, 1);
  expect(byKey?.headers["ratelimit"]).toMatch(/^"key";r=2;t=10, "account";r=0;/);
  expect((await inPerson()).status).toBe(429);
});

test("execute, after the time that Retry-After said, is let through once", async () => {
  const workflow = await aWorkflow(service.db);
  const refused = (await call(workflow, 4)).at(-1);
  await pass(Number(refused?.headers["retry-after"]));
  expect(statuses(await call(workflow, 2))).toEqual([200, 429]);
});

test("execute, after a long time without calls, lets through no more than a burst", async () => {
  const workflow = await aWorkflow(service.db);
  await call(workflow, 1);
  await pass(3_600);
  expect(statuses(await call(workflow, 4))).toEqual([200, 200, 200, 429]);
});

test("execute, by several workflows of one account, is limited together", async () => {
  const accountId = await anAccount(service.db);
  const workflows = [await aWorkflow(service.db, { accountId }), await aWorkflow(service.db, { accountId })];
  const answers = [...(await call(workflows[0] as TestWorkflow, 3)), ...(await call(workflows[1] as TestWorkflow, 2))];
  // A third of 12 a minute at once.
  expect(statuses(answers)).toEqual([200, 200, 200, 200, 429]);
  expect(answers.at(-1)?.json()["message"]).toContain("this account may make: 12 a minute, 4 at once");
  // The account's refusal takes nothing from the key.
  expect(answers.at(-1)?.headers["ratelimit"]).toMatch(/^"key";r=2;/);
  const stranger = await aWorkflow(service.db);
  expect(statuses(await call(stranger, 1))).toEqual([200]);
});

test("execute, 60 times at once, lets exactly a burst through", async () => {
  const workflow = await aWorkflow(service.db);
  const answers = await Promise.all(Array.from({ length: 60 }, () => execute(service, workflow)));
  expect(answers.filter((answer) => answer.status === 200)).toHaveLength(3);
  expect(answers.filter((answer) => answer.status === 429)).toHaveLength(57);
  expect(await findLeftovers(service)).toMatchObject({ executions: 3 });
});

test("execute, when two processes share the record, counts for both", async () => {
  // Decided in the record: whoever calls with the same database has the same buckets.
  const workflow = await aWorkflow(service.db);
  await call(workflow, 3);
  const other = await aService({ rateLimits: { perMinute: 6, burst: 3, accountPerMinute: 12 }, db: service.db });
  try {
    expect((await execute(other, workflow)).status).toBe(429);
  } finally {
    await other.close();
  }
});

test("execute, refused by a limit that is reached while the body arrives, leaves nothing behind", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("file", "orders")] });
  const part = { name: "orders", fileName: "a.csv", content: "x".repeat(100_000) };
  const { headers, body } = aForm([part]);
  // The last byte comes when all callers have been let in.
  const slowly = async function* () {
    yield body.subarray(0, -1);
    await sleep(1_000);
    yield body.subarray(-1);
  };
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      sendForm(service, workflow, { headers, body: Readable.from(slowly()) }, { "idempotency-key": `k${index}` }),
    ),
  );
  expect(statuses(answers).sort((one, other) => one - other)).toEqual([
    200,
    200,
    200,
    ...Array.from({ length: 9 }, () => 429),
  ]);
  const left = await findLeftovers(service);
  expect([left.executions, left.files.length]).toEqual([3, 3]);
  // A refused call has not used its key.
  const refused = answers.findIndex((answer) => answer.status === 429);
  await pass(10);
  const again = await sendForm(service, workflow, [part], { "idempotency-key": `k${refused}` });
  expect([again.status, again.headers["idempotent-replayed"]]).toEqual([200, undefined]);
});

test.each([
  ["with invalid inputs", {}, { nonsense: 1 }, 400],
  ["when as many are under way as may", { concurrency: { executionsMax: 0, whenFull: "reject" } }, {}, 429],
] as const)("execute, refused %s, uses up no rate", async (_circumstance, manifest, body, status) => {
  const workflow = await aWorkflow(service.db, { manifest: manifest as Partial<Manifest> });
  for (let count = 0; count < 6; count += 1) expect((await execute(service, workflow, body)).status).toBe(status);
  const [row] = await queryRows<{ busy: number }>(
    service.db,
    "select coalesce(max(extract(epoch from busy_until - now())), 0) as busy from rate_buckets",
  );
  expect(row?.busy).toBeLessThan(1);
});

test("execute, sent again under its key, uses up no rate", async () => {
  const workflow = await aWorkflow(service.db);
  const headers = { "idempotency-key": "k" };
  for (let count = 0; count < 6; count += 1) {
    expect((await execute(service, workflow, {}, headers)).status).toBe(200);
  }
  expect(statuses(await call(workflow, 3))).toEqual([200, 200, 429]);
  const again = await execute(service, workflow, {}, headers);
  expect([again.status, again.headers["ratelimit"]]).toEqual([200, expect.stringMatching(/^"key";r=0;/)]);
});

test("execute, of an account with which other rates were agreed, has those", async () => {
  const workflow = await aWorkflow(service.db);
  await putAccountRates(service.db, workflow.accountId, { perMinute: 60, burst: 5, accountPerMinute: 0 });
  const answers = await call(workflow, 6);
  expect(statuses(answers)).toEqual([200, 200, 200, 200, 200, 429]);
  expect(answers[0]?.headers).toMatchObject({ "ratelimit-policy": '"key";q=60;w=60', ratelimit: '"key";r=4;t=1' });
  await putAccountRates(service.db, workflow.accountId, { perMinute: 0, burst: null, accountPerMinute: 0 });
  const [free] = await call(workflow, 1);
  expect([free?.status, free?.headers["ratelimit"], free?.headers["ratelimit-policy"]]).toEqual([
    200,
    undefined,
    undefined,
  ]);
});

test("buckets, when nobody has used them for an hour, are deleted, and others are kept", async () => {
  await call(await aWorkflow(service.db), 1);
  expect(await deleteFullBuckets(service.db, 10)).toBe(0);
  await pass(3_700);
  await call(await aWorkflow(service.db), 1);
  expect([await deleteFullBuckets(service.db, 1), await deleteFullBuckets(service.db, 10)]).toEqual([1, 1]);
  expect(await queryRows(service.db, "select bucket from rate_buckets")).toHaveLength(2);
});
