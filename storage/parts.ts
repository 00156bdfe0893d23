import { Readable } from "node:stream";
import { meter } from "./meter.ts";
import {
  NoSuchObjectError,
  type Part,
  type PartStorage,
  type PutResult,
  type Storage,
  TooLargeError,
} from "./storage.ts";

/** Parts as objects of their own, in a storage that senders cannot reach. */
export function createPartStorage(storage: Pick<Storage, "put" | "get" | "head" | "list" | "delete">): PartStorage {
  const folderOf = (key: string): string => `${key}.parts/`;
  const partKey = (key: string, number: number): string => `${folderOf(key)}${number}`;

  async function list(key: string): Promise<Part[]> {
    const parts: Part[] = [];
    for await (const found of storage.list(folderOf(key))) {
      const head = await storage.head(found);
      if (head !== undefined) parts.push({ number: Number(found.slice(folderOf(key).length)), bytes: head.bytes });
    }
    return parts.sort((one, other) => one.number - other.number);
  }

  async function* join(key: string, parts: readonly Part[]): AsyncGenerator<Buffer> {
    for (const { number } of parts) yield* (await storage.get(partKey(key, number))) as AsyncIterable<Buffer>;
  }

  return {
    begin: async () => "",
    link: async () => undefined,
    async put({ key }, { number, bytes }, content, signal) {
      await storage.put(partKey(key, number), requireLength(content, bytes), { signal });
    },
    list: ({ key }) => list(key),
    async complete({ key }) {
      const parts = await list(key);
      // What has the key is whole. Its parts may be gone in part, should a process have died here.
      const isJoined = parts.length === 0 || (await storage.head(key)) !== undefined;
      const joined = isJoined
        ? await describeObject(storage, key)
        : await storage.put(key, Readable.from(join(key, parts), { objectMode: false }));
      for (const { number } of parts) await storage.delete(partKey(key, number));
      return joined;
    },
    async discard(key) {
      for await (const part of storage.list(folderOf(key))) await storage.delete(part);
      await storage.delete(key);
    },
  };
}

/** Fails content that has more bytes, or fewer. */
export function requireLength(content: Readable, bytes: number): Readable {
  async function* whole(): AsyncGenerator<Buffer> {
    let seen = 0;
    // What is not read stays in its stream: a sender's connection must not end here, as it has yet to hear what is wrong.
    for await (const chunk of content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      seen += chunk.length;
      if (seen > bytes) throw new TooLargeError(`The part has more than ${bytes} bytes.`);
      yield chunk;
    }
    if (seen < bytes) throw new RangeError(`The part has ${seen} bytes and not ${bytes}.`);
  }
  return Readable.from(whole(), { objectMode: false });
}

/** Reads an object to say what it is. */
export async function describeObject(storage: Pick<Storage, "get" | "head">, key: string): Promise<PutResult> {
  if ((await storage.head(key)) === undefined) throw new NoSuchObjectError(`There is no object ${key}.`);
  const metered = meter(await storage.get(key));
  for await (const _ of metered.chunks());
  return metered.result();
}
