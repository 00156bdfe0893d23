import type { Request } from "express";
import { isJsonObject, JSON_DEPTH_MAX } from "../../../domain/manifest/json-values.ts";
import { ApiError } from "../errors.ts";
import { CallerGoneError } from "./request-body.ts";
import { giveTurn } from "./turns.ts";

/** Larger bodies give others a turn of the event loop between the steps of their work, or are worked on elsewhere. */
export const LARGE_BYTES = 65_536;

/** Reads a JSON object of at most `bytesMax` bytes. Everything else is refused before it is parsed any further than it must be. */
export async function readJsonObject(request: Request, bytesMax: number): Promise<Record<string, unknown>> {
  return (await readJsonText(request, bytesMax)).value;
}

/** As `readJsonObject`, and its text. */
export async function readJsonText(
  request: Request,
  bytesMax: number,
): Promise<{ readonly value: Record<string, unknown>; readonly text: string }> {
  const bytes = await readBytes(request, bytesMax);
  const text = decodeJson(bytes);
  if (bytes.length <= LARGE_BYTES) return { value: parseJsonText(text), text };
  // Of a megabyte, looking at it takes 20 ms and parsing it 70 ms, and what comes next may take as long.
  await giveTurn();
  const value = parseJsonText(text);
  await giveTurn();
  return { value, text };
}

/** Reads a body of at most `bytesMax` bytes; 413 for a larger one. */
export function readBytes(request: Request, bytesMax: number): Promise<Buffer> {
  const tooLarge = (): ApiError =>
    new ApiError(
      "payload_too_large",
      `A JSON body is at most ${bytesMax} bytes. Send large values as files, by multipart/form-data.`,
    );
  if (Number(request.get("content-length") ?? 0) > bytesMax) throw tooLarge();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const stop = (outcome: () => void): void => {
      request.off("data", take).off("end", finish).off("close", gone).pause();
      outcome();
    };
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes > bytesMax) stop(() => reject(tooLarge()));
    };
    const finish = (): void => stop(() => resolve(Buffer.concat(chunks)));
    const gone = (): void => stop(() => reject(new CallerGoneError()));
    request.on("error", () => undefined);
    request.on("data", take).on("end", finish).on("close", gone);
  });
}

/** Returns the JSON object that bytes are; 400 for anything else. */
export function parseJsonObject(bytes: Uint8Array): Record<string, unknown> {
  return parseJsonText(decodeJson(bytes));
}

/** The text of a JSON body that is neither empty nor too deep. */
function decodeJson(bytes: Uint8Array): string {
  const text = decode(bytes);
  if (!/\S/.test(text))
    throw new ApiError(
      "invalid_request",
      "The body is empty. Send a JSON object of input names and values; {} when there is nothing to give.",
    );
  if (countDepth(text) > JSON_DEPTH_MAX)
    throw new ApiError("invalid_request", `The body is nested deeper than ${JSON_DEPTH_MAX} levels.`);
  return text;
}

function parseJsonText(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // The parser's own message quotes the body, which is nobody's business in an answer or a log.
    throw new ApiError("invalid_request", "The body is not valid JSON.");
  }
  if (!isJsonObject(value))
    throw new ApiError("invalid_request", "The body must be a JSON object: input names and their values.");
  return value;
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_ENCODING_INVALID_ENCODED_DATA") throw error;
    throw new ApiError("invalid_request", "The body is not valid UTF-8.");
  }
}

/** The deepest nesting, seen without building anything; of text that is not JSON, some number. */
export function countDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22: // A string ends at the next quote that is not escaped.
        for (at += 1; at < text.length && text.charCodeAt(at) !== 0x22; at += 1)
          if (text.charCodeAt(at) === 0x5c) at += 1;
        break;
      case 0x5b:
      case 0x7b:
        depth += 1;
        deepest = Math.max(deepest, depth);
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        break;
    }
  }
  return deepest;
}
