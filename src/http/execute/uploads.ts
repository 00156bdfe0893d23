import type { Readable } from "node:stream";
import type { Db } from "../../../db/connect.ts";
import { forgetUploads, noteUploads } from "../../../db/executions/uploads.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import type { Storage } from "../../../storage/storage.ts";

export interface Upload {
  readonly storageKey: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The input files of a request that has not become an execution yet. */
export interface Uploads {
  put(content: Readable, options: { bytesMax: number; signal: AbortSignal }): Promise<Upload>;
  /** Copies an object of storage, which stays. Returns the key of the copy. */
  copy(storageKey: string): Promise<string>;
  /** Deletes one that turned out to be no input. */
  remove(storageKey: string): Promise<void>;
  /** Deletes everything that was stored, and what is still on its way: the request was refused. */
  discard(): Promise<void>;
}

/** Files are noted before the first of them is stored, so that they are found should this process die before the end of the request. */
export function createUploads({ db, storage }: { db: Db; storage: Storage }, executionId: ExecutionId): Uploads {
  const keys: string[] = [];
  let noted: Promise<void> | undefined;
  const underWay: Promise<unknown>[] = [];

  async function keep<T>(store: (storageKey: string) => Promise<T>): Promise<{ storageKey: string; stored: T }> {
    const storageKey = `executions/${executionId}/inputs/${keys.length}`;
    keys.push(storageKey);
    noted ??= noteUploads(db, executionId);
    const storing = noted.then(() => store(storageKey));
    underWay.push(storing);
    return { storageKey, stored: await storing };
  }

  return {
    async put(content, options) {
      const { storageKey, stored } = await keep((key) => storage.put(key, content, options));
      return { storageKey, ...stored };
    },
    copy: async (from) => (await keep((key) => storage.copy(from, key))).storageKey,
    remove: (storageKey) => storage.delete(storageKey),
    async discard() {
      await Promise.allSettled(underWay);
      await Promise.all(keys.map((key) => storage.delete(key)));
      if (noted !== undefined) await forgetUploads(db, [executionId]);
    },
  };
}
