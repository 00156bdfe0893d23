import { ERROR_TEXT, type ErrorCode } from "../../domain/errors.ts";
import { ThreadsBusyError } from "../../system/threads/threads.ts";

/** The HTTP status of each code. A new code does not compile before it has one. */
export const STATUS: Readonly<Record<ErrorCode, number>> = {
  invalid_request: 400,
  unauthorized: 401,
  insufficient_credits: 402,
  api_trigger_disabled: 403,
  forbidden: 403,
  workflow_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  rate_limited: 429,
  too_many_executions: 429,
  execution_failed: 500,
  internal: 500,
  no_capacity: 503,
  storage_full: 507,
};

/**
 * What went wrong, for the caller. `message` is for a person and says what to do; `extra` are further fields of the
 * answer.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ErrorCode;
  readonly extra: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message: string,
    extra: Readonly<Record<string, unknown>> = {},
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.code = code;
    this.extra = extra;
    this.headers = headers;
  }

  get status(): number {
    return STATUS[this.code];
  }

  /** The JSON body of the answer. */
  toBody(): Record<string, unknown> {
    return { error: ERROR_TEXT[this.code], message: this.message, ...this.extra };
  }
}

/** PostgreSQL's `character_not_in_repertoire` and `untranslatable_character`: a text of the caller's that cannot be stored. */
const NOT_STORABLE = new Set(["22021", "22P05"]);

/** Errors of Express and its body parser carry these; nothing else of ours does. */
interface HttpFault {
  readonly status?: unknown;
  readonly type?: unknown;
  /** PostgreSQL's, of its own errors. */
  readonly code?: unknown;
}

/**
 * Returns the answer to what a caller did wrong. It knows our own errors and those of Express and its body parser.
 * Undefined for anything else: `toAwayError` knows more, and what is left is our fault.
 */
export function toApiError(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error;
  if (error instanceof URIError)
    return new ApiError(
      "invalid_request",
      "The address holds a percent sign that encodes nothing. Encode each part of the path as UTF-8.",
    );
  if (error instanceof ThreadsBusyError)
    return new ApiError(
      "no_capacity",
      `Too many requests that take long wait already. Nothing was changed; try again in ${error.retryAfterSeconds} seconds.`,
      {},
      { "Retry-After": String(error.retryAfterSeconds) },
    );
  const { status, type, code } = (error ?? {}) as HttpFault;
  if (typeof code === "string" && NOT_STORABLE.has(code))
    return new ApiError(
      "invalid_request",
      "A text of the request holds a character that cannot be stored, such as NUL.",
    );
  switch (type) {
    case "entity.parse.failed":
      return new ApiError("invalid_request", "The body is not valid JSON.");
    case "entity.too.large":
      return new ApiError("payload_too_large", "The body is too large.");
    case "encoding.unsupported":
    case "charset.unsupported":
      return new ApiError("unsupported_media_type", "The body must be UTF-8 and must not be compressed.");
    case "request.aborted":
    case "request.size.invalid":
      return new ApiError("invalid_request", "The body ended too early.");
    default:
      return status === 400 ? new ApiError("invalid_request", "The request is malformed.") : undefined;
  }
}
