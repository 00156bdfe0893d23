import type { RequestListener } from "node:http";
import { ApiError } from "../errors.ts";
import { sendAlone } from "./listeners.ts";

const RETRY_AFTER_SECONDS = 5;
/** A refused connection is one too many: it has less time for each part than one that is served. */
const PART_MS = 3_000;

/** How long a connection may take that is only to be refused. */
export const REFUSING_TIMEOUTS = { firstByteMs: PART_MS, handshakeMs: PART_MS, headersMs: PART_MS, keepAliveMs: 1 };

/** Refuses every request with 503 and closes its connection: as many are open as may be, in all or of one address. */
export const answerBusy: RequestListener = (_request, response) => {
  const message = `Too many connections are open, in all or from your address. Nothing was started or charged; close some, then try again in ${RETRY_AFTER_SECONDS} seconds.`;
  sendAlone(response, new ApiError("no_capacity", message, {}, { "Retry-After": String(RETRY_AFTER_SECONDS) }));
};
