import { expect, test } from "@jest/globals";
import { MockActivityEnvironment } from "@temporalio/testing";
import { DefaultLogger } from "@temporalio/worker";
import { createCredits } from "../../activities/credits.ts";
import { queryRows } from "../../db/connect.ts";
import { claimAttempt, endAttempt } from "../../db/executions/attempts.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { findBalance, grant } from "../../db/ledger/credits.ts";
import { microCredits, type Prices } from "../../domain/credits.ts";
import type { AccountId, ExecutionId } from "../../domain/ids.ts";
import { createExecutionId } from "../../src/ids.ts";
import { findWaiting, holdAccount } from "../db/credits/given.ts";
import { anAccount, anExecution, aWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const PRICES: Prices = { perCpuSecond: microCredits(10_000), perExecution: microCredits(1_000) };
/** What the builder's execution may cost: 300 seconds of a core, and the fee. */
const CHARGE_MAX = 3_001_000n;
const GRANTED = 10_000_000n;

const { db } = await aFileDatabase();

/** An accepted execution of an account of its own, and the activities as a worker calls them. */
async function anAcceptedExecution(given: { credits?: bigint; cpu?: number; prices?: Prices } = {}) {
  const accountId = await anAccount(db, { microCredits: given.credits ?? GRANTED });
  const workflow = await aWorkflow(db, { accountId });
  const executionId = await anExecution(db, { workflow, cpu: given.cpu ?? 1 });
  const told: ExecutionId[] = [];
  const credits = createCredits({ db, prices: given.prices ?? PRICES, onEnded: (id) => told.push(id) });
  const call = <Input>(activity: (input: Input) => Promise<void>, input: Input): Promise<void> =>
    new MockActivityEnvironment(undefined, { logger: new DefaultLogger("ERROR") }).run(activity, input);
  return {
    accountId,
    executionId,
    told,
    reserve: (id = executionId) => call(credits.reserveCredits, { executionId: id }),
    settle: (bill: Omit<Parameters<typeof credits.settleCredits>[0], "executionId">) =>
      call(credits.settleCredits, { executionId, ...bill }),
    release: (cause: Parameters<typeof credits.releaseCredits>[0]["cause"], reason?: string) =>
      call(credits.releaseCredits, { executionId, cause, ...(reason === undefined ? {} : { reason }) }),
  };
}

async function findMoney(accountId: AccountId) {
  const balance = await findBalance(db, accountId);
  const settlements = await queryRows<{ amount: bigint }>(
    db,
    "select amount from ledger_entries where account_id = :accountId and kind = 'settlement'",
    { accountId },
  );
  return { balance: balance?.balance, reserved: balance?.reserved, settled: settlements.map((entry) => entry.amount) };
}

async function findCharge(executionId: ExecutionId) {
  const record = await findExecution(db, executionId);
  return record && { state: record.state, compute: record.chargeCompute, total: record.chargeTotal };
}

test("reserveCredits, called twice, holds the most the execution can cost once", async () => {
  const { accountId, reserve } = await anAcceptedExecution();
  await reserve();
  await reserve();
  expect(await findMoney(accountId)).toEqual({ balance: GRANTED, reserved: CHARGE_MAX, settled: [] });
});

test("reserveCredits, a micro-credit short, is refused with the type `insufficient_credits` each time and holds nothing", async () => {
  const { accountId, reserve } = await anAcceptedExecution({ credits: CHARGE_MAX - 1n });
  const refusal = { type: "insufficient_credits", nonRetryable: true };
  await expect(reserve()).rejects.toMatchObject(refusal);
  await expect(reserve()).rejects.toMatchObject(refusal);
  expect(await findMoney(accountId)).toMatchObject({ reserved: 0n });
});

test("reserveCredits, refused, says what was needed and what was available then, also in the record that is left", async () => {
  const { accountId, executionId, reserve, release } = await anAcceptedExecution({ credits: 2_500_000n });
  const words = "This execution needs 3.001 credits to begin, and the account had 2.5 available.";
  await expect(reserve()).rejects.toThrow(words);
  await grant(db, { accountId, amount: microCredits(GRANTED), reason: "too late for it" });
  await release("insufficient_credits");
  expect(await findExecution(db, executionId)).toMatchObject({ failure: "insufficient_credits", message: words });
});

test("reserveCredits and settleCredits, of 30 executions of one account at once, share statements", async () => {
  const accountId = await anAccount(db, { microCredits: CHARGE_MAX * 30n });
  const workflow = await aWorkflow(db, { accountId });
  const ids = await Promise.all(Array.from({ length: 30 }, () => anExecution(db, { workflow })));
  const credits = createCredits({ db, prices: PRICES, onEnded: () => undefined });
  const statements: string[] = [];
  const note = ({ sql }: { sql: string }): void => void statements.push(...(/(?:reserve|settle)_\w+/.exec(sql) ?? []));
  db.on("query", note);
  await Promise.all(ids.map((executionId) => credits.reserveCredits({ executionId, accountId })));
  expect(statements).toEqual(["reserve_credits"]);
  await Promise.all(
    ids.map((executionId) => credits.settleCredits({ executionId, status: "success", secondsUsed: 1 })),
  );
  db.removeListener("query", note);
  // Each bill is priced by a query of its own, so that they do not all come at the same moment.
  expect(statements.length).toBeLessThan(1 + 15);
  expect(await findMoney(accountId)).toMatchObject({ balance: CHARGE_MAX * 30n - 11_000n * 30n, reserved: 0n });
});

test("reserveCredits, cancelled by Temporal while it waits for its turn, ends at once and never holds", async () => {
  const { accountId, executionId } = await anAcceptedExecution();
  const workflow = await aWorkflow(db, { accountId });
  const first = await anExecution(db, { workflow });
  const credits = createCredits({ db, prices: PRICES, onEnded: () => undefined });
  const free = await holdAccount(db, accountId);
  const under = credits.reserveCredits({ executionId: first, accountId });
  await findWaiting(db, "reserve_credits");
  const environment = new MockActivityEnvironment(undefined, { logger: new DefaultLogger("ERROR") });
  const waiting = environment.run(credits.reserveCredits, { executionId, accountId });
  environment.cancel();
  await expect(waiting).rejects.toMatchObject({ name: "CancelledFailure" });
  await free();
  await under;
  expect(await findMoney(accountId)).toMatchObject({ reserved: CHARGE_MAX });
});

test("reserveCredits, of an execution that ended before its workflow asked, lets the workflow go on and holds nothing", async () => {
  const { accountId, reserve, settle } = await anAcceptedExecution();
  await reserve();
  await settle({ status: "success", secondsUsed: 1 });
  const before = await findMoney(accountId);
  await reserve();
  expect(await findMoney(accountId)).toEqual(before);
  expect(before).toMatchObject({ reserved: 0n });
});

test("reserveCredits, of an execution that was released before, is refused", async () => {
  const { accountId, reserve, release } = await anAcceptedExecution();
  await release("cancelled");
  await expect(reserve()).rejects.toMatchObject({ type: "internal", nonRetryable: true });
  expect(await findMoney(accountId)).toMatchObject({ reserved: 0n });
});

test("reserveCredits, with exactly what it can cost, holds all there is", async () => {
  const { accountId, reserve } = await anAcceptedExecution({ credits: CHARGE_MAX });
  await reserve();
  expect(await findMoney(accountId)).toMatchObject({ balance: CHARGE_MAX, reserved: CHARGE_MAX });
});

test("reserveCredits, arriving after the release, is refused with the type `internal` and holds nothing", async () => {
  const { accountId, reserve, release } = await anAcceptedExecution();
  await release("internal");
  await expect(reserve()).rejects.toMatchObject({ type: "internal", nonRetryable: true });
  expect(await findMoney(accountId)).toMatchObject({ reserved: 0n });
});

test("reserveCredits, of an execution that is not recorded, is refused with the type `internal`", async () => {
  const { reserve } = await anAcceptedExecution();
  await expect(reserve(createExecutionId())).rejects.toMatchObject({ type: "internal", nonRetryable: true });
});

test("settleCredits, called twice, charges once, exact to the micro-credit, and tells each time", async () => {
  const { accountId, executionId, told, reserve, settle } = await anAcceptedExecution({ cpu: 0.25 });
  await reserve();
  await settle({ status: "success", secondsUsed: 0.333 });
  await settle({ status: "success", secondsUsed: 0.333 });
  // 0.25 cores × 0.333 s × 10,000 = 832.5 micro-credits, half up; and the fee of 1,000.
  expect(await findCharge(executionId)).toEqual({ state: "success", compute: 833n, total: 1_833n });
  expect(await findMoney(accountId)).toEqual({ balance: GRANTED - 1_833n, reserved: 0n, settled: [-1_833n] });
  expect(told).toEqual([executionId, executionId]);
});

/** An attempt that ended, where no cgroup kept its program within its share of the processors. */
async function endMeasured(executionId: ExecutionId, secondsUsed: number, processorSeconds: number): Promise<void> {
  const claim = { executionId, hostId: "here", processId: "this", leaseSeconds: 60, lostMax: 3 };
  await claimAttempt(db, claim);
  const outcome = { status: "success", message: "", secondsUsed, processorSeconds } as const;
  await endAttempt(db, { ...claim, attempt: 1, outcome });
}

test("settleCredits, of a program that used more of the processors than agreed, charges what it used", async () => {
  const { executionId, reserve, settle } = await anAcceptedExecution({ cpu: 0.1 });
  await reserve();
  await endMeasured(executionId, 5, 4.41);
  await settle({ status: "success", secondsUsed: 5 });
  expect(await findCharge(executionId)).toEqual({ state: "success", compute: 44_100n, total: 45_100n });
});

test("settleCredits, of a program that used more of the processors than was reserved, charges what was", async () => {
  const { accountId, executionId, reserve, settle } = await anAcceptedExecution();
  await reserve();
  await endMeasured(executionId, 290, 500);
  await settle({ status: "success", secondsUsed: 290 });
  expect(await findCharge(executionId)).toEqual({ state: "success", compute: CHARGE_MAX - 1_000n, total: CHARGE_MAX });
  expect(await findMoney(accountId)).toEqual({ balance: GRANTED - CHARGE_MAX, reserved: 0n, settled: [-CHARGE_MAX] });
});

test("settleCredits, repeated with another bill, keeps the first", async () => {
  const { executionId, reserve, settle } = await anAcceptedExecution();
  await reserve();
  await settle({ status: "failed", secondsUsed: 1 });
  await settle({ status: "success", secondsUsed: 200 });
  expect(await findCharge(executionId)).toEqual({ state: "failed", compute: 10_000n, total: 11_000n });
});

test("settleCredits, after the prices rose, charges no more than was reserved", async () => {
  const prices: Prices = { perCpuSecond: microCredits(50_000), perExecution: microCredits(1_000) };
  const { accountId, executionId, reserve, settle } = await anAcceptedExecution({ prices });
  await reserve();
  await settle({ status: "success", secondsUsed: 299 });
  expect(await findCharge(executionId)).toEqual({ state: "success", compute: CHARGE_MAX, total: CHARGE_MAX });
  expect(await findMoney(accountId)).toEqual({ balance: GRANTED - CHARGE_MAX, reserved: 0n, settled: [-CHARGE_MAX] });
});

test("settleCredits, of a program stopped late, charges the seconds of its time-out and no more", async () => {
  const cheap: Prices = { perCpuSecond: microCredits(5_000), perExecution: microCredits(1_000) };
  const { executionId, reserve, settle } = await anAcceptedExecution({ prices: cheap });
  await reserve();
  await settle({ status: "timed_out", secondsUsed: 300.75 });
  expect(await findCharge(executionId)).toEqual({ state: "timed_out", compute: 1_500_000n, total: 1_501_000n });
});

test("settleCredits, of one cancelled before it ran, charges nothing", async () => {
  const { accountId, executionId, reserve, settle } = await anAcceptedExecution();
  await reserve();
  await settle({ status: "cancelled", secondsUsed: 0 });
  expect(await findCharge(executionId)).toEqual({ state: "cancelled", compute: 0n, total: 0n });
  expect(await findMoney(accountId)).toMatchObject({ balance: GRANTED, reserved: 0n });
});

test("settleCredits, of one cancelled while it ran, charges what it used", async () => {
  const { executionId, reserve, settle } = await anAcceptedExecution();
  await reserve();
  await settle({ status: "cancelled", secondsUsed: 0.2 });
  expect(await findCharge(executionId)).toEqual({ state: "cancelled", compute: 2_000n, total: 3_000n });
});

test("releaseCredits, called twice, frees once what was held, charges nothing, and tells each time", async () => {
  const { accountId, executionId, told, reserve, release } = await anAcceptedExecution();
  await reserve();
  await release("internal");
  await release("cancelled");
  expect(await findExecution(db, executionId)).toMatchObject({ state: "failed", failure: "internal", chargeTotal: 0n });
  expect(await findMoney(accountId)).toEqual({ balance: GRANTED, reserved: 0n, settled: [] });
  expect(told).toEqual([executionId, executionId]);
});

test.each([
  ["cancelled", { state: "cancelled", failure: null }],
  ["terminated", { state: "cancelled", failure: null }],
  ["insufficient_credits", { state: "failed", failure: "insufficient_credits" }],
  ["internal", { state: "failed", failure: "internal" }],
] as const)("releaseCredits, because of %s, ends the execution as that with a message", async (cause, end) => {
  const { executionId, release } = await anAcceptedExecution();
  await release(cause);
  expect(await findExecution(db, executionId)).toMatchObject({ ...end, message: expect.stringMatching(/\.$/) });
});

test("releaseCredits, after the settlement, changes nothing", async () => {
  const { accountId, executionId, reserve, settle, release } = await anAcceptedExecution();
  await reserve();
  await settle({ status: "success", secondsUsed: 1 });
  await release("internal");
  expect(await findExecution(db, executionId)).toMatchObject({ state: "success", failure: null, chargeTotal: 11_000n });
  expect(await findMoney(accountId)).toEqual({ balance: GRANTED - 11_000n, reserved: 0n, settled: [-11_000n] });
});

test("settleCredits, after the release, charges nothing", async () => {
  const { accountId, executionId, reserve, settle, release } = await anAcceptedExecution();
  await reserve();
  await release("cancelled");
  await settle({ status: "success", secondsUsed: 1 });
  expect(await findCharge(executionId)).toEqual({ state: "cancelled", compute: 0n, total: 0n });
  expect(await findMoney(accountId)).toEqual({ balance: GRANTED, reserved: 0n, settled: [] });
});

test("releaseCredits, of one that no host could begin, ends it as refused, says why and charges nothing", async () => {
  const { accountId, executionId, reserve, release } = await anAcceptedExecution();
  await reserve();
  await release("unable", "This host has no network.");
  expect(await findExecution(db, executionId)).toMatchObject({
    state: "failed",
    failure: "no_capacity",
    chargeTotal: 0n,
    message: "This host has no network. The program could not begin. Nothing was charged.",
  });
  expect(await findBalance(db, accountId)).toMatchObject({ balance: GRANTED, reserved: 0n });
});
