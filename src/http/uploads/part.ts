import type { RequestHandler } from "express";
import { findFileUploads } from "../../../db/executions/file-uploads.ts";
import { SentPart } from "../../../domain/api/uploads.ts";
import { TooLargeError } from "../../../storage/storage.ts";
import { sendAnswer } from "../answers/body.ts";
import type { AppDeps } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { CallerGoneError } from "../server/request-body.ts";
import { partsOf } from "./missing-parts.ts";
import { readPartLink } from "./part-links.ts";
import { uploadKey } from "./upload-key.ts";

/** `PUT …/uploads/:uploadId/parts/:number`: takes a part by its link, where senders do not reach the store. */
export function createPartRoute({ db, storage, secretBox }: AppDeps): RequestHandler {
  return async (request, response) => {
    const { workflowId, uploadId, number } = readPartLink(secretBox, request);
    const [upload] = await findFileUploads(db, workflowId, [uploadId]);
    const part = upload && partsOf(upload)[number - 1];
    if (upload === undefined || part === undefined)
      throw new ApiError("not_found", "There is no such part of an upload. It may have expired; begin a new one.");
    if (upload.completedAt !== null) throw new ApiError("conflict", "The upload is complete. It takes no more parts.");
    const length = request.get("content-length");
    if (length !== undefined && Number(length) !== part.bytes) throw wrongLength(part.bytes);
    const gone = new AbortController();
    request.once("close", () => {
      if (!request.complete) gone.abort(new CallerGoneError());
    });
    const object = { key: uploadKey(uploadId), session: upload.session ?? "" };
    await storage.parts.put(object, part, request, gone.signal).catch((error: unknown) => {
      if (gone.signal.aborted) throw gone.signal.reason as Error;
      throw error instanceof TooLargeError || error instanceof RangeError ? wrongLength(part.bytes) : error;
    });
    sendAnswer(response, SentPart, { number, bytes: part.bytes });
  };
}

function wrongLength(bytes: number): ApiError {
  return new ApiError("invalid_request", `This part has ${bytes} bytes. Send exactly these bytes of the file.`);
}
