import type { Readable } from "node:stream";
import type { ListPartsCommandOutput, S3Client } from "@aws-sdk/client-s3";
import { describeObject, requireLength } from "./parts.ts";
import {
  NoSuchObjectError,
  type Part,
  type Parted,
  type PartStorage,
  type Storage,
  StorageAwayError,
} from "./storage.ts";

/** Of a link that is used at once, by this process. */
const OWN_LINK_SECONDS = 900;

interface PartedBucket {
  readonly client: S3Client;
  /** Signs addresses at which senders reach the store; undefined where they do not. */
  readonly senders: S3Client | undefined;
  readonly at: (key: string) => { Bucket: string; Key: string };
  readonly encryption: object;
  readonly answerMsMax: number;
}

/** Parts of S3's own multipart uploads. Their bytes go straight to the store, or through here without being kept. */
export async function createS3Parts(
  { client, senders, at, encryption, answerMsMax }: PartedBucket,
  storage: Pick<Storage, "get" | "head" | "delete">,
): Promise<PartStorage> {
  const s3 = await import("@aws-sdk/client-s3");
  const { getSignedUrl } = await import("@aws-sdk/s3-request-presigner");

  /** The length is signed, too: the store refuses any other. */
  function sign(by: S3Client, { key, session }: Parted, { number, bytes }: Part, seconds: number): Promise<string> {
    const part = { ...at(key), UploadId: session, PartNumber: number, ContentLength: bytes };
    return getSignedUrl(by, new s3.UploadPartCommand(part), { expiresIn: seconds });
  }

  async function list({ key, session }: Parted) {
    const parts: (Part & { readonly ETag: string | undefined })[] = [];
    // Not by the SDK's paginator: it asks for ever where a server names the next page after the last, too.
    for (let marker: string | undefined, more = true; more; ) {
      const after = { ...at(key), UploadId: session, ...(marker === undefined ? {} : { PartNumberMarker: marker }) };
      const page: ListPartsCommandOutput = await client.send(new s3.ListPartsCommand(after)).catch(throwGone);
      for (const { PartNumber, Size, ETag } of page.Parts ?? [])
        parts.push({ number: PartNumber ?? 0, bytes: Size ?? 0, ETag });
      marker = page.NextPartNumberMarker;
      more = page.IsTruncated === true && marker !== undefined;
    }
    return parts.sort((one, other) => one.number - other.number);
  }

  return {
    async begin(key) {
      const { UploadId } = await client.send(new s3.CreateMultipartUploadCommand({ ...at(key), ...encryption }));
      if (UploadId === undefined) throw new Error("The store began an upload and did not say which.");
      return UploadId;
    },
    async link(object, part, seconds) {
      if (senders === undefined) return undefined;
      // Asked before: should the credentials be renewed between the two, the address is good for longer than it says.
      const { expiration } = await senders.config.credentials();
      const expiresAt = Math.min(Date.now() + seconds * 1_000, expiration?.getTime() ?? Number.POSITIVE_INFINITY);
      return { url: await sign(senders, object, part, seconds), expiresAt: new Date(expiresAt) };
    },
    async put(object, part, content, signal) {
      const url = await sign(client, object, part, OWN_LINK_SECONDS);
      await sendPart(url, { ...part, headersTimeout: answerMsMax }, content, signal);
    },
    list,
    async complete(object) {
      const target = { ...at(object.key), UploadId: object.session };
      try {
        const Parts = (await list(object)).map(({ number, ETag }) => ({ PartNumber: number, ETag }));
        await client
          .send(new s3.CompleteMultipartUploadCommand({ ...target, MultipartUpload: { Parts } }))
          .catch(throwGone);
      } catch (error) {
        // Completed before, and perhaps the answer was lost.
        if (!(error instanceof NoSuchObjectError)) throw error;
      }
      return describeObject(storage, object.key);
    },
    async discard(key) {
      const { Bucket, Key: Prefix } = at(key);
      await abortUploads(client, { Bucket, Prefix }, () => true);
      await storage.delete(key);
    },
  };
}

async function sendPart(
  url: string,
  { bytes, headersTimeout }: Part & { headersTimeout: number },
  content: Readable,
  signal: AbortSignal,
): Promise<void> {
  const { request } = await import("undici"); // Only for a store of S3's: it takes a start 50 ms.
  const headers = { "content-length": String(bytes) };
  const body = requireLength(content, bytes);
  const answer = await request(url, { method: "PUT", headers, body, signal, headersTimeout }).catch(
    (error: unknown) => {
      // What the content itself failed of, or who gave up, is nothing that the store did.
      if (signal.aborted || error === body.errored) throw error;
      throw new StorageAwayError("The store did not take a part.", { cause: error });
    },
  );
  await answer.body.dump();
  if (answer.statusCode === 200) return;
  throw Object.assign(new Error(`The store answered ${answer.statusCode} to a part.`), {
    $metadata: { httpStatusCode: answer.statusCode },
  });
}

/** Aborts the uploads of keys that begin with this one and are to be aborted. Returns how many those were. */
export async function abortUploads(
  client: S3Client,
  of: { Bucket: string; Prefix?: string },
  isMeant: (upload: { key: string; begunAt: Date }) => boolean,
): Promise<number> {
  const s3 = await import("@aws-sdk/client-s3");
  let aborted = 0;
  let next: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | undefined = {};
  while (next !== undefined) {
    const page: Awaited<ReturnType<typeof ask>> = await ask(next);
    for (const { Key = "", UploadId, Initiated } of page.Uploads ?? []) {
      if (!isMeant({ key: Key, begunAt: Initiated ?? new Date() })) continue;
      await client.send(new s3.AbortMultipartUploadCommand({ Bucket: of.Bucket, Key, UploadId })).catch(ignoreGone);
      aborted += 1;
    }
    next =
      page.IsTruncated === true
        ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
        : undefined;
  }
  return aborted;

  function ask(from: object) {
    return client.send(new s3.ListMultipartUploadsCommand({ ...of, ...from }));
  }
}

function throwGone(error: unknown): never {
  if ((error as Error).name !== "NoSuchUpload") throw error;
  throw new NoSuchObjectError("The store has no such upload.", { cause: error });
}

function ignoreGone(error: unknown): void {
  if ((error as Error).name !== "NoSuchUpload") throw error;
}
