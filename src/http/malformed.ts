import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ApiError } from "./errors.ts";

const LAST_WORDS_MS = 2_000;

/** The responses that have not ended yet, by their connection. */
export type OpenResponses = WeakMap<object, Set<ServerResponse>>;

export function trackResponses(open: OpenResponses, request: IncomingMessage, response: ServerResponse): void {
  const ofSocket = open.get(request.socket) ?? new Set();
  open.set(request.socket, ofSocket.add(response));
  response.once("close", () => ofSocket.delete(response));
}

/**
 * Answers bytes that are no HTTP request with 400 and closes. Where an answer has begun on the connection, nothing can be
 * said any more and it only closes.
 */
export function refuseBytes(error: Error & { code?: string }, socket: Socket, open: OpenResponses): void {
  const begun = [...(open.get(socket) ?? [])].some((response) => response.headersSent);
  if (begun || !socket.writable || error.code === "ECONNRESET") return void socket.destroy(error);
  const body = JSON.stringify(new ApiError("invalid_request", explain(error.code)).toBody());
  socket.end(
    [
      "HTTP/1.1 400 Bad Request",
      "Content-Type: application/json; charset=utf-8",
      `Content-Length: ${Buffer.byteLength(body)}`,
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
  );
  setTimeout(() => socket.destroy(error), LAST_WORDS_MS).unref();
}

function explain(code: string | undefined): string {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return "The headers and the address are larger than 16 KB. Send less of them.";
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
