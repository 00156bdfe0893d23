import type { IncomingMessage, ServerResponse } from "node:http";
import { holdOpen, onFirstRead, socketOf } from "../../patches/node-http.ts";

/** How fast a request's body has to come. */
export interface BodyPace {
  /** At least `bytesMin` have to arrive in each window while the body is read. */
  readonly windowMs: number;
  readonly bytesMin: number;
  /** A body as a whole may take this long, and longer by what it takes at this rate; however steadily it trickles. */
  readonly wholeMs: number;
  readonly bytesPerSecond: number;
  /** After an early answer the rest is read and thrown away, so that the caller, still sending, gets to read it. */
  readonly lingerMs: number;
  readonly lingerBytesMax: number;
}

/** What of it is not a setting. */
export const LINGERING = { lingerMs: 10_000, lingerBytesMax: 64 * 1024 * 1024 };

const LINGER_LOOK_MS = 50;

/** Requests whose caller sends the body only after 100 Continue. */
const uninvited = new WeakSet<IncomingMessage>();

/** The caller went away while sending. Nobody is there to answer to; what was stored is removed. */
export class CallerGoneError extends Error {
  override readonly name = "CallerGoneError";
  readonly code = "ECONNRESET";

  constructor() {
    super("The caller closed the connection before the request was complete.");
  }
}

/**
 * Watches a body in both directions. A caller that sends too slowly is cut off, and `onTooSlow` may still answer. An
 * answer given before the body was read reaches a caller that is still sending.
 */
export function watchBody(
  request: IncomingMessage,
  response: ServerResponse,
  options: { pace: BodyPace; onTooSlow: () => void },
): void {
  if (request.headers["content-length"] === undefined && request.headers["transfer-encoding"] === undefined) return;
  const { pace } = options;
  let seen = request.socket.bytesRead;
  const [bytesBefore, since] = [seen, Date.now()];
  const timer = setInterval(() => {
    if (request.complete || request.destroyed) return clearInterval(timer);
    const arrived = request.socket.bytesRead - seen;
    seen = request.socket.bytesRead;
    // Not flowing: it is we who do not read.
    if (request.readableFlowing !== true) return;
    const allowedMs = pace.wholeMs + ((seen - bytesBefore) / pace.bytesPerSecond) * 1000;
    if (arrived >= pace.bytesMin && Date.now() - since <= allowedMs) return;
    clearInterval(timer);
    options.onTooSlow();
  }, pace.windowMs).unref();
  let release: (() => void) | undefined;
  response.once("prefinish", () => {
    const socket = socketOf(request);
    if (socket !== undefined && !request.complete && !uninvited.has(request)) release = holdOpen(socket);
  });
  response.once("finish", () => {
    clearInterval(timer);
    if (release !== undefined) linger(request, pace, release);
  });
  response.once("close", () => clearInterval(timer));
}

/** Cuts off a caller that does not read its answer: it would hold the connection, and the file behind it, for ever. */
export function watchAnswer(request: IncomingMessage, response: ServerResponse, { pace }: { pace: BodyPace }): void {
  const { socket } = request;
  let sent = socket.bytesWritten;
  const timer = setInterval(() => {
    const moved = socket.bytesWritten - sent;
    sent = socket.bytesWritten;
    // Nothing is waiting to be sent: it is us who have no answer yet.
    if (socket.writableLength > 0 && moved < pace.bytesMin) socket.destroy();
  }, pace.windowMs).unref();
  response.once("close", () => clearInterval(timer));
}

function linger(request: IncomingMessage, pace: BodyPace, release: () => void): void {
  const { socket } = request;
  const until = Date.now() + pace.lingerMs;
  const bytesMax = socket.bytesRead + pace.lingerBytesMax;
  request.on("error", () => undefined);
  request.unpipe();
  request.resume();
  const timer = setInterval(() => {
    const isOver = Date.now() >= until || socket.bytesRead >= bytesMax;
    if (!request.complete && !socket.destroyed && !isOver) return;
    clearInterval(timer);
    release();
    if (!request.complete) socket.destroy();
  }, LINGER_LOOK_MS);
}

/**
 * For a caller that asked before sending (`Expect: 100-continue`): says yes when the body is first read. A request that
 * is refused before that never sends its gigabytes; Node then ends the connection with the answer.
 */
export function continueWhenRead(request: IncomingMessage, response: ServerResponse): void {
  uninvited.add(request);
  onFirstRead(request, () => {
    if (response.headersSent) return;
    uninvited.delete(request);
    response.writeContinue();
  });
}
