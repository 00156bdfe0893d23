import { randomBytes } from "node:crypto";
import dns from "node:dns";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { HeadObjectCommand, ListMultipartUploadsCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { S3_INSTALL_MS_MAX } from "../../bench/s3-programs.ts";
import { type S3Server, startS3Server } from "../../bench/s3-server.ts";
import { createS3Storage, type S3Settings } from "../../storage/s3.ts";
import { NoSuchObjectError } from "../../storage/storage.ts";
import { describeConformance, describePutAll } from "./conformance.ts";
import { endlessContent, inChunks, keysOf, read } from "./content.ts";
import { describeParts } from "./parts.ts";
import { isStrict, S3_KINDS } from "./servers.ts";

/** A name below `localhost` is this machine, as browsers and systemd have it; Debian's resolver by itself does not know it. */
const { lookup } = dns;

beforeAll(() => {
  Object.assign(dns, {
    lookup: (name: string, ...more: unknown[]) =>
      Reflect.apply(lookup, dns, [name.endsWith(".localhost") ? "localhost" : name, ...more]),
  });
});

afterAll(() => void Object.assign(dns, { lookup }));

describe.each(S3_KINDS)("%s", (kind) => {
  let server: S3Server;
  let root: string;
  const releases: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "treadle-s3-test-"));
    releases.push(() => rm(root, { recursive: true, force: true }));
    server = await startS3Server({ kind });
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

  function aClient(): S3Client {
    const { accessKeyId, secretAccessKey, endpoint, region } = server;
    return new S3Client({ endpoint, region, forcePathStyle: true, credentials: { accessKeyId, secretAccessKey } });
  }

  describeConformance("storage in S3", openBucket);
  describePutAll("storage in S3", openBucket);
  describeParts("storage in S3", openBucket);
  describeParts("storage in S3 that senders reach", () => openBucket({ uploadEndpoint: server.endpoint }));

  if (isStrict(kind))
    describeParts("storage in S3 with the bucket in host names", () => {
      const endpoint = server.endpoint.replace("127.0.0.1", "localhost");
      return openBucket({ endpoint, uploadEndpoint: endpoint, forcePathStyle: false });
    });

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
    const client = aClient();
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: server.bucket }));
    client.destroy();
    expect(Uploads.filter(({ Key = "" }) => Key.startsWith(prefix))).toEqual([]);
  });

  if (isStrict(kind))
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

  // versitygw takes these headers and does not encrypt.
  if (kind === "minio")
    test("objects that came at once, in parts and by copying, with encryption, are encrypted by the store", async () => {
      const { storage, prefix } = await openBucket({ encryption: "AES256", uploadEndpoint: server.endpoint });
      await storage.put("short", Readable.from([Buffer.from("x")]));
      await storage.put("long", inChunks(randomBytes(12_000_000)));
      await storage.copy("short", "copied");
      const object = { key: "sent", session: await storage.parts.begin("sent") };
      const link = await storage.parts.link(object, { number: 1, bytes: 1 }, 60);
      expect((await fetch(String(link?.url), { method: "PUT", body: "x" })).status).toBe(200);
      await storage.parts.complete(object);
      const client = aClient();
      const heads = ["short", "long", "copied", "sent"].map((key) =>
        client.send(new HeadObjectCommand({ Bucket: server.bucket, Key: `${prefix}/${key}` })),
      );
      const encryptions = (await Promise.all(heads)).map(({ ServerSideEncryption }) => ServerSideEncryption);
      client.destroy();
      expect(encryptions).toEqual(["AES256", "AES256", "AES256", "AES256"]);
      expect((await read(storage, "copied")).toString()).toBe("x");
    });
});

describe("storage in S3", () => {
  const settings = { region: "us-east-1", bucket: "b", prefix: "", forcePathStyle: true };
  const open = (endpoint: string) =>
    createS3Storage({ ...settings, endpoint, accessKeyId: "id", secretAccessKey: "secret" });

  test("check, of a server that takes the call and never answers, gives up after a second", async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = silent.address() as AddressInfo;
      const storage = await open(`http://127.0.0.1:${port}`);
      await expect(storage.check()).rejects.toThrow("did not answer within 1000 ms");
    } finally {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => silent.close(resolve));
    }
  });

  test("check, of a port where nobody listens, says which", async () => {
    const storage = await open("http://127.0.0.1:9");
    await expect(storage.check()).rejects.toThrow("ECONNREFUSED 127.0.0.1:9");
  });

  test("createS3Storage, with half of a pair of keys, refuses", async () => {
    await expect(createS3Storage({ ...settings, accessKeyId: "only" })).rejects.toThrow("neither");
  });
});
