import { setMaxListeners } from "node:events";
import busboy, { type Busboy } from "busboy";
import type { Request } from "express";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { formatSize } from "../../../domain/manifest/sizes.ts";
import { messageOf } from "../../../domain/message-of.ts";
import { watchBoundaries, watchPartHeaders } from "../../patches/form-parser.ts";
import type { HttpLimits } from "../deps.ts";
import { ApiError } from "../errors.ts";
import { CallerGoneError } from "../server/request-body.ts";
import { collectParts, explainComplaint, type Form, malformed, TEXT_PARTS_MAX, tooManyTexts } from "./form-parts.ts";
import type { Uploads } from "./uploads.ts";

/** Large enough that a chunk's way through the parser costs little against hashing and writing it. */
const CHUNK_BYTES = 1024 * 1024;
/** After a problem is known, so much more is read, unstored, to find others; then the answer is given. */
const REMAINDER_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Streams a multipart body: files go to storage while they arrive and are never held whole, texts are kept. Problems of
 * single parts are collected; what makes going on pointless is thrown (400, 413). Files that were stored by then are the
 * caller's to discard; none is on its way any more when this returns or throws.
 */
export async function readForm(
  request: Request,
  options: { manifest: Manifest; uploads: Uploads; limits: HttpLimits; keepsFiles: boolean },
): Promise<Form> {
  const { limits } = options;
  if (Number(request.get("content-length") ?? 0) > limits.requestBytesMax) throw requestTooLarge(limits);
  const stop = new AbortController();
  // One listener a file, and there may be a hundred of them.
  setMaxListeners(0, stop.signal);
  const parts = collectParts({ ...options, stop });
  const parser = openParser(request, limits);
  // Called by the parser, in an event of the socket: whatever they throw would end the process.
  const guard = (take: () => void): void => {
    try {
      take();
    } catch (error) {
      stop.abort(error);
    }
  };
  watchPartHeaders(parser, (message) => guard(() => parts.refuse(message)));
  watchBoundaries(parser, () => stop.abort(malformed("a boundary has more on its line")));
  parser.on("field", (name, text, info) =>
    guard(() =>
      parts.takeText(name as string | undefined, text as string | undefined, {
        isCut: info.valueTruncated,
        mimeType: info.mimeType,
      }),
    ),
  );
  parser.on("file", (name, content, info) => guard(() => parts.takeFile(name as string | undefined, content, info)));
  parser.on("fieldsLimit", () => stop.abort(tooManyTexts()));
  try {
    await pump(request, parser, {
      stop,
      onBytes(total, size) {
        if (total > limits.requestBytesMax) stop.abort(requestTooLarge(limits));
        else if (parts.countRemainder(size) > REMAINDER_BYTES_MAX) stop.abort(new Enough());
      },
    });
  } catch (error) {
    if (!(error instanceof Enough)) throw error;
  } finally {
    await parts.settle();
  }
  // A file can still fail after the parser is done with it: while the last bytes are brought to disk.
  if (stop.signal.aborted && !(stop.signal.reason instanceof Enough)) throw stop.signal.reason;
  return parts.toForm();
}

/** Not a failure: the problems known by now are answered without reading on. */
class Enough extends Error {}

function openParser(request: Request, limits: HttpLimits): Busboy {
  try {
    return busboy({
      headers: request.headers,
      defParamCharset: "utf8",
      highWaterMark: CHUNK_BYTES,
      fileHwm: CHUNK_BYTES,
      // One more than allowed: a part that is cut off at the limit is seen to be too large.
      limits: { fields: TEXT_PARTS_MAX, fieldSize: limits.jsonBytesMax + 1 },
    });
  } catch (error) {
    throw new ApiError(
      "invalid_request",
      `The form cannot be read: ${messageOf(error)}. Let your HTTP library write the Content-Type header, with its boundary.`,
    );
  }
}

function pump(
  request: Request,
  parser: Busboy,
  watch: { stop: AbortController; onBytes: (total: number, size: number) => void },
): Promise<void> {
  const { stop } = watch;
  return new Promise((resolve, reject) => {
    let total = 0;
    const count = (chunk: Buffer): void => watch.onBytes((total += chunk.length), chunk.length);
    const gone = (): void => {
      if (!request.complete) stop.abort(new CallerGoneError());
    };
    stop.signal.addEventListener("abort", () => {
      request.off("data", count).off("close", gone).unpipe(parser);
      parser.destroy();
      reject(stop.signal.reason as Error);
    });
    request
      .on("error", () => undefined)
      .on("close", gone)
      .on("data", count);
    parser.on("error", (error) => stop.abort(explainComplaint(error)));
    parser.once("close", () => {
      request.off("data", count).off("close", gone);
      resolve();
    });
    request.pipe(parser);
  });
}

function requestTooLarge(limits: HttpLimits): ApiError {
  return new ApiError("payload_too_large", `A request is at most ${formatSize(limits.requestBytesMax)}.`);
}
