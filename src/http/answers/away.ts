import { isPoolExhausted, isUnavailable } from "../../../db/connect.ts";
import { findStorageFault } from "../../../storage/storage.ts";
import { PasswordQueueFullError } from "../../keys/password.ts";
import { ApiError } from "../errors.ts";

/** Node's own: no descriptor, no process or no memory is left for now. */
const EXHAUSTED = new Set(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"]);
const RETRY_AFTER_SECONDS = 5;
const CAUSES_MAX = 5;
/** The answer of a statement can be lost after it was done. */
const MAY_BE_DONE =
  "What it was to change may have been changed: look first, or send it with the same Idempotency-Key.";

/**
 * Returns the answer for an error, or for a cause of it, when something that the service needs is away or used up. It
 * is 503 with what is missing and when to try again. Undefined for other errors. The original is the answer's `cause`.
 */
export function toAwayError(error: unknown): ApiError | undefined {
  let cause = error;
  for (
    let depth = 0;
    depth < CAUSES_MAX;
    depth += 1, cause = (cause as { cause?: unknown } | null | undefined)?.cause
  ) {
    const reason = findReason(cause);
    if (reason === undefined) continue;
    const message = `${reason} Try again in ${RETRY_AFTER_SECONDS} seconds. ${MAY_BE_DONE}`;
    const answer = new ApiError("no_capacity", message, {}, { "Retry-After": String(RETRY_AFTER_SECONDS) });
    answer.cause = error;
    return answer;
  }
  return undefined;
}

function findReason(error: unknown): string | undefined {
  const storage = findStorageFault(error);
  if (storage === "full") return "The service has no room for files just now.";
  if (storage === "away") return "The storage of files does not answer just now.";
  if (isPoolExhausted(error)) return "The service has more to do than it gets to just now.";
  if (isUnavailable(error)) return "The database of the service does not answer just now.";
  if (error instanceof PasswordQueueFullError) return "Too many people are signing in just now.";
  return EXHAUSTED.has(String((error as NodeJS.ErrnoException | undefined)?.code))
    ? "The service has no open files, processes or memory left just now."
    : undefined;
}
