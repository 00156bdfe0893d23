import { Readable } from "node:stream";
import { requireRange } from "./keys.ts";
import type { Storage } from "./storage.ts";

/** Small objects on their way to storage: they are kept elsewhere until they are moved. */
export interface SmallObjects {
  find(key: string): Promise<Buffer | undefined>;
  list(prefix: string): Promise<readonly string[]>;
  delete(key: string): Promise<void>;
  /** Hands the object to `store`, then forgets it. Does nothing when there is none. */
  move(key: string, store: (content: Buffer) => Promise<unknown>): Promise<void>;
}

/** Outputs and logs of executions; nothing else is kept as a small object. */
const MAY_BE_SMALL = /^executions\/[^/]+\/(?:again-\d+\/)?(?:outputs\/|log\.ndjson$)/;

/**
 * Storage together with what is still on its way there: readers find an object in either. Before
 * a key is written to, or its file is asked for, the object is moved. So an older content never replaces a newer one.
 */
export function withSmallObjects(storage: Storage, small: SmallObjects): Storage {
  const mayBeSmall = (key: string): boolean => MAY_BE_SMALL.test(key);
  const settle = async (key: string): Promise<void> => {
    if (mayBeSmall(key)) await moveToStorage(storage, small, key);
  };
  return {
    put: async (key, content, options) => {
      await settle(key).catch((error: unknown) => {
        content.destroy();
        throw error;
      });
      return storage.put(key, content, options);
    },
    putFile: async (key, path) => {
      await settle(key);
      return storage.putFile(key, path);
    },
    get: async (key, range) => {
      const content = mayBeSmall(key) ? await small.find(key) : undefined;
      if (content === undefined) return storage.get(key, range);
      if (range === undefined) return Readable.from([content]);
      requireRange(range);
      if (range.start >= content.length) throw new RangeError(`The object ${key} has only ${content.length} bytes.`);
      return Readable.from([content.subarray(range.start, range.end + 1)]);
    },
    head: async (key) => {
      await settle(key);
      return storage.head(key);
    },
    delete: async (key) => {
      if (mayBeSmall(key)) await small.delete(key);
      await storage.delete(key);
    },
    list: async function* (prefix) {
      const seen = new Set(await small.list(prefix));
      yield* seen;
      for await (const key of storage.list(prefix)) if (!seen.has(key)) yield key;
    },
    localFile: async (key, scratchPath, sha256) => {
      await settle(key);
      return storage.localFile(key, scratchPath, sha256);
    },
    copy: async (from, to) => {
      await settle(from);
      await settle(to);
      return storage.copy(from, to);
    },
    parts: storage.parts,
    sweep: (now) => storage.sweep(now),
    check: () => storage.check(),
  };
}

/** Brings a small object to storage; it is found all the while. */
export function moveToStorage(storage: Storage, small: SmallObjects, key: string): Promise<void> {
  return small.move(key, (content) => storage.put(key, Readable.from([content])));
}
