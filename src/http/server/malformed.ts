import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ApiError } from "../errors.ts";
import { createRequestId } from "./request-id.ts";

const LAST_WORDS_MS = 2_000;
/** Several parts watch one answer, none of them twice; beyond this one of them would be. */
const LISTENERS_MAX = 30;

/** The responses that have not ended yet, by their connection. */
export type OpenResponses = WeakMap<object, Set<ServerResponse>>;

export function trackResponses(open: OpenResponses, request: IncomingMessage, response: ServerResponse): void {
  response.setMaxListeners(LISTENERS_MAX);
  const ofSocket = open.get(request.socket) ?? new Set();
  open.set(request.socket, ofSocket.add(response));
  response.once("close", () => ofSocket.delete(response));
}

/** Connections that were refused: more bytes that arrive on them are ignored. */
const refused = new WeakSet<object>();

/**
 * Refuses bytes that are no HTTP request with 400 and closes. A request that was complete before them gets its own
 * answer first. Where an answer has begun otherwise, the connection only closes.
 */
export function refuseBytes(error: Error & { code?: string }, socket: Socket, open: OpenResponses): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  const responses = [...(open.get(socket) ?? [])];
  const owed = responses.filter((response) => response.req.complete && !response.writableFinished);
  if (owed.length > 0) return closeAfter(owed, socket);
  const begun = responses.some((response) => response.headersSent);
  if (begun || !socket.writable || error.code === "ECONNRESET") return void socket.destroy(error);
  const body = JSON.stringify(new ApiError("invalid_request", explain(error.code)).toBody());
  socket.end(
    [
      "HTTP/1.1 400 Bad Request",
      "Content-Type: application/json; charset=utf-8",
      `Content-Length: ${Buffer.byteLength(body)}`,
      "X-Content-Type-Options: nosniff",
      `X-Request-Id: ${createRequestId()}`,
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
  );
  setTimeout(() => socket.destroy(error), LAST_WORDS_MS).unref();
}

function closeAfter(responses: readonly ServerResponse[], socket: Socket): void {
  let left = responses.length;
  for (const response of responses) {
    response.once("close", () => {
      left -= 1;
      if (left === 0) socket.destroySoon();
    });
  }
}

function explain(code: string | undefined): string {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return "The headers and the address are larger than 16 KiB. Send less of them.";
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return "The headers took too long to arrive.";
    case "HPE_UNEXPECTED_CONTENT_LENGTH":
    case "HPE_INVALID_CONTENT_LENGTH":
    case "HPE_INVALID_TRANSFER_ENCODING":
      return "The headers contradict each other about the length of the body. Send Content-Length or Transfer-Encoding: chunked, once.";
    default:
      return "This is not a valid HTTP/1.1 request.";
  }
}
