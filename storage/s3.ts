import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { chmod, rename, rm, unlink } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { S3Client } from "@aws-sdk/client-s3";
import { messageOf } from "../domain/message-of.ts";
import { forEachAtOnce } from "../system/at-once.ts";
import { openFinished } from "./finished-file.ts";
import { requireKey, requirePrefix, requireRange } from "./keys.ts";
import { meter } from "./meter.ts";
import { describeObject } from "./parts.ts";
import { probeStorage } from "./probe.ts";
import { abortUploads, createS3Parts } from "./s3-parts.ts";
import { NoSuchObjectError, type ObjectStore, type PutResult, type SmallObject, StorageAwayError } from "./storage.ts";

/** The smallest part that S3 takes. There may be 10,000 of them, so contents of unknown length may have 50 GB. */
const PART_BYTES = 5 * 1024 * 1024;
/** With one part filling up, an upload holds at most three parts in memory. */
const PARTS_AT_ONCE = 2;
/** Small objects under way at a time. Each waits for the network most of its time. */
const OBJECTS_AT_ONCE = 8;
/** A connection takes milliseconds. Without a bound it would wait for the kernel's, which is two minutes. */
const CONNECT_MS_MAX = 5_000;
/** A reader may pause (its own client is slow), so only a long silence means that the server is gone. */
const SILENCE_MS_MAX = 5 * 60 * 1_000;
/** Each object being read holds a socket until its reader has finished. */
const SOCKETS_MAX = 500;
/** An answer begins within it where the store has nothing to move: a store that hangs is asked again. */
const ANSWER_MS_MAX = 30_000;

/** No upload of this service takes longer: one that began before was left by a killed process. */
const ABANDONED_MS = 2 * 24 * 60 * 60 * 1_000;
/** How often a request is sent whose answer is that the store is busy or broken. The SDK waits longer each time, up to 20 seconds. */
const TRIES_MAX = 5;
/** The largest object that S3 copies by one request; a larger one it copies in parts. */
const COPY_BYTES_MAX = 5 * 1024 ** 3;
const COPY_PART_BYTES = 1024 ** 3;

/** Without them the SDK's usual places are asked: its environment variables, its files, the machine's role. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of credentials that are lent for a time. */
  readonly sessionToken?: string | undefined;
}

export interface S3Settings extends Partial<S3Credentials> {
  /** Undefined: Amazon's own, of the region. */
  readonly endpoint?: string | undefined;
  readonly region: string;
  readonly bucket: string;
  /** Keys begin with it, and a slash; "" is none. */
  readonly prefix: string;
  /** The bucket goes into the path and not into the host name, as most servers that are not Amazon's need. */
  readonly forcePathStyle: boolean;
  /** Where senders reach the store to upload straight to it; undefined: at Amazon's own, and nowhere with an `endpoint`. */
  readonly uploadEndpoint?: string | undefined;
  /** How the store encrypts what it keeps, as S3 says it; undefined: as the bucket says. */
  readonly encryption?: "AES256" | "aws:kms" | undefined;
  readonly kmsKey?: string | undefined;
}

/**
 * Storage in a bucket of an S3-compatible server. The bucket must exist; nothing is asked of it before the first use. A
 * process killed within a long upload leaves parts that cost space and are in no list; `sweep` finds those.
 */
export async function createS3Storage(
  settings: S3Settings,
  { answerMsMax = ANSWER_MS_MAX } = {},
): Promise<ObjectStore> {
  // Loaded here, because it takes a tenth of a second that a service with storage on disk need not spend.
  const s3 = await import("@aws-sdk/client-s3");
  const client = new s3.S3Client(clientOptions(settings));
  const folder = settings.prefix === "" ? "" : `${requireKey(settings.prefix)}/`;
  const at = (key: string) => ({ Bucket: settings.bucket, Key: folder + requireKey(key) });

  const senders = openSenders(s3, settings);
  const encryption = encryptionOf(settings);
  const soon = { requestTimeout: answerMsMax };
  const targetOf = (key: string) => () => ({ ...at(key), ...encryption });
  const isThere = (key: string) => async (sent: PutResult) =>
    (await describeObject(storage, key).catch(() => undefined))?.sha256 === sent.sha256;

  const storage: Omit<ObjectStore, "parts"> = {
    async put(key, content, options) {
      return await upload(client, { content, to: targetOf(key), isThere: isThere(key) }, options);
    },
    putAll: (objects) => putAll(storage, objects),
    async putFile(key, path) {
      requireKey(key);
      const { handle } = await openFinished(path);
      try {
        const content = handle.createReadStream({ autoClose: false, start: 0 });
        const result = await upload(client, { content, to: targetOf(key), isThere: isThere(key) });
        await unlink(path);
        return result;
      } finally {
        await handle.close();
      }
    },
    async get(key, range) {
      const bytes = range === undefined ? {} : { Range: `bytes=${requireRange(range).start}-${range.end}` };
      const asked = new s3.GetObjectCommand({ ...at(key), ...bytes });
      const answer = await client.send(asked, soon).catch((error: unknown) => {
        throw explainReading(error, key, range);
      });
      return markBreak(answer.Body as Readable); // In Node it is one; the SDK's type also has the browser's kinds.
    },
    async head(key) {
      try {
        const answer = await client.send(new s3.HeadObjectCommand(at(key)), soon);
        return { bytes: answer.ContentLength ?? 0, modifiedAt: answer.LastModified ?? new Date(0) };
      } catch (error) {
        if (isNamed(error, "NotFound")) return undefined;
        throw error;
      }
    },
    async delete(key) {
      await client.send(new s3.DeleteObjectCommand(at(key)), soon);
    },
    async *list(prefix) {
      const input = { Bucket: settings.bucket, Prefix: folder + requirePrefix(prefix) };
      for await (const page of s3.paginateListObjectsV2({ client }, input, soon)) {
        for (const { Key } of page.Contents ?? []) if (Key !== undefined) yield Key.slice(folder.length);
      }
    },
    async localFile(key, scratchPath, sha256) {
      await download(await storage.get(key), scratchPath, sha256);
      return scratchPath;
    },
    async copy(from, to) {
      const head = await storage.head(from);
      if (head === undefined) throw new NoSuchObjectError(`There is no object ${from}.`);
      const source = { bytes: head.bytes, CopySource: `${settings.bucket}/${at(from).Key}` };
      await copyObject(client, source, { ...at(to), ...encryption }).catch((error: unknown) => {
        throw explainReading(error, from, undefined);
      });
    },
    // The store is not asked for a prefix: MinIO then lists the uploads of one key, and of no others that begin so.
    sweep: (now = new Date()) =>
      abortUploads(client, { Bucket: settings.bucket }, ({ key, begunAt }) => {
        return key.startsWith(folder) && begunAt.getTime() < now.getTime() - ABANDONED_MS;
      }),
    async check() {
      await probeStorage(storage, `The bucket ${settings.bucket}`);
    },
  };
  return { ...storage, parts: await createS3Parts({ client, senders, at, encryption, answerMsMax }, storage) };
}

/** Puts small objects, some at a time. Returns what went wrong with each, in words. Throws a RangeError for a key that is none. */
async function putAll(storage: Pick<ObjectStore, "put">, objects: readonly SmallObject[]) {
  for (const { key } of objects) requireKey(key);
  const faults: (string | undefined)[] = objects.map(() => undefined);
  await forEachAtOnce(objects.entries(), OBJECTS_AT_ONCE, async ([index, { key, content }]) => {
    await storage.put(key, Readable.from([content])).catch((error: unknown) => {
      faults[index] = messageOf(error);
    });
  });
  return faults;
}

/** Marks an error of the connection, as the client marks those that it meets before an answer begins. */
function markBreak(body: Readable): Readable {
  return body.once("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "ECONNRESET") Object.assign(error, { $metadata: {} });
  });
}

function explainReading(error: unknown, key: string, range: { start: number } | undefined): unknown {
  if (isNamed(error, "NoSuchKey")) return new NoSuchObjectError(`There is no object ${key}.`, { cause: error });
  if (isNamed(error, "InvalidRange"))
    return new RangeError(`The object ${key} ends before byte ${range?.start}.`, { cause: error });
  return error;
}

/** Copies within the store; what is too large for one request, in parts. */
async function copyObject(
  client: S3Client,
  { bytes, CopySource }: { bytes: number; CopySource: string },
  to: { Bucket: string; Key: string },
): Promise<void> {
  const s3 = await import("@aws-sdk/client-s3");
  if (bytes <= COPY_BYTES_MAX) return void (await client.send(new s3.CopyObjectCommand({ ...to, CopySource })));
  const target = { Bucket: to.Bucket, Key: to.Key };
  const { UploadId } = await client.send(new s3.CreateMultipartUploadCommand(to));
  const Parts: { PartNumber: number; ETag: string | undefined }[] = [];
  for (let from = 0; from < bytes; from += COPY_PART_BYTES) {
    const PartNumber = Parts.length + 1;
    const CopySourceRange = `bytes=${from}-${Math.min(from + COPY_PART_BYTES, bytes) - 1}`;
    const part = { ...target, UploadId, PartNumber, CopySource, CopySourceRange };
    const { CopyPartResult } = await client.send(new s3.UploadPartCopyCommand(part));
    Parts.push({ PartNumber, ETag: CopyPartResult?.ETag });
  }
  await client.send(new s3.CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts } }));
}

/** What signs addresses for senders; undefined where they do not reach the store. */
function openSenders(s3: typeof import("@aws-sdk/client-s3"), settings: S3Settings): S3Client | undefined {
  const { endpoint, uploadEndpoint } = settings;
  if (uploadEndpoint === undefined && endpoint !== undefined) return undefined;
  return new s3.S3Client(clientOptions({ ...settings, endpoint: uploadEndpoint }));
}

function encryptionOf({ encryption, kmsKey }: S3Settings) {
  if (encryption === undefined) return {};
  return { ServerSideEncryption: encryption, ...(kmsKey === undefined ? {} : { SSEKMSKeyId: kmsKey }) };
}

function clientOptions(settings: S3Settings) {
  const { endpoint, accessKeyId, secretAccessKey, sessionToken } = settings;
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined)) {
    throw new RangeError("Storage needs both an access key id and a secret access key, or neither.");
  }
  return {
    region: settings.region,
    forcePathStyle: settings.forcePathStyle,
    maxAttempts: TRIES_MAX,
    // By default the SDK adds a checksum trailer that several compatible servers refuse, or store as part of the object.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: CONNECT_MS_MAX,
      socketTimeout: SILENCE_MS_MAX,
      throwOnRequestTimeout: true,
      httpAgent: { maxSockets: SOCKETS_MAX },
      httpsAgent: { maxSockets: SOCKETS_MAX },
    },
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : { credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) } }),
  } as const;
}

interface Move {
  readonly content: Readable;
  readonly to: () => { Bucket: string; Key: string };
  readonly isThere: (sent: PutResult) => Promise<boolean>;
}

/** Sends content of unknown length; the object appears when the last part has been accepted, and parts are taken back when it was not. */
async function upload(
  client: S3Client,
  move: Move,
  options?: { bytesMax?: number; signal?: AbortSignal },
): Promise<PutResult> {
  const metered = meter(move.content, options);
  try {
    const target = move.to();
    const { Upload } = await import("@aws-sdk/lib-storage");
    // The signal ends the content, not the Upload: an Upload that is aborted no longer waits for its own cleaning up.
    const Body = Readable.from(metered.chunks(), { objectMode: false });
    await new Upload({ client, params: { ...target, Body }, partSize: PART_BYTES, queueSize: PARTS_AT_ONCE }).done();
    return metered.result();
  } catch (error) {
    move.content.destroy();
    // The answer to the completing was lost, and the store no longer knew the upload when it was asked for again.
    const isOver = isNamed(error, "NoSuchUpload") && metered.failure() === undefined;
    if (isOver && (await move.isThere(metered.result()))) return metered.result();
    throw metered.failure() ?? error;
  }
}

/** Makes a local copy that appears whole, and with this hash, or not at all. */
async function download(content: Readable, path: string, sha256?: string): Promise<void> {
  const partial = `${path}.${randomUUID()}`;
  const metered = meter(content);
  try {
    await pipeline(metered.chunks(), createWriteStream(partial, { flags: "wx", mode: 0o600 }));
    if (sha256 !== undefined && metered.result().sha256 !== sha256)
      throw new StorageAwayError("The store gave other bytes than it was given.");
    await chmod(partial, 0o644); // A sandbox that runs as another user reads it. A copy of it can be changed.
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

function isNamed(error: unknown, name: string): boolean {
  return (error as Error).name === name;
}
