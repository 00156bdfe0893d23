import { createHash, randomBytes } from "node:crypto";
import { request as httpsRequest } from "node:https";
import { afterEach, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { findKeptFaults, getKeptBytes } from "../../db/executions/kept-bytes.ts";
import { removeExpiredUploads } from "../../src/housekeeping/file-uploads.ts";
import { uploadKey } from "../../src/http/uploads/upload-key.ts";
import { createLog } from "../../src/log.ts";
import { aMember, anAccount, anInput, aWorkflow, type TestWorkflow } from "../support/builders.ts";
import type { Answer } from "../support/https.ts";
import { aFileService, execute } from "./service.ts";

const PART_BYTES = 16 * 1024 * 1024;
const KEPT_MAX = 100_000_000;

interface Begun {
  readonly uploadId: string;
  readonly complete: boolean;
  readonly partBytes: number;
  readonly missing: readonly { number: number; bytes: number; url: string }[];
  readonly missingParts: number;
}

let workflow: TestWorkflow;

const service = await aFileService({ keptBytesMax: KEPT_MAX });

beforeAll(async () => {
  workflow = await someWorkflow();
});

afterEach(async () => {
  service.started.length = 0;
  await service.db.raw("truncate executions, workflow_starts, attempts, execution_files, reservations, call_receivers");
  await service.db.raw("delete from file_uploads");
  for await (const key of service.storage.list("")) await service.storage.delete(key);
});

const someWorkflow = (): Promise<TestWorkflow> =>
  aWorkflow(service.db, {
    manifest: {
      inputs: [
        anInput("file", "orders", { accept: [".csv"], bytesMax: 40_000_000 }),
        anInput("file_list", "extras", { required: false, filesMax: 3 }),
        anInput("string", "note", { required: false }),
      ],
    },
  });

const hashOf = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

function ask(method: string, path: string, body?: unknown, key = workflow.apiKey, of = workflow): Promise<Answer> {
  const type = body === undefined ? {} : { "content-type": "application/json" };
  return service.call(`/api/workflows/${of.workflowId}/uploads${path}`, {
    method,
    headers: { "x-api-key": key, ...type },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}

const declared = (content: Buffer, more: object = {}) => ({
  input: "orders",
  fileName: "orders.csv",
  contentType: "text/csv",
  bytes: content.length,
  sha256: hashOf(content),
  ...more,
});

async function begin(content: Buffer, more: object = {}): Promise<Begun> {
  const answer = await ask("POST", "", declared(content, more));
  expect([answer.status, answer.text()]).toEqual([201, expect.any(String)]);
  return answer.json() as unknown as Begun;
}

/** Sends a part as its address says: without a key. */
function send(url: string, content: Buffer): Promise<Answer> {
  return service.call(url.slice(service.url.length), { method: "PUT", headers: {}, body: content });
}

async function upload(content: Buffer, more: object = {}): Promise<string> {
  const { uploadId, missing, partBytes } = await begin(content, more);
  for (const { number, url } of missing)
    await send(url, content.subarray((number - 1) * partBytes, number * partBytes));
  expect((await ask("POST", `/${uploadId}/complete`)).status).toBe(200);
  return uploadId;
}

const filesOf = () =>
  queryRows<{ name: string; fileName: string; bytes: number; sha256: string; storageKey: string }>(
    service.db,
    `select name, file_name as "fileName", cast(bytes as int) as bytes, sha256, storage_key as "storageKey" from execution_files order by execution_id, name, position`,
  );

test("an upload of two parts, sent in another order after an interruption, is a file of executions until it is removed", async () => {
  const content = randomBytes(PART_BYTES + 5);
  const begun = await begin(content);
  expect(begun).toMatchObject({ complete: false, partBytes: PART_BYTES, missingParts: 2 });
  const [first, second] = begun.missing as [Begun["missing"][0], Begun["missing"][0]];
  expect([first.bytes, second.bytes]).toEqual([PART_BYTES, 5]);
  expect((await send(second.url, content.subarray(PART_BYTES))).json()).toEqual({ number: 2, bytes: 5 });

  const path = `/${begun.uploadId}`;
  const early = await ask("POST", `${path}/complete`);
  expect([early.status, early.text()]).toEqual([409, expect.stringContaining("1 of its parts are missing")]);
  const early400 = await execute(service, workflow, { orders: { upload: begun.uploadId } });
  expect([early400.status, early400.text()]).toEqual([400, expect.stringContaining("is not complete")]);

  // As a client that has lost everything but the id.
  const { missing } = (await ask("GET", path)).json() as unknown as Begun;
  expect(missing.map(({ number }) => number)).toEqual([1]);
  await send(missing[0]?.url ?? "", content.subarray(0, PART_BYTES));
  const [one, other] = await Promise.all([ask("POST", `${path}/complete`), ask("POST", `${path}/complete`)]);
  for (const answer of [one, other, await ask("POST", `${path}/complete`), await ask("GET", path)])
    expect([answer.status, answer.json()]).toEqual([
      200,
      expect.objectContaining({ complete: true, missing: [], missingParts: 0, linksExpireAt: null }),
    ]);

  const extra = await upload(Buffer.from("x"), { input: "extras", fileName: "a.txt", contentType: "text/plain" });
  const body = { orders: { upload: begun.uploadId }, extras: [{ upload: extra }, { upload: extra }], note: "n" };
  expect((await execute(service, workflow, body)).status).toBe(200);
  expect((await execute(service, workflow, { inputs: { orders: { upload: begun.uploadId } } })).status).toBe(200);
  const files = await filesOf();
  const ofOrders = { name: "orders", fileName: "orders.csv", bytes: content.length, sha256: hashOf(content) };
  expect(files.filter(({ name }) => name === "orders")).toEqual([
    expect.objectContaining(ofOrders),
    expect.objectContaining(ofOrders),
  ]);
  expect(files.filter(({ name }) => name === "extras").map(({ fileName }) => fileName)).toEqual(["a.txt", "a (2).txt"]);

  expect((await ask("DELETE", path)).json()).toEqual({ uploadId: begun.uploadId, removed: true });
  expect((await ask("GET", path)).status).toBe(404);
  const stored: Buffer[] = [];
  for await (const chunk of await service.storage.get(files[0]?.storageKey ?? "")) stored.push(chunk as Buffer);
  expect(hashOf(Buffer.concat(stored))).toBe(files[0]?.sha256);
  const gone = await execute(service, workflow, { orders: { upload: begun.uploadId } });
  expect([gone.status, gone.text()]).toEqual([400, expect.stringContaining("has no upload of that id")]);
}, 60_000);

test("complete, of another content than was declared, refuses it and removes the upload", async () => {
  const { uploadId, missing } = await begin(Buffer.from("what was declared"));
  await send(missing[0]?.url ?? "", Buffer.from("what is sent here"));
  const answer = await ask("POST", `/${uploadId}/complete`);
  expect([answer.status, answer.json()]).toEqual([400, expect.objectContaining({ details: [expect.anything()] })]);
  expect((await ask("GET", `/${uploadId}`)).status).toBe(404);
  const keys: string[] = [];
  for await (const key of service.storage.list("")) keys.push(key);
  expect(keys).toEqual([]);
});

test.each([
  ["no input", 400, { input: "oders" }, "is no input"],
  ["an input of another kind", 400, { input: "note" }, "takes no file"],
  ["a name that the input does not accept", 400, { fileName: "orders.exe", contentType: "text/plain" }, "not accepted"],
  ["more than the input takes", 413, { bytes: 40_000_001 }, "is larger than"],
  ["more than the account may keep", 507, { input: "extras", bytes: KEPT_MAX }, "may keep"],
  ["no checksum", 400, { sha256: "x" }, "sha256"],
  ["what is no size", 400, { bytes: -1 }, "bytes"],
])("begin, for %s, refuses with %d", async (_what, status, more, message) => {
  const answer = await ask("POST", "", declared(Buffer.from("a"), more));
  expect([answer.status, answer.text()]).toEqual([status, expect.stringContaining(message)]);
  expect(await queryRows(service.db, "select from file_uploads")).toEqual([]);
});

test("uploads, with the key of another workflow or none, are not there; their parts only by the right link", async () => {
  const other = await someWorkflow();
  const content = Buffer.from("a,b\n");
  const { uploadId, missing } = await begin(content);
  for (const [method, path] of [
    ["GET", `/${uploadId}`],
    ["POST", `/${uploadId}/complete`],
    ["DELETE", `/${uploadId}`],
  ] as const) {
    expect((await ask(method, path, undefined, other.apiKey, other)).status).toBe(404);
    expect((await ask(method, path, undefined, other.apiKey)).status).toBe(401);
    expect((await service.call(`/api/workflows/${workflow.workflowId}/uploads${path}`, { method })).status).toBe(401);
  }
  const stranger = await aMember(service.db, await anAccount(service.db));
  const authorization = `Bearer ${stranger.token}`;
  const asked = { method: "GET", headers: { authorization } };
  const foreign = await service.call(`/api/workflows/${workflow.workflowId}/uploads/${uploadId}`, asked);
  expect(foreign.status).toBe(404);

  const url = missing[0]?.url ?? "";
  const wrong = [
    url.replace("/parts/1", "/parts/2"),
    url.replace(/expires=\d+/, "expires=9999999999"),
    url.replace(/signature=./, "signature=_"),
    url.replace(/\?.*/, ""),
    url.replace(workflow.workflowId, other.workflowId),
  ];
  for (const one of wrong) expect((await send(one, content)).status).toBe(401);
  for (const size of [content.length - 1, content.length + 1])
    expect((await send(url, Buffer.alloc(size))).status).toBe(400);
  expect((await ask("GET", `/${uploadId}`)).json()).toMatchObject({ missingParts: 1 });

  expect((await send(url, content)).status).toBe(200);
  expect((await ask("POST", `/${uploadId}/complete`)).status).toBe(200);
  expect((await send(url, content)).status).toBe(409);
  const stolen = await execute(service, other, { orders: { upload: uploadId } });
  expect([stolen.status, stolen.text()]).toEqual([400, expect.stringContaining("has no upload of that id")]);
});

test("execute, by an upload that the input does not take, refuses it and keeps no copy; a key repeated with it finds its execution", async () => {
  const text = await upload(Buffer.from("t"), { input: "extras", fileName: "a.txt", contentType: "text/plain" });
  const refused = await execute(service, workflow, { orders: { upload: text } });
  expect([refused.status, refused.text()]).toEqual([400, expect.stringContaining("not accepted")]);
  for (const value of [{ upload: "up_no" }, { upload: text, more: 1 }, [{ upload: text }, "x"], { from: {} }])
    expect((await execute(service, workflow, { orders: value })).status).toBe(400);
  expect(await filesOf()).toEqual([]);

  const orders = await upload(Buffer.from("a,b\n"));
  const same = await upload(Buffer.from("a,b\n"));
  const changed = await upload(Buffer.from("a,c\n"));
  const headers = { "idempotency-key": "k" };
  const first = await execute(service, workflow, { orders: { upload: orders } }, headers);
  const again = await execute(service, workflow, { orders: { upload: same } }, headers);
  expect([again.status, again.headers["idempotent-replayed"]]).toEqual([200, "true"]);
  expect(again.headers["x-execution-id"]).toBe(first.headers["x-execution-id"]);
  expect((await execute(service, workflow, { orders: { upload: changed } }, headers)).status).toBe(409);
  expect((await filesOf()).length).toBe(1);
});

test("uploads, declared or complete, count as kept; what expired is removed with its parts, and counts no more", async () => {
  const findDrift = async () => (await findKeptFaults(service.db)).map(({ due, actual }) => due - actual);
  const drift = await findDrift();
  const bytesBefore = (await getKeptBytes(service.db, workflow.accountId)).bytes;
  const whole = await upload(Buffer.from("a,b\n"));
  const { uploadId, missing } = await begin(Buffer.from("abc"));
  await send(missing[0]?.url ?? "", Buffer.from("abc"));
  expect((await getKeptBytes(service.db, workflow.accountId)).bytes).toBe(bytesBefore + 7);
  expect(await findDrift()).toEqual(drift);

  const { db, storage } = service;
  const log = createLog({ level: "silent", terminal: false });
  const deps = { db, storage, keyOf: uploadKey, processId: "proc_sweep", log };
  expect(await removeExpiredUploads(deps)).toBe(0);
  await service.db.raw(
    "update file_uploads set begun_at = now() - interval '2 days', expires_at = now() - interval '10 minutes'",
  );
  expect((await ask("GET", `/${whole}`)).status).toBe(404);
  expect((await ask("GET", `/${uploadId}`)).status).toBe(404);
  // Parts that are on their way may still arrive.
  expect(await removeExpiredUploads(deps)).toBe(0);
  await service.db.raw("update file_uploads set expires_at = now() - interval '61 minutes'");
  expect(await removeExpiredUploads(deps)).toBe(2);
  const keys: string[] = [];
  for await (const key of storage.list("")) keys.push(key);
  expect(keys).toEqual([]);
  expect((await getKeptBytes(service.db, workflow.accountId)).bytes).toBe(bytesBefore);
  expect(await findDrift()).toEqual(drift);
});

test("begin, when a hundred uploads are not complete, refuses one more, of twenty at once, too", async () => {
  await service.db.raw(
    `insert into file_uploads (id, workflow_id, account_id, file_name, content_type, bytes, sha256, part_bytes, session, expires_at)
     select 'up_' || lpad(at::text, 20, '0'), ?, ?, 'a', 'text/csv', 0, repeat('0', 64), 1, '', now() + interval '1 day'
       from generate_series(1, 95) as at`,
    [workflow.workflowId, workflow.accountId],
  );
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask("POST", "", declared(Buffer.from("a")))));
  const statuses = answers.map(({ status }) => status).sort((one, next) => one - next);
  expect(statuses).toEqual([...Array(5).fill(201), ...Array(15).fill(409)]);
});

test("a part whose sender goes away is not there, and the next try brings it", async () => {
  const content = randomBytes(3_000_000);
  const { uploadId, missing } = await begin(content);
  const url = (missing[0]?.url ?? "").slice(service.url.length);
  const headers = { "content-length": String(content.length) };
  const sending = httpsRequest(`${service.url}${url}`, { method: "PUT", headers, ca: service.cert });
  const closed = new Promise((resolve) => sending.once("close", resolve).on("error", resolve));
  sending.write(content.subarray(0, 1_000_000), () => sending.destroy());
  await closed;
  expect((await ask("GET", `/${uploadId}`)).json()).toMatchObject({ missingParts: 1 });
  expect((await service.call(url, { method: "PUT", headers: {}, body: content })).status).toBe(200);
  expect((await ask("POST", `/${uploadId}/complete`)).status).toBe(200);
});

test.each([
  ["fewer bytes than it has", [Buffer.from("a")]],
  ["more bytes than it has", [Buffer.from("a,b"), Buffer.alloc(100_000)]],
])("a part that comes in chunks, with %s, is refused in words, and the service goes on", async (_what, chunks) => {
  const { uploadId, missing } = await begin(Buffer.from("a,b"));
  const { status, text } = await sendChunks((missing[0]?.url ?? "").slice(service.url.length), chunks);
  expect([status, text]).toEqual([400, expect.stringContaining("This part has 3 bytes.")]);
  expect((await ask("GET", `/${uploadId}`)).json()).toMatchObject({ missingParts: 1 });
});

/** Sends a body without its length, one chunk after the other. */
function sendChunks(path: string, chunks: readonly Buffer[]): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const sending = httpsRequest(`${service.url}${path}`, { method: "PUT", ca: service.cert }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      response.once("end", () => resolve({ status: response.statusCode, text })).once("error", reject);
    });
    sending.once("error", reject);
    for (const chunk of chunks) sending.write(chunk);
    sending.end();
  });
}
