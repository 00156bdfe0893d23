import type { Readable } from "node:stream";

/** What storage knows of one object without reading it. */
export interface ObjectHead {
  readonly bytes: number;
  readonly modifiedAt: Date;
}

export interface PutResult {
  readonly bytes: number;
  /** Lower-case hex, computed while the bytes went by. */
  readonly sha256: string;
}

/**
 * Where files are kept. Keys are relative paths of our own making (`executions/ex_…/inputs/<random>`):
 * segments of `[A-Za-z0-9._-]`, never a customer's file name. Two implementations, one conformance suite.
 */
export interface Storage {
  /**
   * Streams an object in; it appears whole under its key or not at all (durable when the promise resolves).
   * Replaces an object of the same key. Throws `TooLargeError` after `bytesMax` bytes, leaving nothing behind.
   */
  put(key: string, content: Readable, options?: { bytesMax?: number; signal?: AbortSignal }): Promise<PutResult>;
  /** Takes a finished local file, by renaming it where that is possible. The file is gone afterwards. */
  putFile(key: string, path: string): Promise<PutResult>;
  /** Streams an object, or the bytes `start` to `end` (both included). Throws `NoSuchObjectError`. */
  get(key: string, range?: { start: number; end: number }): Promise<Readable>;
  head(key: string): Promise<ObjectHead | undefined>;
  /** Deleting what is not there is fine. */
  delete(key: string): Promise<void>;
  /** Keys under a prefix, in no particular order. */
  list(prefix: string): AsyncIterable<string>;
  /** A file of this machine with the object's content, read-only: the object itself on disk storage, else a copy made at `scratchPath`. */
  localFile(key: string, scratchPath: string): Promise<string>;
  /** Proves that storage can be written and read, within a second. Throws what it met. */
  check(): Promise<void>;
}

export class NoSuchObjectError extends Error {
  override readonly name = "NoSuchObjectError";
}

export class TooLargeError extends Error {
  override readonly name = "TooLargeError";
}

/** The disk has no room left; what was being written is gone again. A passing fault: it works again when there is room. */
export class StorageFullError extends Error {
  override readonly name = "StorageFullError";
}

/** What the S3 client adds to its errors: also to those of the connection, which have no status. */
interface ClientError {
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly code?: unknown;
}

/** How storage fails where the same call may succeed later; undefined for other errors. */
export function findStorageFault(error: unknown): "full" | "away" | undefined {
  const { $metadata, code } = (error ?? {}) as ClientError;
  if (error instanceof StorageFullError || code === "ENOSPC" || code === "EDQUOT") return "full";
  if ($metadata === undefined) return undefined;
  const { httpStatusCode = 503 } = $metadata;
  return httpStatusCode >= 500 || httpStatusCode === 429 ? "away" : undefined;
}
