import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import { NoSuchObjectError, type Part, type Parted, type Storage } from "../../storage/storage.ts";
import { keysOf, read, sha256 } from "./content.ts";

const MB = 1_000_000;
const PART_BYTES = 5 * 1024 * 1024;
const SIGNAL = new AbortController().signal;

/** What every storage does of copies and of objects that come in parts. `send` takes a part where senders have a link. */
export function describeParts(name: string, open: () => Promise<{ storage: Storage }>): void {
  const begin = async (): Promise<{ storage: Storage; object: Parted }> => {
    const { storage } = await open();
    const key = "uploads/up_1/content";
    return { storage, object: { key, session: await storage.parts.begin(key) } };
  };

  describe(`${name}, copies and parts`, () => {
    test.each([0, 3 * MB])("copy, of %d bytes, is the same and depends on nothing", async (bytes) => {
      const { storage } = await open();
      const content = randomBytes(bytes);
      await storage.put("a", Readable.from([content]));
      await storage.copy("a", "b/c");
      await storage.put("a", Readable.from([Buffer.from("other")]));
      expect(sha256(await read(storage, "b/c"))).toBe(sha256(content));
      await storage.delete("a");
      expect(await keysOf(storage, "")).toEqual(["b/c"]);
      await storage.copy("b/c", "b/d");
      await storage.copy("b/c", "b/d");
      expect(await keysOf(storage, "")).toEqual(["b/c", "b/d"]);
    });

    test("copy, of what is not there, throws NoSuchObjectError", async () => {
      const { storage } = await open();
      await expect(storage.copy("missing", "b")).rejects.toBeInstanceOf(NoSuchObjectError);
      expect(await keysOf(storage, "")).toEqual([]);
    });

    test("parts, sent in any order and one of them twice, become the object", async () => {
      const { storage, object } = await begin();
      const contents = [randomBytes(PART_BYTES), randomBytes(PART_BYTES), Buffer.from("the end")];
      for (const number of [3, 1, 2, 1]) await send(storage, object, number, contents[number - 1] ?? Buffer.of());
      expect(await listParts(storage, object)).toEqual([
        { number: 1, bytes: PART_BYTES },
        { number: 2, bytes: PART_BYTES },
        { number: 3, bytes: 7 },
      ]);
      const whole = Buffer.concat(contents);
      const result = { bytes: whole.length, sha256: sha256(whole) };
      expect(await storage.parts.complete(object)).toEqual(result);
      expect(await storage.parts.complete(object)).toEqual(result);
      expect(await keysOf(storage, "")).toEqual([object.key]);
      expect(sha256(await read(storage, object.key))).toBe(result.sha256);
      await storage.parts.discard(object.key);
      await storage.parts.discard(object.key);
      expect(await keysOf(storage, "")).toEqual([]);
      await expect(storage.parts.complete(object)).rejects.toBeInstanceOf(NoSuchObjectError);
    }, 60_000);

    test("a part of no bytes becomes an empty object", async () => {
      const { storage, object } = await begin();
      await send(storage, object, 1, Buffer.of());
      expect(await storage.parts.complete(object)).toMatchObject({ bytes: 0 });
    });

    test.each([
      ["more", 2_000],
      ["fewer", 500],
    ])("a part of %s bytes than it was to have leaves nothing", async (_more, bytes) => {
      const { storage, object } = await begin();
      const content = Readable.from([randomBytes(bytes)]);
      await expect(storage.parts.put(object, { number: 1, bytes: 1_000 }, content, SIGNAL)).rejects.toThrow(
        "The part has",
      );
      expect(await listParts(storage, object)).toEqual([]);
    });

    test("discard, of an object whose parts nobody completed, leaves nothing", async () => {
      const { storage, object } = await begin();
      await send(storage, object, 1, Buffer.from("x"));
      await storage.parts.discard(object.key);
      expect(await keysOf(storage, "")).toEqual([]);
      await expect(storage.parts.complete(object)).rejects.toBeInstanceOf(NoSuchObjectError);
    });
  });
}

async function listParts(storage: Storage, object: Parted): Promise<Part[]> {
  return (await storage.parts.list(object)).map(({ number, bytes }) => ({ number, bytes }));
}

async function send(storage: Storage, object: Parted, number: number, content: Buffer): Promise<void> {
  const part = { number, bytes: content.length };
  const link = await storage.parts.link(object, part, 60);
  if (link === undefined) return storage.parts.put(object, part, Readable.from([content]), SIGNAL);
  const answer = await fetch(link.url, { method: "PUT", body: new Uint8Array(content) });
  if (!answer.ok) throw new Error(await answer.text());
}
