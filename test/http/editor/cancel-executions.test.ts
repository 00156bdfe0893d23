import { expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { createExecutionId } from "../../../src/ids.ts";
import { anExecution, aWorkflow } from "../../support/builders.ts";
import { aFileService, anEndedExecution } from "../service.ts";
import { aHouse, ask } from "./people.ts";

const service = await aFileService();

test("cancelling several, some of which have ended or are others', says what became of each", async () => {
  const house = await aHouse(service);
  const { accountId, member } = house;
  const workflow = await aWorkflow(service.db, { accountId });
  const open = [await anExecution(service.db, { workflow }), await anExecution(service.db, { workflow })];
  const ended = await anEndedExecution(service, workflow);
  const foreign = await anExecution(service.db, { workflow: await aWorkflow(service.db) });
  const nobodys = createExecutionId();
  const executionIds = [open[0], ended, foreign, open[1], nobodys, open[0]];
  const answer = await ask(service, "/api/executions/cancel", { json: { executionIds } }, member);
  expect([answer.status, answer.json()]).toEqual([
    200,
    { cancelled: open, ended: [ended], unknown: [foreign, nobodys] },
  ]);
  expect(service.cancelled.map(({ executionId, by }) => `${executionId} ${by}`).sort()).toEqual(
    open.map((id) => `${id} ${member.email}`).sort(),
  );
  const asked = await queryRows(
    service.db,
    "select id from executions where cancel_requested_at is not null and id = any(cast(:ids as text[]))",
    { ids: [foreign, ended, ...open] },
  );
  expect(asked).toHaveLength(2);
});

test("cancelling one that waits for its turn ends it", async () => {
  const house = await aHouse(service);
  const workflow = await aWorkflow(service.db, { accountId: house.accountId });
  const id = await anExecution(service.db, { workflow });
  await queryRows(service.db, "update executions set admitted_at = null, turn = 1, limited = true where id = :id", {
    id,
  });
  await ask(service, "/api/executions/cancel", { json: { executionIds: [id] } }, house.member);
  const listed = await ask(service, "/api/executions", {}, house.viewer);
  expect(listed.json()).toMatchObject({ executions: [{ executionId: id, status: "cancelled" }] });
});

test.each([
  ["none", { executionIds: [] }],
  ["too many", { executionIds: Array.from({ length: 101 }, () => createExecutionId()) }],
  ["no ids", { executionIds: ["all"] }],
  ["something else", { ids: [] }],
])("cancelling several, with %s, is refused and cancels nothing", async (_name, json) => {
  const { member } = await aHouse(service);
  const before = service.cancelled.length;
  const answer = await ask(service, "/api/executions/cancel", { json }, member);
  expect([answer.status, service.cancelled.length]).toEqual([400, before]);
});
