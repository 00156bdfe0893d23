import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { afterEach, expect, test } from "@jest/globals";
import { createS3Storage, type S3Settings } from "../../storage/s3.ts";
import { findStorageFault } from "../../storage/storage.ts";
import { endlessContent } from "./content.ts";

const XML = '<?xml version="1.0" encoding="UTF-8"?>';

interface Received {
  readonly what: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** An S3 that keeps what it is asked, and fails when it is asked to take back parts, or with 403 at what `refused` says. */
async function openRecorded(refused = "nothing") {
  const received: Received[] = [];
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => answer(request, response, Buffer.concat(chunks)));
  });
  const answer = (request: IncomingMessage, response: ServerResponse, body: Buffer): void => {
    const what = `${request.method} ${request.url}`;
    received.push({ what, headers: request.headers, body });
    if (what.includes(refused)) response.writeHead(403).end(`${XML}<Error><Code>AccessDenied</Code></Error>`);
    else if (request.method === "DELETE") response.writeHead(500).end();
    else if (request.method === "POST")
      response.end(`${XML}<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>`);
    else response.setHeader("ETag", '"e"').end();
  };
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const keys = { accessKeyId: "id", secretAccessKey: "secret" };
  const settings = {
    endpoint: `http://127.0.0.1:${port}`,
    region: "us-east-1",
    bucket: "files",
    prefix: "p",
    forcePathStyle: true,
    ...keys,
  };
  return { storage: await createS3Storage(settings), received };
}

/** An S3 that answers as `answer` says, and what it was asked. */
async function openAnswering(answer: (asked: number) => number, changes: Partial<S3Settings> = {}) {
  const asked: IncomingHttpHeaders[] = [];
  server = createServer((request, response) => {
    request.resume().on("end", () => {
      const status = answer(asked.push(request.headers));
      const code = status === 503 ? "SlowDown" : "InternalError";
      response
        .writeHead(status, { ETag: '"e"' })
        .end(status === 200 ? "" : `${XML}<Error><Code>${code}</Code></Error>`);
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const keys = { accessKeyId: "id", secretAccessKey: "secret" };
  const at = { endpoint: `http://127.0.0.1:${port}`, region: "us-east-1", bucket: "files", prefix: "" };
  const storage = await createS3Storage({ ...at, forcePathStyle: true, ...keys, ...changes });
  return { storage, asked };
}

test.each([503, 500])("put, answered %d twice, is sent again and succeeds", async (status) => {
  const { storage, asked } = await openAnswering((count) => (count < 3 ? status : 200));
  expect(await storage.put("a", Readable.from([Buffer.from("abc")]))).toMatchObject({ bytes: 3 });
  expect(asked.length).toBe(3);
});

test("put, answered 503 for ever, gives up after five tries and says that storage is away", async () => {
  const { storage, asked } = await openAnswering(() => 503);
  const error: unknown = await storage.put("a", Readable.from([Buffer.from("abc")])).catch((reason: unknown) => reason);
  expect(findStorageFault(error)).toBe("away");
  expect(asked.length).toBe(5);
});

test("put, with encryption, asks the store for it", async () => {
  const kms = { encryption: "aws:kms", kmsKey: "alias/files" } as const;
  const { storage, asked } = await openAnswering(() => 200, kms);
  await storage.put("a", Readable.from([Buffer.from("abc")]));
  expect(asked[0]).toMatchObject({
    "x-amz-server-side-encryption": "aws:kms",
    "x-amz-server-side-encryption-aws-kms-key-id": "alias/files",
  });
});

test("put, without keys, gets credentials where the machine says, and new ones when they end", async () => {
  let lent = 0;
  const lender = createServer((_request, response) => {
    lent += 1;
    const ends = new Date(Date.now() + 1_000).toISOString();
    const credentials = {
      AccessKeyId: `id${lent}`,
      SecretAccessKey: "secret",
      Token: `token${lent}`,
      Expiration: ends,
    };
    response.setHeader("content-type", "application/json").end(JSON.stringify(credentials));
  });
  await new Promise<void>((resolve) => lender.listen(0, "127.0.0.1", resolve));
  const variable = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
  process.env[variable] = `http://127.0.0.1:${(lender.address() as AddressInfo).port}/credentials`;
  try {
    const none = { accessKeyId: undefined, secretAccessKey: undefined } as never;
    const { storage, asked } = await openAnswering(() => 200, none);
    await storage.put("a", Readable.from([Buffer.from("abc")]));
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await storage.put("b", Readable.from([Buffer.from("abc")]));
    const tokens = asked.map((headers) => headers["x-amz-security-token"]);
    expect(tokens[0]).toMatch(/^token\d+$/);
    expect(tokens[1]).toMatch(/^token\d+$/);
    expect(tokens[1]).not.toBe(tokens[0]);
  } finally {
    delete process.env[variable];
    lender.close();
  }
});

test("put, of a short content, sends the plain bytes without checksum trailer", async () => {
  const { storage, received } = await openRecorded();
  await storage.put("a", Readable.from([Buffer.from("abc"), Buffer.from("def")]));
  expect(received.map(({ what, body }) => [what, body.toString()])).toEqual([
    ["PUT /files/p/a?x-id=PutObject", "abcdef"],
  ]);
  expectPlain(received);
});

test("put, of a long content, sends plain parts without checksum trailer", async () => {
  const { storage, received } = await openRecorded();
  const content = endlessContent((sent) => {
    if (sent > 10_000_000) content.push(null);
  });
  await storage.put("a", content).catch(() => undefined); // This server does not know how to complete it.
  expect(received.filter(({ what }) => what.includes("partNumber=")).length).toBe(2);
  expectPlain(received);
});

test("put, that is too large when parts cannot be taken back, throws TooLargeError and not the server's failure", async () => {
  const { storage, received } = await openRecorded();
  await expect(storage.put("a", endlessContent(), { bytesMax: 20_000_000 })).rejects.toMatchObject({
    name: "TooLargeError",
  });
  expect(received.some(({ what }) => what.startsWith("DELETE /files/p/a?uploadId=u1"))).toBe(true);
});

test.each(["partNumber=1", "uploads"])(
  "put, when the server refuses %s, rejects with the refusal and stops reading",
  async (refused) => {
    const { storage } = await openRecorded(refused);
    const content = endlessContent();
    const refusal = storage.put("a", content);
    // This server refuses to take back the parts too, which the SDK then reports in the refusal's place.
    await expect(refusal).rejects.toMatchObject({ $metadata: { httpStatusCode: refused === "uploads" ? 403 : 500 } });
    expect(content.destroyed).toBe(true);
  },
);

function expectPlain(received: readonly Received[]): void {
  for (const { headers } of received) {
    expect(headers["content-encoding"]).toBeUndefined();
    expect(Object.keys(headers).filter((name) => /trailer|checksum|sdk-checksum/.test(name))).toEqual([]);
  }
}
