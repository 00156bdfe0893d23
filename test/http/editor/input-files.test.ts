import { createHash } from "node:crypto";
import { beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../../db/connect.ts";
import { claimAttempt } from "../../../db/executions/attempts.ts";
import { finishAll } from "../../../db/executions/endings.ts";
import { reserve } from "../../../db/ledger/credits.ts";
import type { Connection } from "../../../domain/connections.ts";
import { microCredits } from "../../../domain/credits.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { createExecutionId } from "../../../src/ids.ts";
import { anExecution, anInput, aWorkflow, type TestWorkflow } from "../../support/builders.ts";
import { aForm } from "../../support/https.ts";
import { aFileService } from "../service.ts";
import { aHouse, ask, type House } from "./people.ts";

const PAGE = "<script>document.title = 'owned'</script>";
const ORDERS = "0123456789";
const NOT_FOUND = { error: "Not found", message: expect.stringContaining("no execution with this id") };

let house: House;

const service = await aFileService();

beforeAll(async () => {
  house = await aHouse(service);
});

/** An execution by a program that gave it files, each of a type that a browser would like to show; answers where they are. */
async function aRun(): Promise<{ executionId: string; path: string }> {
  const inputs = [anInput("file", "orders"), anInput("file_list", "extras", { required: false })];
  const workflow = await aWorkflow(service.db, { accountId: house.accountId, inputs });
  const form = aForm([
    { name: "orders", fileName: "größe.csv", content: ORDERS, contentType: "text/csv" },
    { name: "extras", fileName: "page.html", content: PAGE, contentType: "text/html" },
    { name: "extras", fileName: "paper.pdf", content: "%PDF-1.4", contentType: "application/pdf" },
  ]);
  const answer = await service.call(`/api/workflows/${workflow.workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": workflow.apiKey, ...form.headers },
    body: form.body,
  });
  expect(answer.status).toBe(200);
  const executionId = String(answer.json()["executionId"]);
  return { executionId, path: `/api/executions/${executionId}/inputs` };
}

test("input files, read by a viewer of the account, come as they were given, to be kept and not to be shown", async () => {
  const { path } = await aRun();
  const orders = await ask(service, `${path}/orders/0`, {}, house.viewer);
  expect([orders.status, orders.text()]).toEqual([200, ORDERS]);
  expect(orders.headers).toMatchObject({
    "content-length": "10",
    "content-type": "text/csv",
    etag: `"${createHash("sha256").update(ORDERS).digest("hex")}"`,
    "content-disposition": `attachment; filename="gr__e.csv"; filename*=UTF-8''gr%C3%B6%C3%9Fe.csv`,
  });
  for (const [position, fileName] of ["page.html", "paper.pdf"].entries()) {
    const { status, headers } = await ask(service, `${path}/extras/${position}`, {}, house.viewer);
    expect([status, headers]).toMatchObject([
      200,
      {
        "content-disposition": `attachment; filename="${fileName}"`,
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
        "cache-control": "private, no-cache",
      },
    ]);
  }
});

test("input files, read in part, again or by token, are as output files are", async () => {
  const { path } = await aRun();
  const file = `${path}/orders/0`;
  const part = await ask(service, file, { headers: { range: "bytes=4-" } }, house.member);
  expect([part.status, part.text(), part.headers["content-range"]]).toEqual([206, "456789", "bytes 4-9/10"]);
  const known = { "if-none-match": String(part.headers["etag"]) };
  expect((await ask(service, file, { headers: known }, house.member)).status).toBe(304);
  expect((await ask(service, file, { headers: { range: "bytes=10-" } }, house.member)).status).toBe(416);
  const headers = { authorization: `Bearer ${house.viewer.token}` };
  const head = await service.call(file, { method: "HEAD", headers });
  expect([head.status, head.text(), head.headers["content-length"]]).toEqual([200, "", "10"]);
});

test("input files, that there are not, or of another account, answer 404 and say no more", async () => {
  const { path, executionId } = await aRun();
  const stranger = await aHouse(service);
  const strange = await ask(service, `${path}/orders/0`, {}, stranger.owner);
  expect([strange.status, strange.json()]).toEqual([404, NOT_FOUND]);
  const others = ["orders/1", "orders/-1", "orders/x", "orders/1234567", "none/0", "%00/0", "output/0"];
  const paths = others.map((other) => `${path}/${other}`);
  for (const id of [createExecutionId(), "ex_x", "%00"]) paths.push(path.replace(executionId, id).concat("/orders/0"));
  for (const other of paths) {
    const answer = await ask(service, other, {}, house.owner);
    expect([other, answer.status, answer.json()]).toEqual([other, 404, NOT_FOUND]);
  }
});

test("input files, of the operator's account by name or a workflow's key, are for persons alone", async () => {
  const { path, executionId } = await aRun();
  expect((await service.call(`${path}/orders/0`)).status).toBe(401);
  const [row] = await queryRows<{ name: string }>(
    service.db,
    "select a.name from executions e join accounts a on a.id = e.account_id where e.id = :executionId",
    { executionId },
  );
  const named = `${path}/orders/0?account=${encodeURIComponent(row?.name ?? "")}`;
  expect((await ask(service, named, {}, house.viewer)).status).toBe(200);
  expect((await ask(service, `${path}/orders/0?account=another`, {}, house.viewer)).status).toBe(404);
});

test("input files, no longer kept, are said to be gone, before storage is asked and when it has them no more", async () => {
  const gone = { error: "Not found", message: "This file is no longer kept." };
  const { path, executionId } = await aRun();
  const [file] = await queryRows<{ key: string }>(
    service.db,
    "select storage_key as key from execution_files where execution_id = :executionId and name = 'orders'",
    { executionId },
  );
  await service.storage.delete(file?.key ?? "");
  const lost = await ask(service, `${path}/orders/0`, {}, house.owner);
  expect([lost.status, lost.json()]).toEqual([404, gone]);
  expect((await ask(service, `${path}/extras/0`, {}, house.owner)).status).toBe(200);
  await queryRows(service.db, "update executions set files_removed_at = now() where id = :executionId", {
    executionId,
  });
  const removed = await ask(service, `${path}/extras/0`, {}, house.owner);
  expect([removed.status, removed.json()]).toEqual([404, gone]);
});

/** What a run of the workflow connected to, after it has ended; answers its id. */
async function aConnectedRun(workflow: TestWorkflow, destinations: readonly Connection[]): Promise<ExecutionId> {
  const executionId = await anExecution(service.db, { workflow });
  await reserve(service.db, executionId);
  await claimAttempt(service.db, { executionId, hostId: "h", processId: "p", leaseSeconds: 20, lostMax: 3 });
  const outcome = {
    status: "success",
    message: "",
    secondsUsed: 1,
    connections: { destinations, more: null },
  } as const;
  const charge = { compute: microCredits(1n), total: microCredits(2n) };
  await finishAll(service.db, [
    { executionId, processId: "p", outcome, charge, files: [], logKey: null, logBytes: 0, objects: [] },
  ]);
  return executionId;
}

test("connections, of the first run of a workflow and the next, are in its record alone, and new where nobody had been", async () => {
  const workflow = await aWorkflow(service.db, { accountId: house.accountId });
  const traffic = { sentBytes: 1, receivedBytes: 2, refused: 0 };
  const warehouse: Connection = { name: "warehouse", address: "10.20.0.5", port: 5432, protocol: "tcp", ...traffic };
  const other: Connection = { ...warehouse, name: null, address: "9.9.9.9" };
  const refused: Connection = { ...other, port: 80, sentBytes: 0, receivedBytes: 0, refused: 3 };
  const look = async (id: ExecutionId) => (await ask(service, `/api/executions/${id}`, {}, house.viewer)).json();
  const marked = (...marks: boolean[]) => {
    const destinations = [warehouse, other, refused].map((one, at) => Object.assign({ isNew: marks[at] }, one));
    return { attempts: [{ connections: { destinations, more: null } }] };
  };
  expect(await look(await aConnectedRun(workflow, [warehouse]))).toMatchObject({
    attempts: [{ connections: { destinations: [{ ...warehouse, isNew: true }], more: null } }],
  });
  const second = await aConnectedRun(workflow, [warehouse, other, refused]);
  expect(await look(second)).toMatchObject(marked(false, true, false));
  expect(await look(await aConnectedRun(workflow, [warehouse, other, refused]))).toMatchObject(
    marked(false, false, false),
  );

  const stranger = await aHouse(service);
  expect((await ask(service, `/api/executions/${second}`, {}, stranger.owner)).status).toBe(404);
  const headers = { "x-api-key": workflow.apiKey };
  const result = await service.call(`/api/run-logs/${second}`, { headers });
  expect([result.status, result.text()]).toEqual([200, expect.not.stringContaining("9.9.9.9")]);
});
