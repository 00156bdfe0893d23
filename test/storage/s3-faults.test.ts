import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { S3_INSTALL_MS_MAX } from "../../bench/s3-programs.ts";
import { type S3Server, startS3Server } from "../../bench/s3-server.ts";
import { createS3Storage } from "../../storage/s3.ts";
import { findStorageFault, type Storage } from "../../storage/storage.ts";
import { openStoreProxy, type StoreFault, type StoreProxy } from "../support/store-proxy.ts";
import { inChunks, keysOf, read, sha256 } from "./content.ts";
import { isStrict, S3_KINDS } from "./servers.ts";

/** What becomes three parts. */
const LONG_BYTES = 12_000_000;
const LATER = new Date(Date.now() + 3 * 86_400_000);
const OPERATIONS: readonly (readonly [name: string, isMeant: (what: string) => boolean])[] = [
  ["the beginning", (what) => what.startsWith("POST") && /\?uploads/.test(what)],
  ["a part", (what) => what.startsWith("PUT") && what.includes("partNumber=2")],
  ["the completing", (what) => what.startsWith("POST") && what.includes("uploadId=")],
];
const isPut = (what: string): boolean => what.startsWith("PUT");
const isGet = (what: string): boolean => what.startsWith("GET");

describe.each(S3_KINDS)("storage in %s, behind a line on which things go wrong", (kind) => {
  let server: S3Server;
  let proxy: StoreProxy;
  let storage: Storage;
  let scratch: string;

  beforeAll(async () => {
    server = await startS3Server({ kind });
  }, S3_INSTALL_MS_MAX);

  afterAll(() => server?.stop());

  beforeEach(async () => {
    scratch = await mkdtemp(join(tmpdir(), "treadle-s3-faults-"));
    proxy = await openStoreProxy(server);
    const prefix = `t/${randomBytes(6).toString("hex")}`;
    const endpoint = `http://127.0.0.1:${proxy.port}`;
    storage = await createS3Storage({ ...server, endpoint, prefix, forcePathStyle: true }, { answerMsMax: 1_000 });
  });

  afterEach(async () => {
    await proxy.close();
    await rm(scratch, { recursive: true, force: true });
  });

  const faultOf = async (act: Promise<unknown>): Promise<unknown> => {
    const error: unknown = await act.then(
      () => expect("no error").toBe("an error"),
      (reason: unknown) => reason,
    );
    return findStorageFault(error) ?? error;
  };
  const countAll = (isMeant: (what: string) => boolean): number =>
    proxy.passed.filter(({ what }) => isMeant(what)).length;

  test.each<StoreFault>(["503", "half of the content", "answer lost"])(
    "put, of a short content with %s twice, is sent again and there once",
    async (fault) => {
      proxy.disturb(fault, isPut, 2);
      const content = randomBytes(100_000);
      expect(await storage.put("a", inChunks(content))).toEqual({ bytes: 100_000, sha256: sha256(content) });
      expect(countAll(isPut)).toBe(3);
      expect(sha256(await read(storage, "a"))).toBe(sha256(content));
      expect(await keysOf(storage, "")).toEqual(["a"]);
    },
  );

  test.each(
    OPERATIONS.flatMap(([name, isMeant]) =>
      (["503", "answer lost"] as const).map((fault) => [fault, name, isMeant] as const),
    ),
  )(
    "put, of a long content with %s at %s, is there whole; what is left of it, is swept",
    async (fault, name, isMeant) => {
      proxy.disturb(fault, isMeant);
      const content = randomBytes(LONG_BYTES);
      expect(await storage.put("a", inChunks(content))).toEqual({ bytes: LONG_BYTES, sha256: sha256(content) });
      expect(sha256(await read(storage, "a"))).toBe(sha256(content));
      expect(await keysOf(storage, "")).toEqual(["a"]);
      const begunTwice = fault === "answer lost" && name === "the beginning";
      expect(await storage.sweep(LATER)).toBe(begunTwice ? 1 : 0);
      expect(await storage.sweep(LATER)).toBe(0);
    },
  );

  test("put, of a long content that is answered 200 with an error in it, is completed again", async () => {
    const [, [, isPart], [, isCompleting]] = OPERATIONS as [unknown, (typeof OPERATIONS)[0], (typeof OPERATIONS)[0]];
    proxy.disturb("500 within 200", isCompleting);
    proxy.disturb("half of the content", isPart);
    const content = randomBytes(LONG_BYTES);
    expect(await storage.put("a", inChunks(content))).toEqual({ bytes: LONG_BYTES, sha256: sha256(content) });
    expect(sha256(await read(storage, "a"))).toBe(sha256(content));
  });

  if (isStrict(kind))
    test.each([100_000, LONG_BYTES])(
      "put, of %d bytes that change on their way, is refused and stores nothing",
      async (bytes) => {
        proxy.disturb("another content", isPut, 10);
        await expect(storage.put("a", inChunks(randomBytes(bytes)))).rejects.toMatchObject({
          $metadata: { httpStatusCode: 400 },
        });
        expect(await keysOf(storage, "")).toEqual([]);
        expect(await storage.sweep(LATER)).toBe(0);
      },
    );

  test.each<StoreFault>(["503", "no answer"])("get and its kin, with %s once, ask again", async (fault) => {
    const content = randomBytes(100_000);
    await storage.put("a/b", inChunks(content));
    const isHead = (what: string): boolean => what.startsWith("HEAD");
    const isDelete = (what: string): boolean => what.startsWith("DELETE");
    for (const isMeant of [isHead, isGet, isDelete]) proxy.disturb(fault, isMeant);
    expect((await storage.head("a/b"))?.bytes).toBe(100_000);
    expect(sha256(await read(storage, "a/b"))).toBe(sha256(content));
    proxy.disturb(fault, isGet);
    expect(await keysOf(storage, "")).toEqual(["a/b"]);
    await storage.delete("a/b");
    expect(await storage.head("a/b")).toBeUndefined();
  });

  test("get, whose answer breaks off, fails as storage that is away; a local copy of it is not there", async () => {
    await storage.put("a", inChunks(randomBytes(3_000_000)));
    proxy.disturb("half of the answer", isGet, 2);
    expect(await faultOf(read(storage, "a"))).toBe("away");
    expect(await faultOf(storage.localFile("a", join(scratch, "copy")))).toBe("away");
    expect(await readdir(scratch)).toEqual([]);
    expect((await read(storage, "a")).length).toBe(3_000_000);
  });

  test("localFile, of a content that changed on its way, is not made; the next one is", async () => {
    const content = randomBytes(300_000);
    await storage.put("a", inChunks(content));
    proxy.disturb("another answer", isGet);
    const path = join(scratch, "copy");
    expect(await faultOf(storage.localFile("a", path, sha256(content)))).toBe("away");
    expect(await readdir(scratch)).toEqual([]);
    expect(sha256(await readFile(await storage.localFile("a", path, sha256(content))))).toBe(sha256(content));
  });

  // versitygw keeps half a part as a whole one, its rest zeros, and may do so after the next try. The SHA-256 of the whole finds it.
  const keepsHalves = kind === "versitygw";
  const atParts: readonly StoreFault[] = ["503", "answer lost", "no answer"];

  test.each<StoreFault>(keepsHalves ? atParts : [...atParts, "half of the content"])(
    "a part through here, with %s, fails as storage that is away, and its sender may send it again",
    async (fault) => {
      const object = { key: "a", session: await storage.parts.begin("a") };
      const content = randomBytes(200_000);
      const part = { number: 1, bytes: content.length };
      const put = () => storage.parts.put(object, part, Readable.from([content]), new AbortController().signal);
      proxy.disturb(fault, isPut);
      expect(await faultOf(put())).toBe("away");
      await put();
      proxy.disturb("answer lost", (what) => what.startsWith("POST") && what.includes("uploadId="));
      expect(await storage.parts.complete(object)).toEqual({ bytes: content.length, sha256: sha256(content) });
    },
  );
});
