import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import { NoSuchObjectError, type ObjectStore, type Storage, TooLargeError } from "../../storage/storage.ts";
import { aFile, endlessContent, inChunks, keysOf, read, sha256 } from "./content.ts";

const MB = 1024 * 1024;

/** Names that must never become a path or a key. */
const HOSTILE_KEYS = [
  "",
  "/",
  "/a",
  "a/",
  "a//b",
  ".",
  "..",
  "../a",
  "a/../b",
  "a/./b",
  "a/..",
  "a\\b",
  "a b",
  "a\0b",
  "a\n",
  "é",
  "a%2fb",
];
const LONG_KEYS = { segment: "a".repeat(256), path: `${"a/".repeat(500)}a` };

export interface Opened {
  readonly storage: Storage;
  /** An empty folder for local files. */
  readonly scratch: string;
}

/** What every storage does, whatever it is made of. `open` gives a storage that holds nothing yet. */
export function describeConformance(name: string, open: () => Promise<Opened>): void {
  describe(name, () => {
    describePut(open);
    describePutFailures(open);
    describePutFile(open);
    describeReading(open);
    describeListing(open);
  });
}

/** What every storage does that takes small objects by the dozen. */
export function describePutAll(name: string, open: () => Promise<Opened & { readonly storage: ObjectStore }>): void {
  test(`putAll, in ${name}, keeps and replaces objects of several folders, an empty one too`, async () => {
    const { storage } = await open();
    await storage.put("a/b/1", Readable.from([Buffer.from("a long first content")]));
    const contents = { "a/b/1": "one", "a/b/2": "", "a/c/d/3": "three\0", log: "line" };
    const objects = Object.entries(contents).map(([key, text]) => ({ key, content: Buffer.from(text) }));
    expect(await storage.putAll(objects)).toEqual([undefined, undefined, undefined, undefined]);
    expect((await keysOf(storage, "")).sort()).toEqual(Object.keys(contents).sort());
    for (const { key, content } of objects) expect(await read(storage, key)).toEqual(content);
  });

  test(`putAll, in ${name}, of a key that leads elsewhere, stores nothing`, async () => {
    const { storage } = await open();
    const objects = ["a", "../b"].map((key) => ({ key, content: Buffer.from("x") }));
    await expect(storage.putAll(objects)).rejects.toThrow(RangeError);
    expect(await keysOf(storage, "")).toEqual([]);
  });
}

function describePut(open: () => Promise<Opened>): void {
  test.each([0, 1, 5 * MB, 8 * MB, 20 * MB + 3])(
    "put, of %d bytes in uneven chunks, keeps each byte and tells count and hash",
    async (bytes) => {
      const { storage } = await open();
      const content = randomBytes(bytes);
      const result = await storage.put("executions/ex_1/inputs/a", inChunks(content));
      expect(result).toEqual({ bytes, sha256: sha256(content) });
      expect(sha256(await read(storage, "executions/ex_1/inputs/a"))).toBe(result.sha256);
      const head = await storage.head("executions/ex_1/inputs/a");
      expect(head?.bytes).toBe(bytes);
      expect(Math.abs(Date.now() - Number(head?.modifiedAt))).toBeLessThan(60_000);
    },
  );

  test("put, of strings, counts bytes and not characters", async () => {
    const { storage } = await open();
    expect(await storage.put("a", Readable.from(["añ", "b"]))).toEqual({
      bytes: 4,
      sha256: sha256(Buffer.from("añb")),
    });
  });

  test("put, of exactly bytesMax, is taken", async () => {
    const { storage } = await open();
    expect(await storage.put("a", inChunks(Buffer.from("12345")), { bytesMax: 5 })).toMatchObject({ bytes: 5 });
  });

  test("put, when the key is taken, replaces the object", async () => {
    const { storage } = await open();
    await storage.put("a/b", Readable.from([Buffer.from("a long first content")]));
    await storage.put("a/b", Readable.from([Buffer.from("second")]));
    expect((await read(storage, "a/b")).toString()).toBe("second");
  });

  test("put, by many at once under one key, ends with the whole of one of them", async () => {
    const { storage } = await open();
    const contents = Array.from({ length: 8 }, () => randomBytes(300_000));
    await Promise.all(contents.map((content) => storage.put("a/b", inChunks(content))));
    expect(contents.map(sha256)).toContain(sha256(await read(storage, "a/b")));
    expect(await keysOf(storage, "")).toEqual(["a/b"]);
  });

  test("put, of 256 MB, never holds more than a fraction of it", async () => {
    const { storage } = await open();
    let made = 0;
    let most = 0;
    const before = process.memoryUsage().arrayBuffers;
    async function* content() {
      for (; made < 256; made += 1) {
        most = Math.max(most, process.memoryUsage().arrayBuffers - before);
        yield Buffer.alloc(MB, made);
      }
    }
    expect(await storage.put("a", Readable.from(content(), { objectMode: false }))).toMatchObject({ bytes: 256 * MB });
    expect(most).toBeLessThan(128 * MB);
  });
}

function describePutFailures(open: () => Promise<Opened>): void {
  test.each([5, 20 * MB])(
    "put, over a bytesMax of %d, throws TooLargeError, stops reading, and leaves what was there",
    async (bytesMax) => {
      const { storage } = await open();
      await storage.put("a", Readable.from([Buffer.from("before")]));
      const endless = endlessContent();
      await expect(storage.put("a", endless, { bytesMax })).rejects.toBeInstanceOf(TooLargeError);
      await expect(storage.put("b", endlessContent(), { bytesMax })).rejects.toBeInstanceOf(TooLargeError);
      expect(endless.destroyed).toBe(true);
      expect((await read(storage, "a")).toString()).toBe("before");
      expect(await keysOf(storage, "")).toEqual(["a"]);
    },
  );

  test.each([0, 100_000, 20 * MB])("put, aborted after %d bytes, rejects and leaves nothing", async (bytes) => {
    const { storage } = await open();
    const controller = new AbortController();
    if (bytes === 0) controller.abort();
    const content = endlessContent((sent) => {
      if (sent > bytes) controller.abort();
    });
    await expect(storage.put("a", content, { signal: controller.signal })).rejects.toMatchObject({
      name: "AbortError",
    });
    expect(content.destroyed).toBe(true);
    expect(await keysOf(storage, "")).toEqual([]);
  });

  test("put, aborted while the content is silent, rejects at once", async () => {
    const { storage } = await open();
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    const silent = new Readable({ read: () => undefined });
    await expect(storage.put("a", silent, { signal: controller.signal })).rejects.toMatchObject({ name: "AbortError" });
    expect(await keysOf(storage, "")).toEqual([]);
  });

  test.each(["an error", "no error"])(
    "put, when the content breaks off with %s, rejects and leaves nothing",
    async (how) => {
      const { storage } = await open();
      const content = endlessContent((sent) => {
        if (sent > 12 * MB) content.destroy(how === "an error" ? new Error("client hung up") : undefined);
      });
      await expect(storage.put("a", content)).rejects.toMatchObject(
        how === "an error" ? { message: "client hung up" } : { code: "ERR_STREAM_PREMATURE_CLOSE" },
      );
      expect(await keysOf(storage, "")).toEqual([]);
    },
  );

  test("put, when the content fails before it is first read, rejects with its failure", async () => {
    const { storage } = await open();
    const content = new Readable({ read: () => undefined });
    const putting = storage.put("a", content);
    content.destroy(new Error("client hung up"));
    await expect(putting).rejects.toMatchObject({ message: "client hung up" });
  });

  const named = [
    ...HOSTILE_KEYS.map((key) => [key, key]),
    ["a long segment", LONG_KEYS.segment],
    ["a long path", LONG_KEYS.path],
  ];
  test.each(named)("every method, given the hostile key %j, refuses it as a RangeError", async (_, key = "") => {
    const { storage, scratch } = await open();
    const content = endlessContent();
    await expect(storage.put(key, content)).rejects.toBeInstanceOf(RangeError);
    expect(content.destroyed).toBe(true);
    const path = await aFile(scratch, "x");
    await expect(storage.putFile(key, path)).rejects.toBeInstanceOf(RangeError);
    await expect(storage.get(key)).rejects.toBeInstanceOf(RangeError);
    await expect(storage.head(key)).rejects.toBeInstanceOf(RangeError);
    await expect(storage.delete(key)).rejects.toBeInstanceOf(RangeError);
    await expect(storage.localFile(key, join(scratch, "copy"))).rejects.toBeInstanceOf(RangeError);
    expect(await readFile(path, "utf8")).toBe("x");
    expect(await keysOf(storage, "")).toEqual([]);
  });
}

function describePutFile(open: () => Promise<Opened>): void {
  test.each([0, 20 * MB + 3])("putFile, of %d bytes, moves the file and tells count and hash", async (bytes) => {
    const { storage, scratch } = await open();
    const content = randomBytes(bytes);
    const path = await aFile(scratch, content);
    expect(await storage.putFile("executions/ex_1/outputs/0", path)).toEqual({ bytes, sha256: sha256(content) });
    expect(sha256(await read(storage, "executions/ex_1/outputs/0"))).toBe(sha256(content));
    expect(await readdir(scratch)).toEqual([]);
  });

  test("putFile, when the key is taken, replaces the object", async () => {
    const { storage, scratch } = await open();
    await storage.put("a", Readable.from([Buffer.from("a long first content")]));
    await storage.putFile("a", await aFile(scratch, "second"));
    expect((await read(storage, "a")).toString()).toBe("second");
  });

  test("putFile, of what is no regular file, refuses and stores nothing", async () => {
    const { storage, scratch } = await open();
    const secret = await aFile(scratch, "secret");
    await symlink(secret, join(scratch, "link"));
    await mkdir(join(scratch, "folder"));
    execFileSync("mkfifo", [join(scratch, "pipe")]);
    await expect(storage.putFile("a", join(scratch, "link"))).rejects.toMatchObject({ code: "ELOOP" });
    await expect(storage.putFile("a", join(scratch, "folder"))).rejects.toThrow("not a regular file");
    await expect(storage.putFile("a", join(scratch, "pipe"))).rejects.toThrow("not a regular file");
    await expect(storage.putFile("a", join(scratch, "missing"))).rejects.toMatchObject({ code: "ENOENT" });
    expect(await keysOf(storage, "")).toEqual([]);
    expect((await readdir(scratch)).length).toBe(4);
  });
}

function describeReading(open: () => Promise<Opened>): void {
  test.each([
    [{ start: 0, end: 0 }, "0"],
    [{ start: 2, end: 4 }, "234"],
    [{ start: 9, end: 9 }, "9"],
    [{ start: 7, end: 1_000 }, "789"],
    [{ start: 0, end: 9 }, "0123456789"],
  ])("get, of the range %j of ten bytes, gives both ends", async (range, expected) => {
    const { storage } = await open();
    await storage.put("a", Readable.from([Buffer.from("0123456789")]));
    expect((await read(storage, "a", range)).toString()).toBe(expected);
  });

  test.each([
    { start: 10, end: 20 },
    { start: -1, end: 4 },
    { start: 4, end: 3 },
    { start: 0.5, end: 3 },
    { start: 0, end: Number.NaN },
  ])("get, of the range %j of ten bytes, throws a RangeError", async (range) => {
    const { storage } = await open();
    await storage.put("a", Readable.from([Buffer.from("0123456789")]));
    await expect(storage.get("a", range)).rejects.toBeInstanceOf(RangeError);
  });

  test.each(["missing", "a", "a/b/missing", "a/b/c/deeper"])(
    "get and its kin, of %s where there is only a/b/c, find nothing",
    async (key) => {
      const { storage, scratch } = await open();
      await storage.put("a/b/c", Readable.from([Buffer.from("x")]));
      await expect(storage.get(key)).rejects.toBeInstanceOf(NoSuchObjectError);
      await expect(storage.get(key, { start: 0, end: 1 })).rejects.toBeInstanceOf(NoSuchObjectError);
      await expect(storage.localFile(key, join(scratch, "copy"))).rejects.toBeInstanceOf(NoSuchObjectError);
      expect(await storage.head(key)).toBeUndefined();
      await storage.delete(key);
      expect(await keysOf(storage, "")).toEqual(["a/b/c"]);
      expect(await readdir(scratch)).toEqual([]);
    },
  );

  test("delete, done twice, removes this object and no other", async () => {
    const { storage } = await open();
    for (const key of ["a/b", "a/b2", "a/c/d"]) await storage.put(key, Readable.from([Buffer.from("x")]));
    await storage.delete("a/b");
    await storage.delete("a/b");
    expect(await storage.head("a/b")).toBeUndefined();
    expect(await keysOf(storage, "")).toEqual(["a/b2", "a/c/d"]);
  });

  test("localFile, of an object, is a file that any user may read", async () => {
    const { storage, scratch } = await open();
    const content = randomBytes(3 * MB);
    await storage.put("a/b", inChunks(content));
    const path = await storage.localFile("a/b", join(scratch, "copy"));
    expect(sha256(await readFile(path))).toBe(sha256(content));
    expect((await stat(path)).mode & 0o444).toBe(0o444);
    expect((await readdir(scratch)).filter((name) => name !== "copy")).toEqual([]);
  });

  test("check, of a storage that works, leaves nothing behind", async () => {
    const { storage } = await open();
    await storage.check();
    expect(await keysOf(storage, "")).toEqual([]);
  });
}

function describeListing(open: () => Promise<Opened>): void {
  test("list, by prefixes, gives the keys that begin with them", async () => {
    const { storage } = await open();
    const keys = ["executions/ex_1/a", "executions/ex_1/b/c", "executions/ex_10/a", "commits/x", "top"];
    for (const key of keys) await storage.put(key, Readable.from([Buffer.from("x")]));
    expect(await keysOf(storage, "")).toEqual([...keys].sort());
    expect(await keysOf(storage, "executions/ex_1/")).toEqual(["executions/ex_1/a", "executions/ex_1/b/c"]);
    expect(await keysOf(storage, "executions/ex_1")).toEqual([
      "executions/ex_1/a",
      "executions/ex_1/b/c",
      "executions/ex_10/a",
    ]);
    expect(await keysOf(storage, "top")).toEqual(["top"]);
    expect(await keysOf(storage, "nothing/at/all")).toEqual([]);
  });

  test.each(["../", "/", "a/../", "a//", "..//a", "a b"])(
    "list, of the hostile prefix %j, refuses it as a RangeError",
    async (prefix) => {
      const { storage } = await open();
      await expect(keysOf(storage, prefix)).rejects.toBeInstanceOf(RangeError);
    },
  );

  test("list, of more keys than a page of S3 holds, gives each once", async () => {
    const { storage } = await open();
    const keys = Array.from({ length: 1_050 }, (_, index) => `many/${String(index).padStart(4, "0")}`);
    for (let from = 0; from < keys.length; from += 50) {
      await Promise.all(keys.slice(from, from + 50).map((key) => storage.put(key, Readable.from([Buffer.from("x")]))));
    }
    expect(await keysOf(storage, "many/")).toEqual(keys);
  });
}
