import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { createListener, queryRows } from "../../db/connect.ts";
import {
  type Acceptance,
  acceptExecution,
  type Conditions,
  type NewExecution,
  UNCONDITIONAL,
} from "../../db/executions/acceptance.ts";
import { claimAttempt } from "../../db/executions/attempts.ts";
import { EXECUTION_OFFERED, type Offer } from "../../db/executions/offers.ts";
import { findMoneyFaults } from "../../db/ledger/audit.ts";
import { findBalance, reserve, settle } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { createExecutionId } from "../../src/ids.ts";
import { anAccount, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";

const { db, address } = await aFileDatabase();

function accept(
  workflow: TestWorkflow,
  conditions: Partial<Conditions>,
  id: ExecutionId = createExecutionId(),
  lead: Pick<NewExecution, "headStart" | "claim" | "offeredTo"> = {},
): Promise<Acceptance> {
  return acceptExecution(
    db,
    {
      id,
      accountId: workflow.accountId,
      workflowId: workflow.workflowId,
      commitId: workflow.commitId,
      trigger: "api",
      inputs: { region: "EU" },
      secretInputs: Buffer.from("sealed"),
      timeoutSeconds: 1.5,
      cpu: 0.5,
      attemptsMax: 2,
      chargeMax: microCredits(7n),
      acceptedBy: "proc_test",
      files: ["one", "two"].map((fileName) => ({
        name: "orders",
        fileName,
        storageKey: `k/${fileName}`,
        bytes: 3,
        contentType: "text/csv",
        sha256: "0".repeat(64),
      })),
      ...lead,
    },
    { ...UNCONDITIONAL, ...conditions },
  );
}

/** So many, each on a connection of its own where there is one, counted by what became of them. */
async function race(
  count: number,
  act: () => Promise<Acceptance>,
): Promise<{ kinds: Record<string, number>; all: Acceptance[] }> {
  const all = await Promise.all(Array.from({ length: count }, act));
  const kinds: Record<string, number> = {};
  for (const { kind } of all) kinds[kind] = (kinds[kind] ?? 0) + 1;
  return { kinds, all };
}

test("acceptExecution, on no condition, records every value and the files in their order", async () => {
  const workflow = await aWorkflow(db);
  const id = createExecutionId();
  expect(await accept(workflow, {}, id)).toEqual({
    kind: "accepted",
    admitted: true,
    begun: false,
    recorded: false,
    rates: { key: null, account: null },
  });
  const [row] = await queryRows(
    db,
    `select account_id, workflow_id, commit_id, trigger, state, inputs, secret_inputs, timeout_seconds, cpu, attempts_max,
            charge_max, accepted_by, idempotency_key, fingerprint, limited, turn, admitted_at = created_at as at_once,
            (select jsonb_agg(jsonb_build_array(f.name, f.position, f.file_name, f.storage_key, f.bytes) order by f.position)
               from execution_files f where f.execution_id = e.id and f.direction = 'input') as files
       from executions e where id = :id`,
    { id },
  );
  expect(row).toEqual({
    account_id: workflow.accountId,
    workflow_id: workflow.workflowId,
    commit_id: workflow.commitId,
    trigger: "api",
    state: "queued",
    inputs: { region: "EU" },
    secret_inputs: Buffer.from("sealed"),
    timeout_seconds: 1.5,
    cpu: 0.5,
    attempts_max: 2,
    charge_max: 7n,
    accepted_by: "proc_test",
    idempotency_key: null,
    fingerprint: null,
    limited: false,
    turn: null,
    at_once: true,
    files: [
      ["orders", 0, "one", "k/one", 3],
      ["orders", 1, "two", "k/two", 3],
    ],
  });
});

test("acceptExecution, 60 at once with 4 that may be under way, accepts exactly 4", async () => {
  const workflow = await aWorkflow(db);
  const { kinds } = await race(60, () => accept(workflow, { concurrency: { executionsMax: 4, waitingMax: 0 } }));
  expect(kinds).toEqual({ accepted: 4, full: 56 });
});

test("acceptExecution, 60 at once with 4 that may be under way and 10 that may wait, gives each a turn of its own", async () => {
  const workflow = await aWorkflow(db);
  const { kinds, all } = await race(60, () => accept(workflow, { concurrency: { executionsMax: 4, waitingMax: 10 } }));
  expect(kinds).toEqual({ accepted: 14, full: 46 });
  expect(all.filter((each) => each.kind === "accepted" && each.admitted)).toHaveLength(4);
  const turns = await queryRows<{ turn: bigint }>(
    db,
    "select turn from executions where workflow_id = :id and admitted_at is null order by turn",
    { id: workflow.workflowId },
  );
  expect(turns.map(({ turn }) => Number(turn))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test("acceptExecution, 60 at once under one idempotency key, accepts one and names it to the others", async () => {
  const workflow = await aWorkflow(db);
  const rate = { perMinute: 1, burst: 3 };
  const conditions = {
    idempotency: { key: "k", fingerprint: Buffer.alloc(32) },
    rates: { key: { bucket: "key one", rate }, account: { bucket: "account one", rate } },
  };
  const { kinds, all } = await race(60, () => accept(workflow, conditions));
  expect(kinds).toEqual({ accepted: 1, known: 59 });
  const [execution] = await queryRows<{ id: ExecutionId }>(db, "select id from executions where workflow_id = :id", {
    id: workflow.workflowId,
  });
  const named = all.flatMap((each) => (each.kind === "known" ? [each.executionId] : []));
  expect(new Set(named)).toEqual(new Set([execution?.id]));
  const next = await accept(workflow, { rates: conditions.rates });
  expect(next.rates.key).toMatchObject({ remaining: 1 });
  expect(next.rates.account).toMatchObject({ remaining: 1 });
});

test("acceptExecution, 60 at once with a burst of 7, accepts exactly 7, and a refusal by one limit takes nothing of the other", async () => {
  const workflow = await aWorkflow(db);
  const rates = {
    key: { bucket: "key two", rate: { perMinute: 1, burst: 50 } },
    account: { bucket: "account two", rate: { perMinute: 1, burst: 7 } },
  };
  const { kinds, all } = await race(60, () => accept(workflow, { rates }));
  expect(kinds).toEqual({ accepted: 7, rate_limited: 53 });
  const refused = all.filter((each) => each.kind === "rate_limited");
  for (const { rates: state } of refused) expect(state.account?.remaining).toBe(0);
  expect((await accept(workflow, { rates: { ...rates, account: null } })).rates.key?.remaining).toBe(42);
});

test("an execution whose key was given back, and the one that has it now, are both on record under it", async () => {
  const workflow = await aWorkflow(db);
  const conditions = { idempotency: { key: "k", fingerprint: Buffer.alloc(32) } };
  const id = createExecutionId();
  await accept(workflow, conditions, id);
  await queryRows(
    db,
    "update executions set state = 'failed', failure = 'insufficient_credits', finished_at = now() where id = :id",
    { id },
  );
  expect((await accept(workflow, conditions)).kind).toBe("accepted");
  expect((await accept(workflow, conditions)).kind).toBe("known");
});

const LEAD = { headStart: true, claim: { hostId: "host_here", leaseSeconds: 20 } };

const describeBegun = async (id: ExecutionId): Promise<unknown> =>
  (
    await queryRows(
      db,
      `select e.state, e.started_at is not null as started, r.state as reservation, r.amount, a.host_id as host, a.process_id as process,
              a.lease_until > now() + interval '15 seconds' as leased, (select count(*)::int from workflow_starts s where s.execution_id = e.id) as starts
         from executions e left join reservations r on r.execution_id = e.id left join attempts a on a.execution_id = e.id
        where e.id = :id`,
      { id },
    )
  )[0];

test("acceptExecution, with a claim, reserves the credits, opens the first attempt and notes the start, all at once", async () => {
  const workflow = await aWorkflow(db, { accountId: await anAccount(db, { microCredits: 10n }) });
  const id = createExecutionId();
  expect(await accept(workflow, {}, id, LEAD)).toMatchObject({ kind: "accepted", admitted: true, begun: true });
  expect(await describeBegun(id)).toEqual({
    state: "running",
    started: true,
    reservation: "open",
    amount: 7n,
    host: "host_here",
    process: "proc_test",
    leased: true,
    starts: 1,
  });
  const claim = { executionId: id, hostId: "host_here", processId: "proc_test", leaseSeconds: 20, lostMax: 3 };
  expect(await claimAttempt(db, claim)).toEqual({ kind: "busy" });
  // What the next process of that host finds after a crash.
  expect(await claimAttempt(db, { ...claim, processId: "proc_next" })).toMatchObject({
    kind: "claimed",
    work: { attempt: 2, previous: { message: "The worker was lost." } },
  });
});

test("acceptExecution, with a claim and too few credits, records it and its start, and opens no attempt", async () => {
  const workflow = await aWorkflow(db, { accountId: await anAccount(db, { microCredits: 10n }) });
  await accept(workflow, {}, createExecutionId(), LEAD);
  const id = createExecutionId();
  expect(await accept(workflow, {}, id, LEAD)).toMatchObject({ kind: "accepted", admitted: true, begun: false });
  expect(await describeBegun(id)).toMatchObject({
    state: "queued",
    started: false,
    reservation: null,
    host: null,
    starts: 1,
  });
  expect(await reserve(db, id)).toEqual({ kind: "insufficient_credits" });
});

test("acceptExecution, with a claim and the key of another, begins nothing", async () => {
  const workflow = await aWorkflow(db, { accountId: await anAccount(db, { microCredits: 100n }) });
  const idempotency = { key: "once", fingerprint: Buffer.from("f") };
  const [first, second] = [createExecutionId(), createExecutionId()];
  expect(await accept(workflow, { idempotency }, first, LEAD)).toMatchObject({ kind: "accepted", begun: true });
  expect(await accept(workflow, { idempotency }, second, LEAD)).toMatchObject({ kind: "known", executionId: first });
  expect(await describeBegun(second)).toBeUndefined();
});

test("acceptExecution, offered to a host, tells of it once it is recorded; one that repeats another or waits for its turn is not offered", async () => {
  const workflow = await aWorkflow(db, { accountId: await anAccount(db, { microCredits: 100n }) });
  const session = createListener(address, "test offers");
  await session.connect();
  const offers: Offer[] = [];
  session.on("notification", ({ payload }) => offers.push(JSON.parse(payload ?? "") as Offer));
  try {
    await session.query(`listen ${EXECUTION_OFFERED}`);
    const offer = { headStart: true, offeredTo: "host_there" };
    const idempotency = { key: "once", fingerprint: Buffer.from("f") };
    const id = createExecutionId();
    await accept(workflow, { idempotency }, id, offer);
    await accept(workflow, { idempotency }, createExecutionId(), offer);
    const full = { concurrency: { executionsMax: 1, waitingMax: 5 } };
    expect(await accept(workflow, full, createExecutionId(), offer)).toMatchObject({ admitted: false });
    await queryRows(db, `select pg_notify('${EXECUTION_OFFERED}', '{}')`);
    while (JSON.stringify(offers.at(-1)) !== "{}") await sleep(10);
    const { accountId } = workflow;
    expect(offers).toEqual([{ executionId: id, accountId, hostId: "host_there", atOnce: true }, {}]);
  } finally {
    await session.end();
  }
});

test("acceptances with a claim, among ends of the same account, wait for none in a circle, and the money adds up", async () => {
  const accountId = await anAccount(db, { microCredits: 1_000n });
  const workflows = await Promise.all([aWorkflow(db, { accountId }), aWorkflow(db, { accountId })]);
  const run = async (at: number): Promise<void> => {
    const id = createExecutionId();
    const workflow = workflows[at % 2] as TestWorkflow;
    expect(await accept(workflow, {}, id, LEAD)).toMatchObject({ begun: true });
    const [compute, total] = [microCredits(1n), microCredits(2n)];
    await settle(db, { executionId: id, status: "success", secondsUsed: 1, compute, total });
  };
  await Promise.all(Array.from({ length: 40 }, (_, at) => run(at)));
  expect(await findBalance(db, accountId)).toMatchObject({ balance: 920n, reserved: 0n });
  expect(await findMoneyFaults(db)).toEqual([]);
});
