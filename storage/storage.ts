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
  /**
   * A file of this machine with the object's content, read-only: the object itself on disk storage, else a copy made at
   * `scratchPath`. A copy that has not this `sha256` is not made: throws `StorageAwayError`.
   */
  localFile(key: string, scratchPath: string, sha256?: string): Promise<string>;
  /** Copies an object within storage, so that neither depends on the other. Its bytes do not come here. Throws `NoSuchObjectError`. */
  copy(from: string, to: string): Promise<void>;
  /** Objects that come in parts. */
  readonly parts: PartStorage;
  /** Removes what uploads of killed processes have left that `list` does not show. Returns how many those were. */
  sweep(now?: Date): Promise<number>;
  /** Proves that storage can be written and read, within a second. Throws what it met. */
  check(): Promise<void>;
}

/** An object of a few KiB, which is in memory. */
export interface SmallObject {
  readonly key: string;
  readonly content: Buffer;
}

/** Storage that also takes small objects by the dozen. */
export interface ObjectStore extends Storage {
  /**
   * Stores each object as `put` does, for less. Returns what went wrong with each, in words; undefined where it is durable. Rejects
   * when none of them can be counted on.
   */
  putAll(objects: readonly SmallObject[]): Promise<readonly (string | undefined)[]>;
}

export interface Part {
  /** From 1. */
  readonly number: number;
  readonly bytes: number;
}

/** An object that comes in parts: its key, and what `begin` has returned for it. */
export interface Parted {
  readonly key: string;
  readonly session: string;
}

export interface PartLink {
  readonly url: string;
  readonly expiresAt: Date;
}

/**
 * Objects that come in numbered parts, each as often as its sender likes, in any order. An object has its key when it is
 * complete.
 */
export interface PartStorage {
  begin(key: string): Promise<string>;
  /** An address to PUT exactly the part's bytes to, for so many seconds or fewer; undefined where senders cannot reach the store. */
  link(object: Parted, part: Part, seconds: number): Promise<PartLink | undefined>;
  /** Takes exactly the part's bytes; it is there whole or not at all. Throws `TooLargeError` for more, a RangeError for fewer. */
  put(object: Parted, part: Part, content: Readable, signal: AbortSignal): Promise<void>;
  /** The parts that are there. May throw `NoSuchObjectError` once the object is complete, or gone. */
  list(object: Parted): Promise<readonly Part[]>;
  /** Joins the parts and reads the object once, to say what it is. May be repeated. Throws `NoSuchObjectError` when nothing is there. */
  complete(object: Parted): Promise<PutResult>;
  /** Deletes the object and every part of it. May be repeated. */
  discard(key: string): Promise<void>;
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

/** What was sent or read broke off, or arrived as something else. A passing fault: the same call may succeed later. */
export class StorageAwayError extends Error {
  override readonly name = "StorageAwayError";
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
  if (error instanceof StorageAwayError) return "away";
  if ($metadata === undefined) return undefined;
  const { httpStatusCode = 503 } = $metadata;
  return httpStatusCode >= 500 || httpStatusCode === 429 ? "away" : undefined;
}
