import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { ListMultipartUploadsCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { S3_INSTALL_MS_MAX, type S3Server, startS3Server } from "../../bench/s3-server.ts";
import { createS3Storage, type S3Settings } from "../../storage/s3.ts";
import { NoSuchObjectError } from "../../storage/storage.ts";
import { describeConformance } from "./conformance.ts";
import { endlessContent, keysOf, read } from "./content.ts";
import { describeParts } from "./parts.ts";

let server: S3Server;
let root: string;
const releases: (() => Promise<void>)[] = [];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "treadle-s3-test-"));
  releases.push(() => rm(root, { recursive: true, force: true }));
  server = await startS3Server();
  releases.push(server.stop);
}, S3_INSTALL_MS_MAX);

afterAll(async () => {
  for (const release of releases.reverse()) await release();
});

/** Tests share the bucket, each behind a prefix of its own. */
async function openBucket(changes: Partial<S3Settings> = {}) {
  const prefix = changes.prefix ?? `t/${randomBytes(6).toString("hex")}`;
  const scratch = join(root, randomBytes(6).toString("hex"));
  await mkdir(scratch);
  return { storage: await createS3Storage({ ...server, forcePathStyle: true, prefix, ...changes }), scratch, prefix };
}

describeConformance("storage in S3", openBucket);
describeParts("storage in S3", openBucket);
describeParts("storage in S3 that senders reach", () => openBucket({ uploadEndpoint: server.endpoint }));

describe("storage in S3", () => {
  test("put, that is aborted or too large after some parts were sent, takes the parts back", async () => {
    const { storage, prefix } = await openBucket();
    const controller = new AbortController();
    const content = endlessContent((sent) => {
      if (sent > 30_000_000) controller.abort();
    });
    await expect(storage.put("a", content, { signal: controller.signal })).rejects.toMatchObject({
      name: "AbortError",
    });
    await expect(storage.put("b", endlessContent(), { bytesMax: 30_000_000 })).rejects.toMatchObject({
      name: "TooLargeError",
    });
    const { accessKeyId, secretAccessKey, endpoint, region } = server;
    const client = new S3Client({
      endpoint,
      region,
      forcePathStyle: true,
      credentials: { accessKeyId, secretAccessKey },
    });
    const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket: server.bucket, Prefix: prefix }));
    client.destroy();
    expect(Uploads ?? []).toEqual([]);
  });

  test("sweep, of an upload that a killed process left, takes back one that is old, and keeps one that may go on", async () => {
    const { storage } = await openBucket({ prefix: "swept" });
    const other = await openBucket({ prefix: "other" });
    const [young, foreign] = [await storage.parts.begin("a"), await other.storage.parts.begin("a")];
    expect(await storage.sweep()).toBe(0);
    expect(await storage.sweep(new Date(Date.now() + 3 * 86_400_000))).toBe(1);
    await expect(storage.parts.list({ key: "a", session: young })).rejects.toBeInstanceOf(NoSuchObjectError);
    expect(await other.storage.parts.list({ key: "a", session: foreign })).toEqual([]);
  });

  test("list, in a bucket shared by two prefixes, sees only its own objects", async () => {
    const one = await openBucket({ prefix: "shared/one" });
    const other = await openBucket({ prefix: "shared/one-more" });
    await one.storage.put("a", Readable.from([Buffer.from("1")]));
    await other.storage.put("a", Readable.from([Buffer.from("2")]));
    await other.storage.put("b", Readable.from([Buffer.from("2")]));
    expect(await keysOf(one.storage, "")).toEqual(["a"]);
    expect((await read(one.storage, "a")).toString()).toBe("1");
  });

  test("put, of a key without prefix, uses the key as it is", async () => {
    const whole = await openBucket({ prefix: "" });
    const within = await openBucket({ prefix: "plain" });
    await whole.storage.put("plain/a", Readable.from([Buffer.from("1")]));
    expect(await keysOf(within.storage, "")).toEqual(["a"]);
  });

  test("check, of a bucket that does not exist, says so", async () => {
    const { storage } = await openBucket({ bucket: "no-such-bucket" });
    await expect(storage.check()).rejects.toMatchObject({ name: "NoSuchBucket" });
  });

  test("check, of a server that takes the call and never answers, gives up after a second", async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = silent.address() as AddressInfo;
      const { storage } = await openBucket({ endpoint: `http://127.0.0.1:${port}` });
      await expect(storage.check()).rejects.toThrow("did not answer within 1000 ms");
    } finally {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => silent.close(resolve));
    }
  });

  test("check, of a port where nobody listens, says which", async () => {
    const { storage } = await openBucket({ endpoint: "http://127.0.0.1:9" });
    await expect(storage.check()).rejects.toThrow("ECONNREFUSED 127.0.0.1:9");
  });

  test("createS3Storage, with half of a pair of keys, refuses", async () => {
    const settings = { region: "us-east-1", bucket: "b", prefix: "", forcePathStyle: true, accessKeyId: "only" };
    await expect(createS3Storage(settings)).rejects.toThrow("neither");
  });
});
