import { expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { acceptExecution } from "../../../db/executions/acceptance.ts";
import { microCredits } from "../../../domain/credits.ts";
import type { CommitId, ExecutionId } from "../../../domain/ids.ts";
import { createExecutionId } from "../../../src/ids.ts";
import {
  aCommit,
  anExecution,
  anInput,
  aWorkflow,
  TEST_SECRET_BOX,
  type TestMember,
  type TestWorkflow,
} from "../../support/builders.ts";
import { aFileService, anEndedExecution, succeed } from "../service.ts";
import { aHouse, ask, findLeaks, type House } from "./people.ts";

interface Listed {
  readonly executionId: string;
  readonly workflowName: string;
  readonly status: string;
  readonly message: string;
}

const progress = { fraction: 0.5, message: "half" };

const service = await aFileService({
  liveProgress: () => progress,
  temporalUiUrl: "http://localhost:8233/",
  temporalNamespace: "treadle",
});

async function list(who: TestMember, query = ""): Promise<{ executions: Listed[]; nextCursor: string | null }> {
  const answer = await ask(service, `/api/executions${query}`, {}, who);
  expect([answer.status, answer.status === 200 ? "" : answer.text()]).toEqual([200, ""]);
  return answer.json() as unknown as { executions: Listed[]; nextCursor: string | null };
}

async function listIds(who: TestMember, query = ""): Promise<string[]> {
  return (await list(who, query)).executions.map(({ executionId }) => executionId);
}

/** An execution that was accepted then, in this state. */
async function given(
  workflow: TestWorkflow,
  more: {
    at?: string;
    state?: string;
    trigger?: "api" | "form" | "schedule";
    message?: string;
    commitId?: CommitId;
  } = {},
): Promise<ExecutionId> {
  const { at = "2026-05-01T10:00:00Z", state = "queued", trigger = "api", message = "" } = more;
  const of = more.commitId === undefined ? workflow : { ...workflow, commitId: more.commitId };
  const id = await anExecution(service.db, { workflow: of, trigger });
  const hasEnded = state !== "queued" && state !== "running";
  await queryRows(
    service.db,
    `update executions set created_at = :at, state = :state, message = :message,
            finished_at = case when :hasEnded then cast(:at as timestamptz) + interval '1 second' end where id = :id`,
    { id, at, state, message, hasEnded },
  );
  return id;
}

/** Executions of two workflows, the newest first, each different in every way that can be asked for. */
async function aHistory(house: House) {
  const { accountId } = house;
  const daily = await aWorkflow(service.db, { accountId, name: "Daily report" });
  const import_ = await aWorkflow(service.db, { accountId, name: "Import of orders" });
  const older = daily.commitId;
  const newer = await aCommit(service.db, {
    workflowId: daily.workflowId,
    parentId: older,
    manifest: daily.manifest,
  });
  const ids = [
    await given(daily, { at: "2026-05-04T10:00:00Z", commitId: newer, state: "running", trigger: "form" }),
    await given(import_, { at: "2026-05-03T10:00:00Z", state: "failed", message: "Column PRICE is missing." }),
    await given(daily, { at: "2026-05-02T10:00:00Z", state: "success", trigger: "schedule" }),
    await given(import_, { at: "2026-05-01T10:00:00Z", state: "success" }),
  ];
  return { ids, daily, orders: import_, older, newer };
}

test("executions, asked for with each filter, are those that it fits, the newest first", async () => {
  const house = await aHouse(service);
  const { ids, daily, orders, older, newer } = await aHistory(house);
  const [a, b, c, d] = ids as string[] as [string, string, string, string];
  await given(await aWorkflow(service.db));
  const { viewer } = house;
  const cases: [string, string[]][] = [
    ["", [a, b, c, d]],
    [`?workflow=${daily.workflowId}`, [a, c]],
    [`?workflow=${daily.workflowId}&commit=${older}`, [c]],
    [`?workflow=${daily.workflowId}&commit=${newer}&state=running`, [a]],
    [`?workflow=${daily.workflowId}&commit=${older.slice(0, 12)}`, [c]],
    [`?workflow=${orders.workflowId}&commit=${older.slice(0, 12)}`, []],
    [`?workflow=${orders.workflowId}&state=failed`, [b]],
    [`?workflow=${daily.workflowId}&state=failed`, []],
    ["?state=success", [c, d]],
    ["?state=success&trigger=schedule", [c]],
    ["?state=running", [a]],
    ["?trigger=api", [b, d]],
    ["?trigger=form", [a]],
    [`?trigger=form&workflow=${orders.workflowId}`, []],
    ["?from=2026-05-02T10:00:00Z", [a, b, c]],
    ["?to=2026-05-02T10:00:00Z", [d]],
    ["?from=2026-05-02T12:00:00%2B02:00&to=2026-05-03T10:00:00.001Z", [b, c]],
    ["?text=daily", [a, c]],
    ["?text=price+is", [b]],
    ["?text=100%25", []],
    [`?text=${a.toUpperCase()}`, [a]],
    [`?text=${b.slice(0, 28)}&state=failed`, [b]],
    ["?workflow=&state=&trigger=&from=&to=&text=&commit=", [a, b, c, d]],
  ];
  for (const [query, expected] of cases) expect([query, await listIds(viewer, query)]).toEqual([query, expected]);
});

test("executions, asked for by the beginning of two commits, are refused by name until more of it is written", async () => {
  const house = await aHouse(service);
  const { workflowId, commitId, manifest } = await aWorkflow(service.db, { accountId: house.accountId });
  const ids = ["0", "1"].map((digit) => `deadbeef${digit.repeat(32)}` as CommitId);
  let parentId = commitId;
  for (const id of ids) parentId = await aCommit(service.db, { workflowId, parentId, manifest, id });
  const query = `/api/executions?workflow=${workflowId}&commit=`;
  const refused = await ask(service, `${query}deadbeef`, {}, house.viewer);
  expect([refused.status, refused.json()]).toMatchObject([400, { details: [{ input: "commit" }] }]);
  expect((await ask(service, `${query}deadbeef1`, {}, house.viewer)).status).toBe(200);
});

test("executions, in the list, say what became of them", async () => {
  const house = await aHouse(service);
  const { ids, orders } = await aHistory(house);
  const executionId = await anEndedExecution(service, orders);
  const { executions, nextCursor } = await list(house.viewer);
  expect(nextCursor).toBeNull();
  expect(executions.map(({ status, workflowName, message }) => [status, workflowName, message])).toEqual([
    ["success", "Import of orders", ""],
    ["running", "Daily report", ""],
    ["failed", "Import of orders", "Column PRICE is missing."],
    ["success", "Daily report", ""],
    ["success", "Import of orders", ""],
  ]);
  const time = expect.stringMatching(/^\d{4}-.*Z$/);
  expect(executions[0]).toEqual({
    executionId,
    workflowId: orders.workflowId,
    workflowName: "Import of orders",
    status: "success",
    trigger: "api",
    draft: false,
    commitId: orders.commitId,
    createdAt: time,
    startedAt: null,
    finishedAt: time,
    duration: 1.234,
    cost: 0.051,
    message: "",
    failure: null,
  });
  expect(executions[1]).toMatchObject({ executionId: ids[0], finishedAt: null, duration: null, cost: null });
});

test("executions, page by page while others are added, come once each and none is left out", async () => {
  const house = await aHouse(service);
  const workflow = await aWorkflow(service.db, { accountId: house.accountId });
  const before: string[] = [];
  // Several of one microsecond: the id decides among them.
  for (let count = 0; count < 11; count += 1)
    before.push(await given(workflow, { at: `2026-05-01T10:00:00.00000${Math.floor(count / 4)}Z` }));
  const seen: string[] = [];
  let cursor: string | null = "";
  for (let pages = 0; cursor !== null && pages < 20; pages += 1) {
    const page = await list(house.viewer, `?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`);
    seen.push(...page.executions.map(({ executionId }) => executionId));
    cursor = page.nextCursor;
    await given(workflow, { at: new Date().toISOString() });
  }
  expect(seen).toHaveLength(11);
  expect([...seen].sort()).toEqual([...before].sort());
});

test.each(
  [
    ["limit=0", "limit=201", "cursor=x", "state=done", "trigger=cron", "from=yesterday", "to=2026-13-01T00:00:00Z"],
    ["workflow=x", "commit=abc", `commit=${"a".repeat(40)}`, `text=${"a".repeat(201)}`, "from=-000001-01-01T00:00:00Z"],
  ].flat(),
)("executions, asked for with %s, are refused by name", async (query) => {
  const { viewer } = await aHouse(service);
  const answer = await ask(service, `/api/executions?${query}`, {}, viewer);
  expect([answer.status, answer.json()]).toMatchObject([400, { details: [{ input: query.split("=")[0] }] }]);
});

test("a record in full, of an ended execution, has its inputs without secrets, its files, attempts and addresses", async () => {
  const house = await aHouse(service);
  const workflow = await aWorkflow(service.db, {
    accountId: house.accountId,
    name: "Report",
    inputs: [anInput("string", "region"), anInput("secret", "password"), anInput("string", "area")],
  });
  const { workflowId, commitId, accountId } = workflow;
  const id = createExecutionId();
  const secret = "correct horse battery";
  const file = { name: "orders", storageKey: "k", bytes: 4, sha256: "0".repeat(64), contentType: "text/csv" };
  await acceptExecution(service.db, {
    id,
    accountId,
    workflowId,
    commitId,
    trigger: "form",
    inputs: { area: "north", region: "EU" },
    secretInputs: TEST_SECRET_BOX.seal(JSON.stringify({ password: secret }), id),
    timeoutSeconds: 300,
    cpu: 2,
    attemptsMax: 3,
    chargeMax: microCredits(3_001_000n),
    acceptedBy: "proc_test",
    files: [
      { ...file, fileName: "a.csv" },
      { ...file, fileName: "b.csv" },
    ],
  });
  await queryRows(
    service.db,
    `insert into attempts (execution_id, attempt, host_id, process_id, lease_until, started_at, ended_at, status, message,
                           seconds_used, peak_memory_bytes, used_processor_seconds)
     values (:id, 1, 'h', 'p', now(), '2026-05-01T10:00:00Z', '2026-05-01T10:00:02Z', 'failed', 'no', 2, 91000000, 0.5),
            (:id, 2, 'h', 'p', now(), '2026-05-01T10:00:03Z', '2026-05-01T10:00:04Z', 'success', '', 1, null, null)`,
    { id },
  );
  const under = (await ask(service, `/api/executions/${id}`, {}, house.viewer)).json();
  expect(under).toMatchObject({ status: "queued", duration: null, progress, queuePosition: null });
  await queryRows(
    service.db,
    "update executions set cancel_requested_at = now(), cancel_requested_by = 'ada' where id = :id",
    { id },
  );
  await succeed(service.db, { executionId: id });
  const answer = await ask(service, `/api/executions/${id}`, {}, house.viewer);
  expect(answer.text()).not.toContain(secret);
  const csv = { bytes: 4, contentType: "text/csv" };
  expect(answer.json()).toMatchObject({
    executionId: id,
    workflowId,
    workflowName: "Report",
    status: "success",
    trigger: "form",
    draft: false,
    commitId,
    duration: 1.234,
    message: "",
    failure: null,
    cost: { compute: 0.05, total: 0.051, atMost: 3.001 },
    inputs: { region: "EU", password: "•••", area: "north" },
    inputFiles: [
      { input: "orders", position: 0, fileName: "a.csv", ...csv },
      { input: "orders", position: 1, fileName: "b.csv", ...csv },
    ],

    outputs: {},
    files: [],
    limits: { timeoutSeconds: 300, memoryBytes: 512_000_000, cpu: 2, attemptsMax: 3 },
    progress: null,
    attempts: [
      {
        attempt: 1,
        startedAt: "2026-05-01T10:00:00.000Z",
        endedAt: "2026-05-01T10:00:02.000Z",
        status: "failed",
        message: "no",
        secondsUsed: 2,
        peakMemoryBytes: 91_000_000,
        processorSeconds: 0.5,
      },
      { attempt: 2, status: "success", peakMemoryBytes: null, processorSeconds: null, connections: null },
    ],
    estimate: { credits: 0.051, basedOn: 1 },
    queuePosition: null,
    logBytes: 0,
    temporalUrl: `http://localhost:8233/namespaces/treadle/workflows/${id}`,
    cancelRequestedAt: expect.stringMatching(/Z$/),
    cancelRequestedBy: "ada",
    filesRemovedAt: null,
    logRemovedAt: null,
  });
  // Digits and the order of keys as they were sent, in the answer and for clients that would change them.
  const sent = '{"z": 9007199254740993, "1": 1.0}';
  const exact = await anExecution(service.db, {
    workflow: { ...workflow, commitId },
    inputs: { region: { z: 1 }, area: "north" },
    inputTexts: { region: sent },
  });
  const shown = await ask(service, `/api/executions/${exact}`, {}, house.viewer);
  expect(shown.headers["content-type"]).toBe(answer.headers["content-type"]);
  expect(shown.text()).toContain(`"inputs":{"region":${sent},"area":"north"},`);
  expect(shown.json()["inputTexts"]).toEqual({ region: sent });
  // As the manifest declares them.
  expect(Object.keys(answer.json()["inputs"] as object)).toEqual(["region", "password", "area"]);
  expect(await findLeaks(service, [secret])).toEqual([]);
});

test("a record in full, of an execution with outputs, has addresses at which they are read", async () => {
  const house = await aHouse(service);
  const workflow = await aWorkflow(service.db, { accountId: house.accountId });
  const id = await anEndedExecution(service, workflow, { outputs: { "a b.txt": { content: "hello" } } });
  const record = (await ask(service, `/api/executions/${id}`, {}, house.viewer)).json();
  const [file] = record["files"] as { url: string; fileName: string; bytes: number }[];
  expect(file).toMatchObject({ fileName: "a b.txt", bytes: 5 });
  expect(record["outputs"]).toEqual({ "output 0": file?.url });
  const path = new URL(file?.url ?? "").pathname;
  expect((await ask(service, path, {}, house.viewer)).text()).toBe("hello");
});

test("executions of others, by any way to them, are as unknown", async () => {
  const [house, stranger] = [await aHouse(service), await aHouse(service)];
  const { ids, daily, older } = await aHistory(house);
  for (const query of [
    "",
    `?workflow=${daily.workflowId}`,
    `?text=${ids[0]}`,
    `?workflow=${daily.workflowId}&commit=${older}`,
  ])
    expect(await listIds(stranger.owner, query)).toEqual([]);
  for (const id of [ids[0], createExecutionId(), "x"]) {
    const answer = await ask(service, `/api/executions/${id}`, {}, stranger.owner);
    expect([answer.status, answer.json()]).toEqual([
      404,
      { error: "Not found", message: "There is no execution with this id." },
    ]);
  }
});
