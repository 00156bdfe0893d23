import { expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { countExecutionDays } from "../../../db/executions/days.ts";
import { adjust, grant, reserve, settle } from "../../../db/ledger/credits.ts";
import { microCredits } from "../../../domain/credits.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { anExecution, aWorkflow, type TestWorkflow } from "../../support/builders.ts";
import { aFileService } from "../service.ts";
import { aHouse, ask, type House } from "./people.ts";

const DAY_MS = 86_400_000;

interface Spend {
  readonly days: readonly string[];
  readonly workflows: readonly { workflowId: string; name: string; perDay: number[]; total: number }[];
}

const service = await aFileService({ contact: "ops@example.test", temporalUiUrl: "http://localhost:8233" });

/** An execution that cost this many micro-credits, and ended then. */
async function spend(workflow: TestWorkflow, total: bigint, at = new Date()): Promise<ExecutionId> {
  const executionId = await anExecution(service.db, { workflow });
  await reserve(service.db, executionId);
  const [compute, secondsUsed] = [microCredits(total), 1];
  await settle(service.db, { executionId, status: "success", secondsUsed, compute, total: compute });
  await queryRows(service.db, `update executions set finished_at = :at where id = :executionId`, { at, executionId });
  return executionId;
}

/** What the last ten days show, without days on which nothing was spent. */
async function readSpend(house: House): Promise<unknown[]> {
  const { days, workflows } = (await get(house, "account/spend?days=10")) as unknown as Spend;
  expect(days).toHaveLength(10);
  expect(days).toEqual([...days].sort());
  return workflows.map(({ perDay, ...workflow }) => ({
    ...workflow,
    perDay: Object.fromEntries(days.map((day, index) => [day, perDay[index]]).filter(([, amount]) => amount !== 0)),
  }));
}

async function get(house: House, path: string, who = house.viewer): Promise<Record<string, unknown>> {
  const answer = await ask(service, `/api/${path}`, {}, who);
  expect(answer.status).toBe(200);
  return answer.json();
}

test("account, with credits held, shows what it has, what is held and what is left", async () => {
  const house = await aHouse(service);
  const { accountId } = house;
  const workflow = await aWorkflow(service.db, { accountId });
  await reserve(service.db, await anExecution(service.db, { workflow }));
  expect(await get(house, "account")).toEqual({
    accountId,
    name: `account ${accountId}`,
    contact: "ops@example.test",
    balance: 1000,
    reserved: 3.001,
    available: 996.999,
    // The commit of the workflow.
    storage: { bytes: 40, bytesMax: null, agreedMax: null },
  });
  const session = await ask(service, "/api/session", {}, house.viewer);
  expect(session.json()).toMatchObject({ contact: "ops@example.test", temporalUiUrl: "http://localhost:8233" });
});

test("ledger, page by page, shows each entry once, the newest first, with its workflow", async () => {
  const house = await aHouse(service);
  const { accountId } = house;
  const workflow = await aWorkflow(service.db, { accountId, name: "Report" });
  const { workflowId } = workflow;
  const executionId = await spend(workflow, 13_340n);
  await adjust(service.db, { accountId, amount: microCredits(-1n), reason: "a mistake" });
  await grant(service.db, { accountId, amount: microCredits(2_500_000n), reason: "paid" });
  const stranger = await aHouse(service);
  await spend(await aWorkflow(service.db, { accountId: stranger.accountId }), 1n);
  const pages: Record<string, unknown>[] = [];
  let cursor: unknown = "";
  do {
    const page = await get(house, `account/ledger?limit=2${cursor === "" ? "" : `&cursor=${String(cursor)}`}`);
    pages.push(page);
    cursor = page["nextCursor"];
  } while (cursor !== null && pages.length < 10);
  expect(pages.map(({ entries }) => (entries as unknown[]).length)).toEqual([2, 2]);
  const plain = { executionId: null, workflowId: null, workflowName: null };
  const always = { id: expect.stringMatching(/^\d+$/), createdAt: expect.stringMatching(/Z$/) };
  expect(pages.flatMap(({ entries }) => entries)).toEqual([
    { ...always, ...plain, kind: "grant", amount: 2.5, reason: "paid" },
    { ...always, ...plain, kind: "adjustment", amount: -0.000001, reason: "a mistake" },
    { ...always, kind: "settlement", amount: -0.01334, reason: "", executionId, workflowId, workflowName: "Report" },
    { ...always, ...plain, kind: "grant", amount: 1000, reason: "test" },
  ]);
});

test("ledger, of a page that is exactly full, promises no other", async () => {
  const house = await aHouse(service);
  expect(await get(house, "account/ledger?limit=1")).toMatchObject({ entries: [{ amount: 1000 }], nextCursor: null });
});

test("ledger, of an execution that is not on record any more, keeps its charge", async () => {
  const house = await aHouse(service);
  const executionId = await spend(await aWorkflow(service.db, { accountId: house.accountId }), 5n);
  await queryRows(service.db, "delete from executions where id = :executionId", { executionId });
  const [entry] = (await get(house, "account/ledger"))["entries"] as object[];
  expect(entry).toMatchObject({ executionId, workflowId: null, workflowName: null, amount: -0.000005 });
});

test.each(["limit=0", "limit=201", "limit=x", "cursor=x", "cursor=-1", "cursor=0", `cursor=${"9".repeat(30)}`])(
  "ledger, with %s, is refused by name",
  async (query) => {
    const { viewer } = await aHouse(service);
    const answer = await ask(service, `/api/account/ledger?${query}`, {}, viewer);
    expect([answer.status, answer.json()]).toMatchObject([400, { details: [{ input: query.split("=")[0] }] }]);
  },
);

test("spend, counted by day or not yet, is what executions cost on the day of UTC on which they ended", async () => {
  await queryRows(service.db, "update execution_days_counted set until = now() - interval '60 days'");
  const house = await aHouse(service);
  const { accountId } = house;
  const [cheap, dear] = [
    await aWorkflow(service.db, { accountId, name: "cheap" }),
    await aWorkflow(service.db, { accountId, name: "dear" }),
  ];
  await aWorkflow(service.db, { accountId, name: "never run" });
  const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const before = (days: number, ms: number) => new Date(midnight - days * DAY_MS + ms);
  await spend(cheap, 1n, before(2, 0));
  for (let hour = 0; hour < 3; hour += 1) await spend(dear, 100_000n, before(1, hour * 3_600_000));
  await spend(dear, 200_000n, before(1, -1));
  await spend(dear, 3_000_000n, before(40, 0));
  await spend(await aWorkflow(service.db), 9n, before(1, 0));
  // By name of the day: a day may begin between the two.
  const nameOf = (days: number) => before(days, 0).toISOString().slice(0, 10);
  const expected = [
    { workflowId: dear.workflowId, name: "dear", total: 0.5, perDay: { [nameOf(2)]: 0.2, [nameOf(1)]: 0.3 } },
    { workflowId: cheap.workflowId, name: "cheap", total: 0.000001, perDay: { [nameOf(2)]: 0.000001 } },
  ];
  expect(await readSpend(house)).toEqual(expected);
  while (await countExecutionDays(service.db));
  expect(await readSpend(house)).toEqual(expected);
  expect(((await get(house, "account/spend")) as unknown as Spend).days).toHaveLength(30);
});

test.each(["days=0", "days=367", "days=1.5", "days=x"])("spend, with %s, is refused by name", async (query) => {
  const { viewer } = await aHouse(service);
  const answer = await ask(service, `/api/account/spend?${query}`, {}, viewer);
  expect([answer.status, answer.json()]).toMatchObject([400, { details: [{ input: "days" }] }]);
});

const put = (path: string, who: House["owner"], value = "of-the-house") =>
  ask(service, `/api/${path}`, { method: "PUT", json: { value } }, who);
const remove = (path: string, who: House["owner"]) => ask(service, `/api/${path}`, { method: "DELETE" }, who);

test("secrets, of the account, are its owners' to change; those of a workflow also its members'; strangers find none", async () => {
  const [house, other] = [await aHouse(service), await aHouse(service)];
  const manifest = { secrets: ["TOKEN"], env: { LEVEL: "${{ vars.LEVEL }}" } };
  const { workflowId } = await aWorkflow(service.db, { accountId: house.accountId, manifest });
  const own = `?workflow=${workflowId}`;
  const statusOf = async (answer: Promise<{ status: number }>): Promise<number> => (await answer).status;
  expect(await statusOf(put("secrets/TOKEN", house.viewer))).toBe(403);
  expect(await statusOf(put("secrets/TOKEN", house.member))).toBe(403);
  expect(await statusOf(put(`secrets/TOKEN${own}`, house.viewer))).toBe(403);
  expect(await statusOf(put(`secrets/TOKEN${own}`, other.owner))).toBe(404);
  expect(await statusOf(put("secrets/TOKEN", house.owner))).toBe(200);
  expect((await put(`secrets/TOKEN${own}`, house.member)).json()).toEqual({
    name: "TOKEN",
    workflowId,
    version: 1,
    masked: true,
  });
  expect((await put("variables/LEVEL", house.owner, "info")).json()).toMatchObject({ version: 1, masked: false });

  const usedBy = [{ workflowId, name: expect.any(String) }];
  expect(await get(house, "secrets")).toMatchObject({
    secrets: [
      { name: "TOKEN", workflowId: null, version: 1, usedBy: [] },
      { name: "TOKEN", workflowId, version: 1, usedBy },
    ],
  });
  expect(await get(house, "variables")).toMatchObject({ variables: [{ name: "LEVEL", value: "info", usedBy }] });
  expect(await get(other, "secrets")).toEqual({ secrets: [] });
  expect((await remove("variables/LEVEL", house.owner)).json()).toMatchObject({ error: "Conflict" });
  // Then the workflow gets that of the account, which cannot go.
  expect(await statusOf(remove(`secrets/TOKEN${own}`, house.member))).toBe(200);
  expect(await statusOf(remove("secrets/TOKEN", house.owner))).toBe(409);
  expect(await statusOf(remove(`secrets/TOKEN${own}`, house.member))).toBe(404);
});

test("the overview of an account, with runs that wait, run, fail and cost, counts them and foresees the end of its credits", async () => {
  const house = await aHouse(service);
  const { accountId } = house;
  const empty = { running: 0, queued: 0, failing: { count: 0, newest: [] }, available: 1000, spentPerDay: 0 };
  const firstSteps = { ran: false, published: false, called: false };
  expect(await get(house, "account/overview")).toEqual({ ...empty, lastsUntil: null, firstSteps });

  const [good, bad] = [await aWorkflow(service.db, { accountId }), await aWorkflow(service.db, { accountId })];
  await spend(good, 2_000_000n);
  await spend(good, 3_000_000n);
  const failed = await spend(bad, 1_000_000n);
  await set(failed, "failed");
  // It was cancelled afterwards, and another of a workflow that works was refused: neither says anything of the program.
  await set(await spend(bad, 0n), "cancelled");
  await set(await anExecution(service.db, { workflow: bad }), "running");
  await anExecution(service.db, { workflow: good });
  const overview = await get(house, "account/overview");
  expect(overview).toMatchObject({ running: 1, queued: 1, available: 994, spentPerDay: 6, firstSteps: { ran: true } });
  expect(overview["failing"]).toMatchObject({ count: 1, newest: [{ executionId: failed, status: "failed" }] });
  const days = (Date.parse(String(overview["lastsUntil"])) - Date.now()) / DAY_MS;
  expect(Math.round(days)).toBe(Math.round(994 / 6));

  // Half of the rate when the account is twice as old; and it is not new any more a month later.
  const age = (by: number) =>
    queryRows(service.db, "update accounts set created_at = now() - make_interval(days => :by) where id = :accountId", {
      by,
      accountId,
    });
  await age(2);
  expect((await get(house, "account/overview"))["spentPerDay"]).toBeCloseTo(3, 3);
  await age(31);
  expect((await get(house, "account/overview"))["firstSteps"]).toBeNull();
});

async function set(executionId: ExecutionId, state: string): Promise<void> {
  await queryRows(service.db, "update executions set state = :state where id = :executionId", { state, executionId });
}
