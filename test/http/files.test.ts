import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { aWorkflow, type TestWorkflow } from "../support/builders.ts";
import type { Answer } from "../support/https.ts";
import { aFileService, anEndedExecution } from "./service.ts";

let workflow: TestWorkflow;

const service = await aFileService();

beforeAll(async () => {
  workflow = await aWorkflow(service.db);
});

function get(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  return service.call(`/api/run-logs/${path}`, { method, headers: { "x-api-key": workflow.apiKey, ...headers } });
}

function anEnded(given: Parameters<typeof anEndedExecution>[2] = {}): Promise<ExecutionId> {
  return anEndedExecution(service, workflow, given);
}

const NOT_FOUND = { error: "Not found", message: expect.any(String) };

const CONTENT = "0123456789";
const TAG = `"${createHash("sha256").update(CONTENT).digest("hex")}"`;

test("files, whole, come with length, type, tag, name and safety", async () => {
  const executionId = await anEnded({ outputs: { "a.txt": { content: CONTENT } } });
  const answer = await get(`${executionId}/files/a.txt`);
  expect([answer.status, answer.text()]).toEqual([200, CONTENT]);
  expect(answer.headers).toMatchObject({
    "content-length": "10",
    "content-type": "text/plain; charset=utf-8",
    etag: TAG,
    "accept-ranges": "bytes",
    "content-disposition": 'inline; filename="a.txt"',
    "cache-control": "private, no-cache",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
  });
  const head = await get(`${executionId}/files/a.txt`, { range: "bytes=0-1" }, "HEAD");
  expect([head.status, head.text(), head.headers["content-length"], head.headers.etag]).toEqual([200, "", "10", TAG]);
});

test.each([
  ["bytes=0-3", 206, "0123", "bytes 0-3/10"],
  ["bytes=4-", 206, "456789", "bytes 4-9/10"],
  ["bytes=-3", 206, "789", "bytes 7-9/10"],
  ["bytes=-100", 206, CONTENT, "bytes 0-9/10"],
  ["bytes=8-999", 206, "89", "bytes 8-9/10"],
  ["bytes=0-0,5-6", 200, CONTENT, undefined],
  ["bytes=5-4", 200, CONTENT, undefined],
  ["bytes=a-b", 200, CONTENT, undefined],
  ["lines=0-3", 200, CONTENT, undefined],
])("files, with Range %s, answer %i", async (range, status, text, contentRange) => {
  const executionId = await anEnded({ outputs: { "a.txt": { content: CONTENT } } });
  const answer = await get(`${executionId}/files/a.txt`, { range });
  expect([answer.status, answer.text(), answer.headers["content-range"], answer.headers["content-length"]]).toEqual([
    status,
    text,
    contentRange,
    String(text.length),
  ]);
});

test.each(["bytes=10-", "bytes=99-100", "bytes=-0"])(
  "files, with Range %s, answer 416 with the length",
  async (range) => {
    const executionId = await anEnded({ outputs: { "a.txt": { content: CONTENT } } });
    const answer = await get(`${executionId}/files/a.txt`, { range });
    expect([answer.status, answer.json(), answer.headers["content-range"]]).toEqual([
      416,
      { error: "Range not satisfiable", message: "The file has 10 bytes." },
      "bytes */10",
    ]);
  },
);

test("files, empty, are sent whole and have no ranges", async () => {
  const executionId = await anEnded({ outputs: { "a.txt": { content: "" } } });
  const answer = await get(`${executionId}/files/a.txt`);
  expect([answer.status, answer.text(), answer.headers["content-length"]]).toEqual([200, "", "0"]);
  expect((await get(`${executionId}/files/a.txt`, { range: "bytes=0-" })).status).toBe(416);
});

test("files, that the caller has already, answer 304", async () => {
  const executionId = await anEnded({ outputs: { "a.txt": { content: CONTENT } } });
  for (const known of [TAG, `"x", W/${TAG}`, "*"]) {
    const answer = await get(`${executionId}/files/a.txt`, { "if-none-match": known });
    expect([answer.status, answer.text(), answer.headers.etag]).toEqual([304, "", TAG]);
  }
  expect((await get(`${executionId}/files/a.txt`, { "if-none-match": '"x"' })).status).toBe(200);
});

test("files, with If-Range, are sent in part only when they are still the same", async () => {
  const executionId = await anEnded({ outputs: { "a.txt": { content: CONTENT } } });
  const part = (ifRange: string) => get(`${executionId}/files/a.txt`, { range: "bytes=0-1", "if-range": ifRange });
  expect((await part(TAG)).status).toBe(206);
  for (const other of ['"x"', `W/${TAG}`, "Wed, 21 Oct 2015 07:28:00 GMT"])
    expect((await part(other)).status).toBe(200);
});

const NAMES = [
  'quo"te.txt',
  "new\nline\r.txt",
  "größe 😀.txt",
  "100%.txt",
  "%41.txt",
  "sub/deep/a.txt",
  "a;b=c.txt",
  "back\\slash.txt",
  "'single' (1)*.txt",
  ".hidden",
  "tab\t.txt",
  "a".repeat(255),
  "?#&+ .txt",
];
test.each(NAMES)("files, named %j, are found by their address and keep their name", async (fileName) => {
  const executionId = await anEnded({ outputs: { [fileName]: { content: CONTENT } } });
  const [url] = Object.values((await get(executionId)).json()["outputs"] as Record<string, string>) as [string];
  expect(new URL(url).pathname.split("/")).toHaveLength(6);
  const answer = await service.call(url, { headers: { "x-api-key": workflow.apiKey } });
  expect([answer.status, answer.text()]).toEqual([200, CONTENT]);
  const [, plain, encoded] = /^inline; filename="([\x20-\x7e]*)"(?:; filename\*=UTF-8''(\S+))?$/.exec(
    answer.headers["content-disposition"] as string,
  ) as unknown as [string, string, string?];
  expect(encoded === undefined ? plain : decodeURIComponent(encoded)).toBe(fileName);
  expect(plain).not.toMatch(/["\\%]/);
});

test.each([
  ["text/html; charset=utf-8", "attachment"],
  ["image/svg+xml", "attachment"],
  ["application/xml", "attachment"],
  ["application/xhtml+xml", "attachment"],
  ["text/javascript; charset=utf-8", "attachment"],
  ["application/octet-stream", "attachment"],
  ["text/html-but-not", "attachment"],
  ["image/png", "inline"],
  ["application/json; charset=utf-8", "inline"],
  ["application/pdf", "inline"],
])("files, of type %s, are %s", async (contentType, kind) => {
  const executionId = await anEnded({ outputs: { x: { content: CONTENT, contentType } } });
  const { headers } = await get(`${executionId}/files/x`);
  expect(headers["content-disposition"]).toBe(`${kind}; filename="x"`);
  expect(headers["content-type"]).toBe(contentType);
  expect(headers["x-content-type-options"]).toBe("nosniff");
  expect(headers["content-security-policy"]).toBe(
    contentType === "application/pdf" ? "default-src 'none'" : "default-src 'none'; sandbox",
  );
});

test("files, unknown or of impossible names, answer 404; of a broken address, 400", async () => {
  const executionId = await anEnded({ outputs: { "a.txt": { content: CONTENT } } });
  for (const name of ["b.txt", "%00", "..%2fa.txt", "A.TXT"]) {
    const answer = await get(`${executionId}/files/${name}`);
    expect([answer.status, answer.json()]).toEqual([404, NOT_FOUND]);
  }
  for (const name of ["%", "%zz", "%ff"]) {
    const answer = await get(`${executionId}/files/${name}`);
    expect([answer.status, answer.json()]).toEqual([400, { error: "Invalid request", message: expect.any(String) }]);
  }
});

test("files, whose content is no longer kept, answer 404 as JSON", async () => {
  const executionId = await anEnded({ outputs: { "a.txt": { content: CONTENT } } });
  await service.storage.delete(`executions/${executionId}/outputs/0`);
  const answer = await get(`${executionId}/files/a.txt`, { range: "bytes=0-3" });
  expect([answer.status, answer.json()]).toEqual([
    404,
    { error: "Not found", message: "This file is no longer kept." },
  ]);
  expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
});

/** What is in a zip, by another program than the one that made it: it checks every sum. */
function unzip(bytes: Buffer): Record<string, string> {
  const program = `import io, json, sys, zipfile
z = zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read()))
print(json.dumps({i.filename: z.read(i).decode() for i in z.infolist()}))`;
  const { stdout, stderr, status } = spawnSync("python3", ["-c", program], { input: bytes });
  if (status !== 0) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString()) as Record<string, string>;
}

test("files, all of an execution, come as one zip, with names that lead nowhere and are each there once", async () => {
  const names = [
    "../../etc/passwd",
    "A.csv",
    "a.csv",
    "empty",
    "größe 😀.txt",
    'q"uo\\te:*.txt',
    "sub/./deep/a.txt",
    "NUL.txt",
    "SUB",
  ];
  const outputs = names.map((name) => [name, { content: name === "empty" ? "" : `of ${name}` }] as const);
  const executionId = await anEnded({ outputs: Object.fromEntries(outputs) });
  const answer = await get(`${executionId}/files`);
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/zip"]);
  expect(answer.headers["content-disposition"]).toBe(`attachment; filename="${executionId}.zip"`);
  expect(unzip(answer.bytes)).toEqual({
    "_/_/etc/passwd": "of ../../etc/passwd",
    "A.csv": "of A.csv",
    "a (2).csv": "of a.csv",
    empty: "",
    "größe 😀.txt": "of größe 😀.txt",
    "q_uo_te__.txt": 'of q"uo\\te:*.txt',
    "sub/_/deep/a.txt": "of sub/./deep/a.txt",
    "_NUL.txt": "of NUL.txt",
    "SUB (2)": "of SUB",
  });
  const head = await get(`${executionId}/files`, {}, "HEAD");
  expect([head.status, head.text()]).toEqual([200, ""]);
});

test("files, all of an execution, are its workflow's alone; without any, and when they are gone, the answer is 404", async () => {
  const executionId = await anEnded({ outputs: { a: { content: CONTENT } } });
  const other = await aWorkflow(service.db);
  expect((await get(`${executionId}/files`, { "x-api-key": other.apiKey })).status).toBe(401);
  expect((await get(`${await anEnded()}/files`)).json()).toEqual(NOT_FOUND);
  await queryRows(service.db, "update executions set files_removed_at = now() where id = :executionId", {
    executionId,
  });
  expect((await get(`${executionId}/files`)).json()).toEqual(NOT_FOUND);
});

test("files, of which one is not in storage any more, end the zip early: nobody takes a part for the whole", async () => {
  const executionId = await anEnded({ outputs: { a: { content: CONTENT }, b: { content: CONTENT } } });
  await service.storage.delete(`executions/${executionId}/outputs/1`);
  await expect(get(`${executionId}/files`)).rejects.toThrow("aborted");
  expect((await get(`${executionId}/files/a`)).status).toBe(200);
});
