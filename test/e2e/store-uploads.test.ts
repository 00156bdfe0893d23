import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { S3_INSTALL_MS_MAX } from "../../bench/s3-programs.ts";
import { type S3Server, startS3Server } from "../../bench/s3-server.ts";
import { openWay, type Way } from "../../chaos/cluster/way.ts";
import { IS_LONG } from "../storage/servers.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import { type IdentityProvider, openIdentityProvider } from "../support/identity-provider.ts";
import { type Answer, aDataDir, callService, startService, type TestService } from "../support/service.ts";
import { openStoreProxy, type StoreProxy } from "../support/store-proxy.ts";

/** A token is written anew long before it ends, as Kubernetes does. Credentials end with their token. */
const TOKEN_SECONDS = 60;
const TOKEN_MS = 5_000;
const SHORT_SECONDS = 5;
const PART_BYTES = 16 * 1024 * 1024;

const CONFIG = "inputs:\n  orders: { type: file, max_size: 1GB }\ntriggers:\n  api: { enabled: true }\n";
const PROGRAM = `import hashlib
from pathlib import Path

def main(orders):
    content = Path(orders).read_bytes()
    print(len(content), hashlib.sha256(content).hexdigest())
    folder = Path("outputs")
    folder.mkdir(exist_ok=True)
    (folder / "begin.txt").write_text(content[:150_000].hex())
    return {"begin": folder / "begin.txt"}
`;

interface Published {
  readonly workflowId: string;
  readonly apiKey: string;
}

interface Begun {
  readonly uploadId: string;
  readonly linksExpireAt: string;
  readonly missing: readonly { number: number; bytes: number; url: string }[];
}

const releases: (() => unknown)[] = [];
let store: S3Server;
/** The service's way to the store, and that of those who send files. */
let own: StoreProxy;
let senders: StoreProxy;
/** The way to the service. */
let front: Way;
let renewToken: (seconds: number) => Promise<void>;
let renews = true;
let service: TestService;
let called: Awaited<ReturnType<typeof callService>>;
let workflow: Published;
let other: Published;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), "treadle-store-uploads-"));
  const { dataDir, remove } = await aDataDir();
  releases.push(() => rm(folder, { recursive: true, force: true }), remove);
  await chmod(folder, 0o755); // The user of the service reads the token.
  const provider: IdentityProvider = await openIdentityProvider();
  releases.push(provider.close);
  const trust = {
    MINIO_IDENTITY_OPENID_CONFIG_URL: provider.configUrl,
    MINIO_IDENTITY_OPENID_CLIENT_ID: provider.clientId,
    MINIO_IDENTITY_OPENID_ROLE_POLICY: "readwrite",
  };
  store = await startS3Server(IS_LONG ? { kind: "minio", env: trust } : { kind: "versitygw" });
  releases.push(store.stop);
  own = await openStoreProxy(store);
  senders = await openStoreProxy(store);
  releases.push(own.close, senders.close);

  const tokenFile = join(folder, "token");
  renewToken = (seconds) => provider.writeToken(tokenFile, seconds);
  await renewToken(TOKEN_SECONDS);
  const renewing = setInterval(() => {
    if (renews) void renewToken(TOKEN_SECONDS);
  }, TOKEN_MS);
  releases.push(() => clearInterval(renewing));
  const url = new URL(`s3://${store.bucket}/prod?region=${store.region}&encryption=AES256`);
  url.searchParams.set("endpoint", `http://127.0.0.1:${own.port}`);
  url.searchParams.set("upload_endpoint", `http://127.0.0.1:${senders.port}`);
  service = await startService({
    dataDir,
    env: {
      TREADLE_STORAGE_URL: url.href,
      TREADLE_SMALL_OUTPUTS_BYTES_MAX: "0",
      TREADLE_EXAMPLES: "none",
      AWS_EC2_METADATA_DISABLED: "true",
      ...(IS_LONG
        ? {
            AWS_ROLE_ARN: `arn:minio:iam:::role/${createHash("sha1").update(provider.clientId).digest("base64url")}`,
            AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
            AWS_ENDPOINT_URL_STS: store.endpoint,
          }
        : { AWS_ACCESS_KEY_ID: store.accessKeyId, AWS_SECRET_ACCESS_KEY: store.secretAccessKey }),
    },
  });
  releases.push(() => service.stop());
  front = await openWay(() => ({ host: "localhost", port: Number(new URL(service.ready.apiUrl).port) }));
  releases.push(front.cut);
  called = await callService({ ...service.ready, apiUrl: `https://localhost:${front.port}/api` });
  releases.push(called.hangUp);
  const files = { "config.yaml": CONFIG, "main.py": PROGRAM };
  const publish = async () => {
    const published = await treadle(dataDir, ["publish", await aFolder(files), "--json"]);
    expect([published.code, published.stdout]).toEqual([0, expect.any(String)]);
    return published.json() as unknown as Published;
  };
  [workflow, other] = [await publish(), await publish()];
}, S3_INSTALL_MS_MAX);

afterAll(async () => {
  for (const release of releases.reverse()) await release();
});

const hashOf = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

function ask(method: "GET" | "POST" | "DELETE", path: string, body?: object, of = workflow): Promise<Answer> {
  return called.call(`/workflows/${of.workflowId}${path}`, {
    method,
    headers: { "x-api-key": of.apiKey, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function begin(content: Buffer, sha256 = hashOf(content)): Promise<Begun> {
  const file = { input: "orders", fileName: "orders.bin", contentType: "application/octet-stream" };
  const answer = await ask("POST", "/uploads", { ...file, bytes: content.length, sha256 });
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
  return answer.body as unknown as Begun;
}

const look = async (uploadId: string): Promise<Begun> =>
  (await ask("GET", `/uploads/${uploadId}`)).body as unknown as Begun;
const put = (url: string, content: Buffer): Promise<number> =>
  fetch(url, { method: "PUT", body: new Uint8Array(content) }).then(({ status }) => status);
const partOf = (content: Buffer, number: number): Buffer =>
  content.subarray((number - 1) * PART_BYTES, number * PART_BYTES);
const urlOf = ({ missing }: Begun, number: number): string =>
  missing.find((part) => part.number === number)?.url ?? `no part ${number} is missing`;

/** What the store keeps below a name: whole objects, and uploads that are not complete. */
async function listKept(folder: string): Promise<(string | undefined)[]> {
  const { endpoint, region, bucket: Bucket, stop: _, ...credentials } = store;
  const client = new S3Client({ endpoint, region, forcePathStyle: true, credentials });
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix: `prod/${folder}` }));
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
  client.destroy();
  return [...Contents, ...Uploads].map(({ Key }) => Key).filter((key) => key?.startsWith(`prod/${folder}`));
}

test("a file goes in parts from its sender to the store, past the service; it is resumed, run, and the program has its bytes", async () => {
  const content = randomBytes(PART_BYTES + 3_000_000);
  const sentBefore = front.sentBytes();
  const passedBefore = own.passed.length;
  const begun = await begin(content);
  const { uploadId } = begun;
  for (const { url } of begun.missing) expect(new URL(url).port).toBe(String(senders.port));

  const [one, two] = [partOf(content, 1), partOf(content, 2)];
  // versitygw keeps half a part as a whole one.
  senders.disturb(IS_LONG ? "half of the content" : "503", (what) => what.startsWith("PUT"));
  if (IS_LONG) await expect(put(urlOf(begun, 1), one)).rejects.toThrow("fetch failed");
  else expect(await put(urlOf(begun, 1), one)).toBe(503);
  expect(await put(urlOf(begun, 2), two)).toBe(200);
  const early = await ask("POST", `/uploads/${uploadId}/complete`);
  expect([early.status, early.text]).toEqual([409, expect.stringContaining("1 of its parts are missing")]);

  // As a client that has lost everything but the id.
  const resumed = await look(uploadId);
  expect(resumed.missing.map(({ number }) => number)).toEqual([1]);
  expect(await put(urlOf(resumed, 1), one)).toBe(200);
  expect((await ask("POST", `/uploads/${uploadId}/complete`)).body).toMatchObject({ complete: true });

  const stolen = await ask("POST", "/execute", { orders: { upload: uploadId } }, other);
  expect([stolen.status, stolen.text]).toEqual([400, expect.stringContaining("has no upload of that id")]);
  expect((await ask("GET", `/uploads/${uploadId}`, undefined, other)).status).toBe(404);
  const ran = await ask("POST", "/execute", { orders: { upload: uploadId } });
  expect(ran.body).toMatchObject({ status: "success" });
  const log = await called.call(`/run-logs/${String(ran.body.executionId)}/logs`, {
    method: "GET",
    headers: { "x-api-key": workflow.apiKey },
  });
  expect(log.text).toContain(`${content.length} ${hashOf(content)}`);

  expect(front.sentBytes() - sentBefore).toBeLessThan(100_000);
  const passed = own.passed.slice(passedBefore);
  const sumOf = (of: "bytesIn" | "bytesOut", isMeant: (what: string) => boolean): number =>
    passed.filter(({ what }) => isMeant(what)).reduce((sum, seen) => sum + seen[of], 0);
  const isOutput = (what: string): boolean => what.includes("/outputs/") || what.includes("log.ndjson");
  expect(sumOf("bytesIn", (what) => !isOutput(what))).toBeLessThan(100_000);
  // Once to hash it, and once to bring it to the program.
  expect(sumOf("bytesOut", (what) => what.includes("/uploads/") && what.includes("=GetObject"))).toBe(content.length);
  expect(sumOf("bytesOut", (what) => what.includes("/inputs/") && what.includes("=GetObject"))).toBe(content.length);
  for (const { what, headers } of passed)
    if (/^PUT|^POST .*\?uploads/.test(what)) expect(headers["x-amz-server-side-encryption"]).toBe("AES256");
  await ask("DELETE", `/uploads/${uploadId}`);
  expect(await listKept(`uploads/${uploadId}`)).toEqual([]);
});

test("a part of another size or number is refused by the store, and content that is not what was declared is removed from it", async () => {
  const content = randomBytes(1_000);
  const begun = await begin(content, hashOf(Buffer.from("another")));
  for (const wrong of [content.subarray(1), Buffer.concat([content, content])])
    expect(await put(urlOf(begun, 1), wrong)).toBe(403);
  expect(await put(urlOf(begun, 1).replace("partNumber=1", "partNumber=2"), content)).toBe(403);
  expect(await put(urlOf(begun, 1), content)).toBe(200);
  const answer = await ask("POST", `/uploads/${begun.uploadId}/complete`);
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(hashOf(content))]);
  expect((await ask("GET", `/uploads/${begun.uploadId}`)).status).toBe(404);
  expect(await listKept(`uploads/${begun.uploadId}`)).toEqual([]);
});

// Of the servers, MinIO alone exchanges a token for credentials.
if (IS_LONG)
  test("credentials that end are renewed; an address that they signed says so, is refused afterwards, and its sender gets another", async () => {
    const content = randomBytes(1_000);
    renews = false;
    await renewToken(SHORT_SECONDS);
    let begun = await begin(content);
    const findEnd = (): number => new Date(begun.linksExpireAt).getTime();
    // The SDK goes on with credentials that are still good while it fetches the next.
    while (findEnd() > Date.now() + SHORT_SECONDS * 1_000) begun = await look(begun.uploadId);
    const endMs = findEnd();
    await renewToken(TOKEN_SECONDS);
    renews = true;
    await sleep(Math.max(0, endMs + 2_000 - Date.now()));
    expect(await put(urlOf(begun, 1), content)).toBe(403);

    const next = await look(begun.uploadId);
    expect(await put(urlOf(next, 1), content)).toBe(200);
    expect((await ask("POST", `/uploads/${begun.uploadId}/complete`)).body).toMatchObject({ complete: true });
    const ran = await ask("POST", "/execute", { orders: { upload: begun.uploadId } });
    expect(ran.body).toMatchObject({ status: "success" });
    expect(own.passed.filter(({ status }) => status === 403)).toEqual([]);
    expect(new Set(own.passed.map(({ headers }) => headers["x-amz-security-token"])).size).toBeGreaterThan(1);
  });

test("a run keeps its input and its output through a store that is busy, breaks off, and changes bytes", async () => {
  const content = randomBytes(500_000);
  const begun = await begin(content);
  expect(await put(urlOf(begun, 1), content)).toBe(200);
  expect((await ask("POST", `/uploads/${begun.uploadId}/complete`)).body).toMatchObject({ complete: true });
  const isInput = (what: string): boolean => what.startsWith("GET") && what.includes("/inputs/");
  const isOutput = (what: string): boolean => what.startsWith("PUT") && what.includes("/outputs/");
  for (const fault of ["another answer", "half of the answer"] as const) own.disturb(fault, isInput);
  for (const fault of ["503", "half of the content", "answer lost", "another content"] as const)
    own.disturb(fault, isOutput);
  const ran = await ask("POST", "/execute", { orders: { upload: begun.uploadId } });
  expect(ran.body).toMatchObject({ status: "success" });
  const outputs = ran.body["outputs"] as { begin: string };
  const path = outputs.begin.slice(service.ready.apiUrl.length);
  const headers = { "x-api-key": workflow.apiKey };
  own.disturb("half of the answer", (what) => what.startsWith("GET") && what.includes("/outputs/"));
  await expect(called.call(path, { method: "GET", headers })).rejects.toMatchObject({ code: "UND_ERR_SOCKET" });
  expect((await called.call(path, { method: "GET", headers })).text).toBe(content.toString("hex", 0, 150_000));
});
