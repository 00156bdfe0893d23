import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { anInput, aWorkflow } from "../support/builders.ts";
import { aForm } from "../support/https.ts";
import { aService, type TestService } from "./service.ts";

const MEGABYTE = 1_000_000;
const UPLOAD_BYTES = 400 * MEGABYTE;
const GROWTH_BYTES_MAX = UPLOAD_BYTES / 2;

let service: TestService;

beforeAll(async () => {
  service = await aService();
});

afterAll(() => service?.close());

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
