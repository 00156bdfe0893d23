import type { Readable } from "node:stream";
import type { Storage } from "../../activities/storage/storage.ts";
import type { ExecutionId } from "../../domain/ids.ts";

export interface Upload {
  readonly storageKey: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The input files of a request that has not become an execution yet. */
export interface Uploads {
  put(content: Readable, options: { bytesMax: number; signal: AbortSignal }): Promise<Upload>;
  /** Deletes one that turned out to be no input. */
  remove(storageKey: string): Promise<void>;
  /** Deletes everything that was stored, and what is still on its way: the request was refused. */
  discard(): Promise<void>;
}

export function createUploads(storage: Storage, executionId: ExecutionId): Uploads {
  const keys: string[] = [];
  const underWay: Promise<unknown>[] = [];
  return {
    async put(content, options) {
      const storageKey = `executions/${executionId}/inputs/${keys.length}`;
      keys.push(storageKey);
      const stored = storage.put(storageKey, content, options);
      underWay.push(stored);
      return { storageKey, ...(await stored) };
    },
    remove: (storageKey) => storage.delete(storageKey),
    async discard() {
      await Promise.allSettled(underWay);
      await Promise.all(keys.map((key) => storage.delete(key)));
    },
  };
}
