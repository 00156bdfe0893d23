import { randomBytes } from "node:crypto";

/** A new name for a request, which is in its answer and in the log. */
export function createRequestId(): string {
  return `req_${randomBytes(10).toString("hex")}`;
}
