import { expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { claimAttempt, endAttempt } from "../../db/executions/attempts.ts";
import { findExecutionDetails } from "../../db/executions/details.ts";
import { finishAll } from "../../db/executions/endings.ts";
import { removeExecutions } from "../../db/executions/retention.ts";
import { reserve } from "../../db/ledger/credits.ts";
import type { Connection, Connections } from "../../domain/connections.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { anExecution, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";
import { age } from "./retained.ts";

const PROCESS = "proc_a";

const { db } = await aFileDatabase();

const to = (address: string, given: Partial<Connection> = {}): Connection => ({
  name: null,
  address,
  port: 443,
  protocol: "tcp",
  sentBytes: 100,
  receivedBytes: 200,
  refused: 0,
  ...given,
});
const connections = (...destinations: Connection[]): Connections => ({ destinations, more: null });
const outcome = (found: Connections | undefined) => {
  return { status: "success", message: "", secondsUsed: 1, connections: found } as const;
};

async function begin(workflow: TestWorkflow): Promise<ExecutionId> {
  const executionId = await anExecution(db, { workflow });
  await reserve(db, executionId);
  await claimAttempt(db, { executionId, hostId: "host", processId: PROCESS, leaseSeconds: 20, lostMax: 3 });
  return executionId;
}

const toEnding = (executionId: ExecutionId, found: Connections | undefined) => ({
  executionId,
  processId: PROCESS,
  outcome: outcome(found),
  files: [],
  logKey: null,
  logBytes: 0,
  objects: [],
  charge: { compute: microCredits(1n), total: microCredits(2n) },
});

async function look({ accountId }: TestWorkflow, executionId: ExecutionId) {
  const details = await findExecutionDetails(db, { accountId, executionId });
  return { found: details?.attempts.map((one) => one.connections), fresh: details?.newDestinations.toSorted() };
}

/** Runs a workflow that connects there, and returns which destinations were new. */
async function run(workflow: TestWorkflow, ...destinations: Connection[]): Promise<readonly string[] | undefined> {
  const executionId = await begin(workflow);
  expect(await finishAll(db, [toEnding(executionId, connections(...destinations))])).toEqual(["finished"]);
  return (await look(workflow, executionId)).fresh;
}

test("an ended attempt, both ways to end one, has what it connected to, and null where that was not seen", async () => {
  const workflow = await aWorkflow(db);
  const found = { ...connections(to("8.8.8.8")), more: { connections: 3, sentBytes: 1, receivedBytes: 2, refused: 4 } };
  const [one, other, blind] = [await begin(workflow), await begin(workflow), await begin(workflow)];
  expect(await finishAll(db, [toEnding(one, found), toEnding(blind, undefined)])).toEqual(["finished", "finished"]);
  await endAttempt(db, { executionId: other, attempt: 1, processId: PROCESS, outcome: outcome(found) });
  expect(await look(workflow, one)).toEqual({ found: [found], fresh: ["8.8.8.8:443/tcp"] });
  expect(await look(workflow, other)).toEqual({ found: [found], fresh: [] });
  expect(await look(workflow, blind)).toEqual({ found: [null], fresh: [] });
});

test("attempts of one execution, each with what it connected to, make its destinations new in it and in no later run", async () => {
  const workflow = await aWorkflow(db);
  const executionId = await anExecution(db, { workflow, attemptsMax: 2 });
  await reserve(db, executionId);
  const seen = [connections(to("8.8.8.8")), connections(to("8.8.8.8", { sentBytes: 7 }), to("8.8.4.4"))];
  for (const [index, found] of seen.entries()) {
    const attempt = index + 1;
    expect(
      await claimAttempt(db, { executionId, hostId: "host", processId: PROCESS, leaseSeconds: 20, lostMax: 3 }),
    ).toMatchObject({ kind: "claimed", work: { attempt } });
    const retries = { on: ["failed" as const], delaySeconds: 0, backoff: 1 };
    const ended = { ...outcome(found), status: attempt === 1 ? "failed" : "success" } as const;
    await endAttempt(db, { executionId, attempt, processId: PROCESS, outcome: ended, retries });
  }
  expect(await look(workflow, executionId)).toEqual({ found: seen, fresh: ["8.8.4.4:443/tcp", "8.8.8.8:443/tcp"] });
  expect(await run(workflow, to("8.8.8.8"), to("8.8.4.4"), to("1.1.1.1"))).toEqual(["1.1.1.1:443/tcp"]);
});

test("a destination, reached by the first run of a workflow, is new there and not in the runs after it", async () => {
  const [workflow, another] = [await aWorkflow(db), await aWorkflow(db)];
  const named = to("8.8.8.8", { name: "api.example.com" });
  expect(await run(workflow, named, to("9.9.9.9", { sentBytes: 0, refused: 1 }))).toEqual(["api.example.com:443/tcp"]);
  // The same by its name, at another address; a port and an address are others. What was refused was not reached.
  const next = [to("8.8.4.4", { name: "api.example.com" }), to("8.8.8.8", { port: 80 }), to("9.9.9.9")];
  expect(await run(workflow, ...next)).toEqual(["8.8.8.8:80/tcp", "9.9.9.9:443/tcp"]);
  expect(await run(workflow, ...next)).toEqual([]);
  expect(await run(another, named)).toEqual(["api.example.com:443/tcp"]);
});

test("a destination, when the last run that reached it is removed, is new again, and until then it is not", async () => {
  const workflow = await aWorkflow(db);
  const [first, second] = [await begin(workflow), await begin(workflow)];
  await finishAll(db, [toEnding(first, connections(to("8.8.8.8")))]);
  await db.raw("update known_destinations set seen_at = now() - interval '2 days'");
  await finishAll(db, [toEnding(second, connections(to("8.8.8.8")))]);
  const removeOld = async (id: ExecutionId) => {
    await db.raw("update execution_days_counted set until = now() + interval '1 day'");
    await age(db, id, { days: 400 });
    return removeExecutions(db, { days: 365, limit: 10 });
  };
  expect(await removeOld(first)).toBe(1);
  expect(await run(workflow, to("1.1.1.1"))).toEqual(["1.1.1.1:443/tcp"]);
  expect(await run(workflow, to("8.8.8.8"))).toEqual([]);
  expect(await removeOld(second)).toBe(1);
  expect(await run(workflow, to("8.8.8.8"))).toEqual(["8.8.8.8:443/tcp"]);
});

test("a workflow that connects to ever new destinations is remembered 1,000 of them, those that were reached last", async () => {
  const workflow = await aWorkflow(db);
  for (let round = 0; round < 11; round += 1)
    await run(workflow, ...Array.from({ length: 100 }, (_, n) => to(`20.0.${round}.${n}`)));
  const rows = await queryRows<{ count: number; first: string }>(
    db,
    `select cast(count(*) as int) as count, min(destination) as first from known_destinations where workflow_id = :workflowId`,
    { workflowId: workflow.workflowId },
  );
  expect(rows).toEqual([{ count: 1000, first: "20.0.1.0:443/tcp" }]);
});

test("ends of one workflow, at once and in any order, wait for no other's and find each destination new once", async () => {
  const workflow = await aWorkflow(db);
  const destinations = Array.from({ length: 50 }, (_, n) => to(`30.0.0.${n}`));
  const ids = await Promise.all(Array.from({ length: 24 }, () => begin(workflow)));
  const seen = ids.map((_, at) => connections(...(at % 2 ? destinations : destinations.toReversed())));
  const endings = ids.map((id, at) => toEnding(id, seen[at]));
  // Both ways to end an attempt. The one of several attempts locks nothing of the account that the others could wait for.
  await Promise.all([
    ...[0, 1, 2, 3, 4, 5].map((at) => finishAll(db, endings.slice(2 * at, 2 * at + 2))),
    ...ids
      .slice(12)
      .map((executionId, at) =>
        endAttempt(db, { executionId, attempt: 1, processId: PROCESS, outcome: outcome(seen[12 + at]) }),
      ),
  ]);
  const fresh = await Promise.all(ids.map(async (id) => (await look(workflow, id)).fresh ?? []));
  expect(fresh.flat().toSorted()).toEqual(destinations.map(({ address }) => `${address}:443/tcp`).toSorted());
});
