import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import { claimAttempt } from "../../db/executions/attempts.ts";
import { findExecution } from "../../db/executions/executions.ts";
import { findBalance, reserve, settle } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { aWorkflow } from "../support/builders.ts";
import { aFileService, execute, forgetExecutions, type Start, succeed, type TestServiceOptions } from "./service.ts";

let run: NonNullable<TestServiceOptions["run"]> = succeed;

const service = await aFileService({
  run: (db, start) => run(db, start),
});

afterEach(async () => {
  run = succeed;
  await forgetExecutions(service);
});

test("execute, when it cannot be started, answers 503, holds nothing and will not begin later", async () => {
  const workflow = await aWorkflow(service.db);
  run = async () => {
    throw new Error("Temporal cannot be reached.");
  };
  const answer = await execute(service, workflow);
  const executionId = answer.headers["x-execution-id"] as ExecutionId;
  expect([answer.status, answer.headers["retry-after"], answer.json()]).toEqual([
    503,
    "7",
    { error: "Service busy", message: expect.stringContaining("Nothing was charged"), executionId },
  ]);
  expect(await findExecution(service.db, executionId)).toMatchObject({
    state: "failed",
    failure: "no_capacity",
    chargeTotal: 0n,
  });
  expect(await reserve(service.db, executionId)).toEqual({ kind: "closed" });
  expect((await findBalance(service.db, workflow.accountId))?.reserved).toBe(0n);
});

test("execute, when the answer to the start is lost but it runs, waits for its end as usual", async () => {
  const workflow = await aWorkflow(service.db);
  run = async (db, { executionId }) => {
    await reserve(db, executionId);
    await claimAttempt(db, { executionId, hostId: "h", processId: "p", leaseSeconds: 20, lostMax: 3 });
    setTimeout(
      () =>
        void settle(db, {
          executionId,
          status: "success",
          secondsUsed: 1,
          compute: microCredits(1n),
          total: microCredits(2n),
        }),
      200,
    );
    throw new Error("The connection was lost.");
  };
  const answer = await execute(service, workflow);
  expect([answer.status, answer.json()["status"]]).toEqual([200, "success"]);
});

test("execute, when the caller leaves while it waits, lets the execution go on", async () => {
  const workflow = await aWorkflow(service.db);
  let go = (): void => undefined;
  const gone = new Promise<void>((resolve) => (go = resolve));
  run = async (db, start) => {
    void gone.then(() => succeed(db, start));
  };
  const caller = new AbortController();
  const answer = service.call(`/api/workflows/${workflow.workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": workflow.apiKey, "content-type": "application/json" },
    body: "{}",
    signal: caller.signal,
  });
  answer.catch(() => undefined);
  while (service.started.length === 0) await sleep(10);
  caller.abort();
  await expect(answer).rejects.toMatchObject({ name: "AbortError" });
  go();
  const { executionId } = service.started[0] as Start;
  for (let tries = 0; tries < 2_000 && (await findExecution(service.db, executionId))?.state !== "success"; tries += 1)
    await sleep(10);
  expect(await findExecution(service.db, executionId)).toMatchObject({ state: "success", chargeTotal: 51_000n });
});
