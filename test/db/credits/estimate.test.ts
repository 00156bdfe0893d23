import { expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { reserve, settle } from "../../../db/ledger/credits.ts";
import { findCostEstimate } from "../../../db/ledger/estimate.ts";
import { createWorkflowId } from "../../../src/ids.ts";
import { aFileDatabase } from "../../support/file-database.ts";
import { aBill, anAccountWith } from "./given.ts";

const { db } = await aFileDatabase();

/** A workflow whose executions ended, one after the other, with these charges. */
async function aWorkflowThatCost(charges: readonly bigint[], status: "success" | "failed" = "success") {
  const { workflowId, ids } = await anAccountWith(db, { credits: 1_000_000n, charges: charges.map(() => 1_000n) });
  for (const [index, id] of ids.entries()) {
    await reserve(db, id);
    await settle(db, { ...aBill(id, charges[index] as bigint), status });
  }
  return workflowId;
}

test("findCostEstimate, of a workflow's successful executions, answers the median and what 95 of 100 did not exceed", async () => {
  const charges = Array.from({ length: 20 }, (_, index) => BigInt(20 - index) * 10n);
  const workflowId = await aWorkflowThatCost(charges);
  expect(await findCostEstimate(db, workflowId)).toEqual({ executions: 20, median: 100n, p95: 190n });
});

test("findCostEstimate, when costs have changed, looks at the last executions only", async () => {
  const workflowId = await aWorkflowThatCost([900n, 900n, 900n, 10n, 20n, 30n]);
  expect(await findCostEstimate(db, workflowId, 3)).toEqual({ executions: 3, median: 20n, p95: 30n });
});

test("findCostEstimate, without a successful execution, has none", async () => {
  expect(await findCostEstimate(db, createWorkflowId())).toBeUndefined();
  expect(await findCostEstimate(db, await aWorkflowThatCost([500n], "failed"))).toBeUndefined();
});

/** The statement that a function sends, its values written into it. */
async function captureStatement(act: () => Promise<unknown>): Promise<string> {
  let statement = "";
  const keep = ({ sql, bindings }: { sql: string; bindings: readonly unknown[] }): void => {
    statement = bindings.reduce<string>(
      (text, value, index) => text.replace(`$${index + 1}`, `'${String(value)}'`),
      sql,
    );
  };
  db.on("query", keep);
  await act();
  db.removeListener("query", keep);
  return statement;
}

test("findCostEstimate, however many executions there are, reads an index and no row of the table", async () => {
  const workflowId = await aWorkflowThatCost([1n]);
  const statement = await captureStatement(() => findCostEstimate(db, workflowId));
  const transaction = await db.transaction();
  await transaction.raw("set local enable_seqscan = off");
  await transaction.raw("set local enable_bitmapscan = off");
  const plan = await queryRows<{ "QUERY PLAN": string }>(transaction, `explain ${statement}`);
  await transaction.rollback();
  expect(plan.map((row) => row["QUERY PLAN"]).join("\n")).toContain("Index Only Scan using executions_costs");
});
