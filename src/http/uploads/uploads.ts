import type { Request, RequestHandler } from "express";
import {
  beginFileUpload,
  completeFileUpload,
  type FileUpload,
  findFileUploads,
  forgetFileUploads,
  noteUploadSession,
} from "../../../db/executions/file-uploads.ts";
import { NewUpload, RemovedUpload, Upload } from "../../../domain/api/uploads.ts";
import { isUploadId } from "../../../domain/ids.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { checkUploads, explainSize } from "../../../domain/manifest/uploads.ts";
import { isFileInput } from "../../../domain/manifest/values.ts";
import { NoSuchObjectError, type PutResult } from "../../../storage/storage.ts";
import { createUploadId } from "../../ids.ts";
import { requireStorage } from "../admission/requirements.ts";
import { readBody, refuseField, sendAnswer } from "../answers/body.ts";
import { type Authenticated, authenticate } from "../auth/authenticate.ts";
import { requireOwnRate } from "../auth/rates.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import type { UPLOAD_ROUTES } from "../routes/uploads.ts";
import { describeUpload, findMissing, nothingLeft } from "./missing-parts.ts";
import { createPartRoute } from "./part.ts";
import { uploadKey } from "./upload-key.ts";

/** An upload lives as long, complete or not: long enough for 2 GB by a slow line, and for a night's retries of the call. */
export const UPLOAD_SECONDS = 86_400;
const OPEN_MAX = 100;
const KEPT_MAX = 10_000;
/** At least: S3 takes no smaller parts than 5 MiB, and each costs a request. */
const PART_BYTES_MIN = 16 * 1024 * 1024;
/** S3 takes no more than 10,000. */
const PARTS_MAX = 1_000;

/** What the routes of uploads do. */
export function createUploadHandlers(deps: AppDeps): Readonly<Record<keyof typeof UPLOAD_ROUTES, RequestHandler>> {
  return {
    beginUpload: createBeginRoute(deps),
    showUpload: createShowRoute(deps),
    sendUploadPart: createPartRoute(deps),
    completeUpload: createCompleteRoute(deps),
    removeUpload: createRemovalRoute(deps),
  };
}

function createBeginRoute(deps: AppDeps): RequestHandler {
  const { db, storage } = deps;
  return async (request, response) => {
    const target = await authorize(deps, request);
    await requireOwnRate(db, target.rates, "uploads");
    const { input, ...file } = await readBody(request, NewUpload);
    requireDeclared(target.manifest, input, file, deps.limits.fileBytesMax);
    const { kept, workflowId, accountId } = target;
    requireStorage(deps, { kept: { ...kept, bytes: kept.bytes + file.bytes } });
    const id = createUploadId();
    const partBytes = Math.max(PART_BYTES_MIN, Math.ceil(file.bytes / PARTS_MAX));
    const bounds = { seconds: UPLOAD_SECONDS, openMax: OPEN_MAX, keptMax: KEPT_MAX };
    const isBegun = await beginFileUpload(db, { ...file, id, workflowId, accountId, partBytes, ...bounds });
    if (!isBegun) throw tooManyUploads();
    // Recorded before storage begins: so what storage has of it is found, should this process die now.
    await noteUploadSession(db, id, await storage.parts.begin(uploadKey(id)));
    sendAnswer(response, Upload, await describeUpload(deps, await findUpload(deps, target, id)), 201);
  };
}

function createShowRoute(deps: AppDeps): RequestHandler {
  return async (request, response) => {
    const upload = await findUpload(deps, await authorize(deps, request), request.params["uploadId"]);
    sendAnswer(response, Upload, await describeUpload(deps, upload));
  };
}

/** Completes an upload whose parts are all there, and whose content is what was declared. */
function createCompleteRoute(deps: AppDeps): RequestHandler {
  // Reading a large file takes long. Callers that ask again meanwhile wait for the same.
  const underWay = new Map<string, Promise<PutResult>>();
  return async (request, response) => {
    const target = await authorize(deps, request);
    const upload = await findUpload(deps, target, request.params["uploadId"]);
    if (upload.completedAt === null) {
      await requireOwnRate(deps.db, target.rates, "uploads");
      const running = underWay.get(upload.id) ?? complete(deps, upload).finally(() => underWay.delete(upload.id));
      underWay.set(upload.id, running);
      await requireContent(deps, upload, await running);
    }
    sendAnswer(response, Upload, await describeUpload(deps, await findUpload(deps, target, upload.id)));
  };
}

async function complete(deps: AppDeps, upload: FileUpload): Promise<PutResult> {
  const missing = await findMissing(deps, upload);
  if (missing.length > 0)
    throw new ApiError("conflict", `The upload is not complete: ${missing.length} of its parts are missing.`);
  const object = { key: uploadKey(upload.id), session: upload.session ?? "" };
  return deps.storage.parts.complete(object).catch((error: unknown) => {
    throw error instanceof NoSuchObjectError ? nothingLeft() : error;
  });
}

/** Notes that an upload is whole. Where its content is not what was declared, it is removed, and its sender begins anew. */
async function requireContent({ db, storage }: AppDeps, upload: FileUpload, content: PutResult): Promise<void> {
  if (content.bytes === upload.bytes && content.sha256 === upload.sha256) return completeFileUpload(db, upload.id);
  await storage.parts.discard(uploadKey(upload.id));
  await forgetFileUploads(db, [upload.id]);
  const said = content.bytes === upload.bytes ? `the SHA-256 ${content.sha256}` : `${content.bytes} bytes`;
  throw new ApiError(
    "invalid_request",
    `The content that arrived has ${said}, and not what was declared. It was removed; begin a new upload.`,
    {
      details: [{ input: content.bytes === upload.bytes ? "sha256" : "bytes", message: `is not that of the content.` }],
    },
  );
}

function createRemovalRoute(deps: AppDeps): RequestHandler {
  return async (request, response) => {
    const { id } = await findUpload(deps, await authorize(deps, request), request.params["uploadId"]);
    await deps.storage.parts.discard(uploadKey(id));
    await forgetFileUploads(deps.db, [id]);
    sendAnswer(response, RemovedUpload, { uploadId: id, removed: true });
  };
}

/** A caller that may execute the workflow may bring files for that. */
function authorize(deps: AppDeps, request: Request): Promise<Authenticated> {
  return authenticate(deps, request, { right: "write", idempotencyKey: null });
}

/** Returns an upload of this workflow. One of another is as unknown as one that there never was. */
async function findUpload({ db }: AppDeps, { workflowId }: Authenticated, id: unknown): Promise<FileUpload> {
  const [upload] = typeof id === "string" && isUploadId(id) ? await findFileUploads(db, workflowId, [id]) : [];
  if (upload !== undefined) return upload;
  throw new ApiError("not_found", "This workflow has no upload of this id. It may have expired; begin a new one.");
}

/** What an execution would be refused for is refused before anything is sent. */
function requireDeclared(
  { inputs }: Manifest,
  name: string,
  file: { fileName: string; contentType: string; bytes: number },
  bytesMax: number,
): void {
  const input = inputs.find((one) => one.name === name);
  if (input === undefined) throw refuseField("input", `${JSON.stringify(name)} is no input of this workflow.`);
  if (!isFileInput(input)) throw refuseField("input", `${JSON.stringify(name)} takes no file.`);
  const problem = checkUploads({ ...input, bytesMax: Math.min(input.bytesMax, bytesMax) }, [file])[0];
  if (problem === undefined) return;
  const isSize = problem === explainSize(Math.min(input.bytesMax, bytesMax), file.fileName);
  const details = [{ input: isSize ? "bytes" : "fileName", message: problem }];
  throw new ApiError(isSize ? "payload_too_large" : "invalid_request", problem, { details });
}

function tooManyUploads(): ApiError {
  return new ApiError(
    "conflict",
    `A workflow may have ${OPEN_MAX} uploads that are not complete, and ${KEPT_MAX} in all. Complete or remove some, or wait until they expire.`,
  );
}
