import type { ErrorRequestHandler, RequestHandler, Response } from "express";
import { errorAnswer } from "../../../domain/api/errors.ts";
import type { Log } from "../../log.ts";
import { socketOf } from "../../patches/node-http.ts";
import { ApiError, toApiError } from "../errors.ts";
import { checkAnswer } from "./answer-check.ts";
import { toAwayError } from "./away.ts";

/** The id under which a request is found in the log. */
export function requestIdOf(response: Response): string {
  return String(response.getHeader("X-Request-Id"));
}

/** Refuses addresses that no route has with 404. */
export const answerUnknownPath: RequestHandler = (request) => {
  throw new ApiError(
    "not_found",
    `There is nothing at this address for ${request.method}. docs/api.md lists the routes.`,
  );
};

/** Returns a handler that refuses the methods a known path does not have with 405. */
export function refuseMethod(...allowed: readonly string[]): RequestHandler {
  return (request) => {
    throw new ApiError(
      "method_not_allowed",
      `${request.method} is not possible here; ${allowed.join(", ")} is.`,
      {},
      { Allow: allowed.join(", ") },
    );
  };
}

/**
 * Returns the one handler that turns thrown values into answers. It logs an unexpected error in full and answers 500
 * without detail. It logs a missing part of the service in full and answers 503.
 */
export function answerErrors(log: Log): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    const refusal = toApiError(error);
    const away = refusal === undefined ? toAwayError(error) : undefined;
    const known = refusal ?? away;
    const requestId = requestIdOf(response);
    // The caller is gone, or has part of an answer already: nothing can be said any more.
    if (response.headersSent || socketOf(request)?.destroyed !== false) {
      if (known === undefined && !isDisconnect(error))
        log.error({ event: "request.failed", requestId, error }, "A request failed after its answer had begun.");
      return void response.destroy();
    }
    if (known === undefined) log.error({ event: "request.failed", requestId, error }, "A request failed.");
    if (away !== undefined)
      log.warn({ event: "request.failed", requestId, error }, "A request met something that is away.");
    const answer =
      known ??
      new ApiError("internal", `Something went wrong on our side. It was recorded as ${requestId}.`, { requestId });
    // A route that failed late has perhaps said what its answer would have been.
    for (const name of ["Content-Type", "Content-Length", "Content-Range", "Content-Disposition", "ETag"])
      response.removeHeader(name);
    const body = answer.toBody();
    checkAnswer(response, errorAnswer(answer.code), body);
    response.status(answer.status).set(answer.headers).json(body);
  };
}

function isDisconnect(error: unknown): boolean {
  return [
    "ERR_STREAM_PREMATURE_CLOSE",
    "ECONNRESET",
    "EPIPE",
    "ERR_STREAM_DESTROYED",
    "ERR_STREAM_UNABLE_TO_PIPE",
  ].includes(String((error as { code?: unknown } | null)?.code));
}
