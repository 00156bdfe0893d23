import { once } from "node:events";
import { get } from "node:https";
import { Readable } from "node:stream";
import { expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { insertOutputs } from "../../db/executions/outputs.ts";
import { anExecution, anInput, aWorkflow } from "../support/builders.ts";
import { aForm } from "../support/https.ts";
import { aFileService, succeed } from "./service.ts";

const MEGABYTE = 1_000_000;
const UPLOAD_BYTES = 400 * MEGABYTE;
const GROWTH_BYTES_MAX = UPLOAD_BYTES / 2;

const service = await aFileService();

test("execute, with an upload of 400 MB, never holds it in memory", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [anInput("file", "orders")] });
  const { headers, body } = aForm([{ name: "orders", fileName: "orders.bin", content: "@" }]);
  const at = body.indexOf("@");
  const chunk = Buffer.alloc(MEGABYTE, "x");
  const pieces = function* () {
    yield body.subarray(0, at);
    for (let sent = 0; sent < UPLOAD_BYTES; sent += MEGABYTE) yield chunk;
    yield body.subarray(at + 1);
  };
  const before = process.memoryUsage().rss;
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 5);
  const answer = await service.call(`/api/workflows/${workflow.workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": workflow.apiKey, ...headers },
    body: Readable.from(pieces()),
  });
  clearInterval(watch);
  expect(answer.status).toBe(200);
  expect(await queryRows(service.db, "select bytes from execution_files")).toEqual([{ bytes: BigInt(UPLOAD_BYTES) }]);
  // The caller is this process, too: its own buffers are counted, and what tests before it left for the collector.
  expect(most - before).toBeLessThan(GROWTH_BYTES_MAX);
});

test("the zip of 400 MB of outputs, read by a caller, is never held in memory", async () => {
  const workflow = await aWorkflow(service.db);
  const executionId = await anExecution(service.db, { workflow });
  const chunk = Buffer.alloc(MEGABYTE, "x");
  const storageKey = `executions/${executionId}/outputs/0`;
  const pieces = Array.from({ length: UPLOAD_BYTES / MEGABYTE }, () => chunk);
  const stored = await service.storage.put(storageKey, Readable.from(pieces));
  const about = { name: "data", storageKey, contentType: "application/octet-stream" };
  await insertOutputs(service.db, {
    executionId,
    files: [{ ...about, ...stored, fileName: "data.bin" }],
    logKey: null,
    logBytes: 0,
  });
  await succeed(service.db, { executionId });
  const before = process.memoryUsage().rss;
  let [most, bytes] = [before, 0];
  const headers = { "x-api-key": workflow.apiKey };
  const address = new URL(`/api/run-logs/${executionId}/files`, service.url);
  const [answer] = (await once(get(address, { headers, ca: service.cert, agent: false }), "response")) as [Readable];
  for await (const piece of answer) {
    bytes += (piece as Buffer).length;
    most = Math.max(most, process.memoryUsage().rss);
  }
  expect(bytes).toBeGreaterThan(UPLOAD_BYTES);
  expect(most - before).toBeLessThan(GROWTH_BYTES_MAX);
});
