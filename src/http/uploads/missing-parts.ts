import type { z } from "zod";
import type { FileUpload } from "../../../db/executions/file-uploads.ts";
import type { Sent } from "../../../domain/api/fields.ts";
import type { Upload } from "../../../domain/api/uploads.ts";
import { NoSuchObjectError, type Part, type PartLink } from "../../../storage/storage.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { giveTurn } from "../server/turns.ts";
import { linkPart } from "./part-links.ts";
import { uploadKey } from "./upload-key.ts";

const LINK_SECONDS = 3_600;
/** Each link is signed, which takes a fraction of a millisecond. */
const LINKS_MAX = 100;
const LINKS_A_TURN = 10;

/** Returns the parts that an upload consists of. A file of no bytes has one, of none. */
export function partsOf({ bytes, partBytes }: Pick<FileUpload, "bytes" | "partBytes">): Part[] {
  const count = Math.max(1, Math.ceil(bytes / partBytes));
  return Array.from({ length: count }, (_, at) => ({
    number: at + 1,
    bytes: Math.min(partBytes, bytes - at * partBytes),
  }));
}

/** Returns an upload as callers see it, with addresses for its first missing parts. */
export async function describeUpload(
  deps: Pick<AppDeps, "storage" | "secretBox" | "apiUrl">,
  upload: FileUpload,
): Promise<Sent<z.output<typeof Upload>>> {
  const { id, fileName, bytes, sha256, partBytes, expiresAt, completedAt } = upload;
  const missing = completedAt === null ? await findMissing(deps, upload) : [];
  const expires = Math.floor(Math.min(Date.now() + LINK_SECONDS * 1_000, expiresAt.getTime()) / 1_000);
  const links: { number: number; bytes: number; url: string }[] = [];
  let linksEnd = expires * 1_000;
  for (const part of missing.slice(0, LINKS_MAX)) {
    const link = await linkTo(deps, upload, part, expires);
    links.push({ ...part, url: link.url });
    linksEnd = Math.min(linksEnd, link.expiresAt.getTime());
    if (links.length % LINKS_A_TURN === 0) await giveTurn();
  }
  return {
    uploadId: id,
    fileName,
    bytes,
    sha256,
    complete: completedAt !== null,
    expiresAt,
    partBytes,
    missing: links,
    missingParts: missing.length,
    linksExpireAt: links.length === 0 ? null : new Date(linksEnd),
  };
}

/** Returns the parts that are not there, or not of the size that they are to have. None of an upload that has been joined. */
export async function findMissing({ storage }: Pick<AppDeps, "storage">, upload: FileUpload): Promise<Part[]> {
  const key = uploadKey(upload.id);
  if ((await storage.head(key)) !== undefined) return [];
  if (upload.session === null) throw nothingLeft();
  const there = await storage.parts.list({ key, session: upload.session }).catch((error: unknown) => {
    throw error instanceof NoSuchObjectError ? nothingLeft() : error;
  });
  const sizes = new Map(there.map(({ number, bytes }) => [number, bytes]));
  return partsOf(upload).filter(({ number, bytes }) => sizes.get(number) !== bytes);
}

/** Its beginning was interrupted, or it is of a backup. */
export function nothingLeft(): ApiError {
  return new ApiError("not_found", "Storage has nothing of this upload. Begin a new one.");
}

/** At the store itself where senders reach it, else here. */
async function linkTo(
  deps: Pick<AppDeps, "storage" | "secretBox" | "apiUrl">,
  { id, workflowId, session }: FileUpload,
  part: Part,
  expires: number,
): Promise<PartLink> {
  const seconds = Math.max(1, expires - Math.floor(Date.now() / 1_000));
  const direct = await deps.storage.parts.link({ key: uploadKey(id), session: session ?? "" }, part, seconds);
  if (direct !== undefined) return direct;
  const url = linkPart(deps, { workflowId, uploadId: id, number: part.number }, expires);
  return { url, expiresAt: new Date(expires * 1_000) };
}
