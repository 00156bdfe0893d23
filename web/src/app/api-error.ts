import type { InputProblem } from "../../../domain/errors.ts";

/** What the service said went wrong, or that it did not answer. `message` is for people and says what to do. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The HTTP status; 0 when no answer came. */
  readonly status: number;
  /** The fixed text of the kind of error, such as "Insufficient credits". */
  readonly error: string;
  readonly details: readonly InputProblem[];
  /** Everything in the answer. */
  readonly body: Readonly<Record<string, unknown>>;

  constructor(status: number, body: Readonly<Record<string, unknown>>) {
    super(typeof body["message"] === "string" ? body["message"] : `The service answered with status ${status}.`);
    this.status = status;
    this.error = typeof body["error"] === "string" ? body["error"] : "Error";
    this.details = Array.isArray(body["details"]) ? (body["details"] as InputProblem[]) : [];
    this.body = body;
  }
}

/** The error of an answer that is none of a success; its body may be anything, a proxy's page for example. */
export function readError(status: number, text: string): ApiError {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null) return new ApiError(status, body as Record<string, unknown>);
  } catch {
    // Not ours; the status has to do.
  }
  return new ApiError(status, {});
}

/** For a call that got no answer at all. */
export function unreachable(): ApiError {
  return new ApiError(0, {
    error: "No connection",
    message: "The service does not answer. Check the connection; what you have entered is still here.",
  });
}

/** True for errors that the same call would meet again. */
export function isFinal(error: unknown): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
}
