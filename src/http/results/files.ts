import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Request, Response } from "express";
import type { Db } from "../../../db/connect.ts";
import { findOutputFile } from "../../../db/executions/executions.ts";
import type { StoredFile } from "../../../domain/execution.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import { isStorable } from "../../../domain/manifest/json-values.ts";
import { NoSuchObjectError, type Storage } from "../../../storage/storage.ts";
import { type ByteRange, matchesTag, parseRange } from "../answers/byte-range.ts";
import { contentDisposition } from "../answers/content-disposition.ts";
import { authorizeExecution } from "../auth/authenticate.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { readLink } from "./link-signature.ts";

/** What a browser may show in our origin: nothing in it can run. Everything else is downloaded. */
const SHOWN_INLINE =
  /^(?:text\/(?:plain|csv|markdown)|application\/(?:json|pdf)|image\/(?:png|jpeg|gif|webp|avif|bmp)|audio\/[a-z0-9.+-]+|video\/[a-z0-9.+-]+)(?:;|$)/;
/** Asked for as a page, HTML is one within a frame of ours: without an origin, scripts, and files of elsewhere. */
const PAGE = /^text\/html(?:;|$)/;
const PAGE_POLICY =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'; frame-ancestors 'self'";
/** A browser's own PDF viewer does not work in a sandbox; it is one itself. */
const NEEDS_NO_SANDBOX = /^application\/pdf(?:;|$)/;

/** `GET` and `HEAD` of one output file: whole, in part, or not changed. */
export function createFileRoute(deps: Pick<AppDeps, "db" | "storage" | "secretBox" | "keyUses">) {
  return async (request: Request, response: Response): Promise<void> => {
    const executionId =
      readLink(deps.secretBox, request) ?? (await authorizeExecution(deps, request, "read")).execution.id;
    const file = await requireOutputFile(deps.db, executionId, request.params.fileName);
    const show =
      request.query["as"] === "page" && PAGE.test(file.contentType) ? "page" : SHOWN_INLINE.test(file.contentType);
    await sendFile(deps.storage, file, { request, response, show });
  };
}

/**
 * Sends a stored file for `GET` and `HEAD`: whole, in part, or 304. Only with `show` may a browser show it instead of
 * saving it; either way it never acts as a page of ours. Throws 404 when storage does not have it any more.
 */
export async function sendFile(
  storage: Pick<Storage, "get">,
  file: StoredFile,
  { request, response, show }: { request: Request; response: Response; show: boolean | "page" },
): Promise<void> {
  const tag = `"${file.sha256}"`;
  const caching = { ETag: tag, "Cache-Control": "private, no-cache" };
  if (matchesTag(request.get("if-none-match"), tag)) return void response.status(304).set(caching).end();
  const range = chooseRange(request, file, tag);
  const length = range === undefined ? file.bytes : range.end - range.start + 1;
  const content = request.method === "HEAD" || length === 0 ? undefined : await openContent(storage, file, range);
  if (range !== undefined) response.status(206).set("Content-Range", `bytes ${range.start}-${range.end}/${file.bytes}`);
  const headers = { ...caching, ...safetyHeaders(file, show), "Content-Length": String(length) };
  response.set({ ...headers, "Accept-Ranges": "bytes" });
  // Not by `set`, which would add a charset of its own choice.
  response.setHeader("Content-Type", file.contentType);
  if (content === undefined) response.end();
  else await pipeline(content, response);
}

/** The output file of the path, or 404: also of one that is not kept any more. */
export async function requireOutputFile(db: Db, executionId: ExecutionId, fileName: unknown): Promise<StoredFile> {
  const file =
    typeof fileName === "string" && isStorable(fileName) ? await findOutputFile(db, executionId, fileName) : undefined;
  if (file?.removedAt === null) return file;
  if (file !== undefined) throw noLongerKept();
  throw new ApiError(
    "not_found",
    "This execution has no output file of that name. Its outputs are listed at the execution's own address.",
  );
}

async function openContent(
  storage: Pick<Storage, "get">,
  file: StoredFile,
  range: ByteRange | undefined,
): Promise<Readable> {
  return storage.get(file.storageKey, range).catch((error: unknown) => {
    if (!(error instanceof NoSuchObjectError)) throw error;
    throw noLongerKept();
  });
}

/** What is said of a file that there was. */
export function noLongerKept(): ApiError {
  return new ApiError("not_found", "This file is no longer kept.");
}

function chooseRange(request: Request, file: StoredFile, tag: string): ByteRange | undefined {
  if (request.method === "HEAD") return undefined;
  const expected = request.get("if-range");
  if (expected !== undefined && expected.trim() !== tag) return undefined;
  const range = parseRange(request.get("range"), file.bytes);
  if (range === "unsatisfiable") {
    throw new ApiError(
      "range_not_satisfiable",
      `The file has ${file.bytes} bytes.`,
      {},
      { "Content-Range": `bytes */${file.bytes}` },
    );
  }
  return range === "whole" ? undefined : range;
}

/** Customers and their programs choose the content: it must never act as a page of ours. */
function safetyHeaders(file: StoredFile, show: boolean | "page"): Record<string, string> {
  const sandbox = show && NEEDS_NO_SANDBOX.test(file.contentType) ? "" : "; sandbox";
  const framing = show === "page" ? { "X-Frame-Options": "SAMEORIGIN" } : {};
  return {
    "Content-Disposition": contentDisposition(show !== false ? "inline" : "attachment", file.fileName),
    "Content-Security-Policy": show === "page" ? PAGE_POLICY : `default-src 'none'${sandbox}`,
    ...framing,
    "X-Content-Type-Options": "nosniff",
  };
}
