import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { adjust, grant, reserve, settle } from "../../../db/credits.ts";
import { microCredits } from "../../../domain/credits.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { anExecution, aWorkflow, type TestWorkflow } from "../../support/builders.ts";
import { aService, type TestService } from "../service.ts";
import { aHouse, ask, type House } from "./people.ts";

let service: TestService;

beforeAll(async () => {
  service = await aService({ contact: "ops@example.test", temporalUiUrl: "http://localhost:8233" });
});

afterAll(() => service?.close());

/** An execution that cost this many micro-credits, and ended so long ago. */
async function spend(workflow: TestWorkflow, total: bigint, ago = "0 days"): Promise<ExecutionId> {
  const executionId = await anExecution(service.db, { workflow });
  await reserve(service.db, executionId);
  const [compute, secondsUsed] = [microCredits(total), 1];
  await settle(service.db, { executionId, status: "success", secondsUsed, compute, total: compute });
  await queryRows(
    service.db,
    `update executions set finished_at = finished_at - cast(:ago as interval) where id = :executionId`,
    { ago, executionId },
  );
  return executionId;
}

async function get(house: House, path: string, who = house.viewer): Promise<Record<string, unknown>> {
  const answer = await ask(service, `/api/editor/${path}`, {}, who);
  expect(answer.status).toBe(200);
  return answer.json();
}

test("account, with credits held, shows what it has, what is held and what is left", async () => {
  const house = await aHouse(service);
  const { accountId } = house;
  const workflow = await aWorkflow(service.db, { accountId });
  await reserve(service.db, await anExecution(service.db, { workflow }));
  expect(await get(house, "account")).toEqual({
    ...{ accountId, name: `account ${accountId}`, contact: "ops@example.test" },
    ...{ balance: 1000, reserved: 3.001, available: 996.999 },
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
    const page = await get(house, `ledger?limit=2${cursor === "" ? "" : `&cursor=${String(cursor)}`}`);
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
  expect(await get(house, "ledger?limit=1")).toMatchObject({ entries: [{ amount: 1000 }], nextCursor: null });
});

test("ledger, of an execution that is not on record any more, keeps its charge", async () => {
  const house = await aHouse(service);
  const executionId = await spend(await aWorkflow(service.db, { accountId: house.accountId }), 5n);
  await queryRows(service.db, "delete from executions where id = :executionId", { executionId });
  const [entry] = (await get(house, "ledger"))["entries"] as object[];
  expect(entry).toMatchObject({ executionId, workflowId: null, workflowName: null, amount: -0.000005 });
});

test.each(["limit=0", "limit=201", "limit=x", "cursor=x", "cursor=-1", "cursor=0", `cursor=${"9".repeat(30)}`])(
  "ledger, with %s, is refused by name",
  async (query) => {
    const { viewer } = await aHouse(service);
    const answer = await ask(service, `/api/editor/ledger?${query}`, {}, viewer);
    expect([answer.status, answer.json()]).toMatchObject([400, { details: [{ input: query.split("=")[0] }] }]);
  },
);

test("spend, over days and workflows, adds up what executions cost on the day of UTC on which they ended", async () => {
  const house = await aHouse(service);
  const { accountId } = house;
  const [cheap, dear] = [
    await aWorkflow(service.db, { accountId, name: "cheap" }),
    await aWorkflow(service.db, { accountId, name: "dear" }),
  ];
  await aWorkflow(service.db, { accountId, name: "never run" });
  await spend(cheap, 1n, "2 days");
  for (let count = 0; count < 3; count += 1) await spend(dear, 100_000n, "1 day");
  await spend(dear, 200_000n, "2 days");
  await spend(dear, 7_000_000n, "3 days");
  await spend(await aWorkflow(service.db), 9n, "1 day");
  const { days, workflows } = (await get(house, "spend?days=3")) as { days: string[]; workflows: unknown[] };
  const today = new Date((days[2] as string) + "T00:00:00Z").getTime();
  expect(days).toEqual([2, 1, 0].map((ago) => new Date(today - ago * 86_400_000).toISOString().slice(0, 10)));
  expect(Math.abs(today - Date.now())).toBeLessThan(2 * 86_400_000);
  expect(workflows).toEqual([
    { workflowId: dear.workflowId, name: "dear", perDay: [0.2, 0.3, 0], total: 0.5 },
    { workflowId: cheap.workflowId, name: "cheap", perDay: [0.000001, 0, 0], total: 0.000001 },
  ]);
  expect(((await get(house, "spend")) as { days: string[] }).days).toHaveLength(30);
});

test.each(["days=0", "days=367", "days=1.5", "days=x"])("spend, with %s, is refused by name", async (query) => {
  const { viewer } = await aHouse(service);
  const answer = await ask(service, `/api/editor/spend?${query}`, {}, viewer);
  expect([answer.status, answer.json()]).toMatchObject([400, { details: [{ input: "days" }] }]);
});
