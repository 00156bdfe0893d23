import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import { watchTimeouts } from "../../patches/node-http.ts";
import { ApiError } from "../errors.ts";
import { type OpenResponses, refuseBytes, trackResponses } from "./malformed.ts";
import { type BodyPace, continueWhenRead, watchAnswer, watchBody } from "./request-body.ts";
import { createRequestId } from "./request-id.ts";

const HEADERS_CHECK_MS = 5_000;
const HEADER_BYTES_MAX = 16 * 1024;
const HEADERS_MAX = 200;

const VERSIONS = new Set(["1.0", "1.1"]);

const HTTPS_ONLY =
  "This service speaks HTTPS only. Send the request to the same address with https://. A key that was sent over plain HTTP may have been read on the way: make a new one.";
const TOO_SLOW = "The body arrived too slowly and was given up. Send it again over a faster connection.";

/** Takes connections that another server accepted, as their event `connection`. */
export interface Listeners {
  readonly secure: HttpsServer;
  readonly plain: Server;
  /** Ends the connections on which no call is under way, also those that never had one. */
  endIdle(): void;
  endAll(): void;
  close(): void;
}

export interface ListenersOptions {
  readonly app: RequestListener;
  readonly tls: { readonly cert: string; readonly key: string };
  readonly trustProxy: boolean;
  readonly pace: BodyPace;
  readonly handshakeMs: number;
  readonly headersMs: number;
  readonly keepAliveMs: number;
  /** Learns of every request as it begins. */
  readonly follow: (socket: Socket, response: ServerResponse) => void;
}

/** HTTP with and without TLS, for the same app; what comes without is refused unless a trusted proxy vouches for it. */
export function createListeners(options: ListenersOptions): Listeners {
  const open: OpenResponses = new WeakMap();
  const connections = new Set<Socket>();
  const settings = {
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: options.headersMs,
    connectionsCheckingInterval: Math.min(HEADERS_CHECK_MS, options.headersMs),
    keepAliveTimeout: options.keepAliveMs,
    // A large upload takes as long as it takes; `watchBody` sees to it that it goes on.
    requestTimeout: 0,
    // Missing hosts are refused by the app, with a body.
    requireHostHeader: false,
  };
  const secure = createHttpsServer({
    ...settings,
    ...options.tls,
    handshakeTimeout: options.handshakeMs,
    ALPNProtocols: ["http/1.1"],
  });
  const plain = createHttpServer(settings);
  for (const server of [secure, plain]) {
    const accept = createAcceptance(options, { open, overTls: server === secure });
    server.maxHeadersCount = HEADERS_MAX + 1; // Node leaves out the rest without a word; so it is seen that there is a rest.
    server.on("request", accept);
    server.on("checkExpectation", accept);
    server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
      continueWhenRead(request, response);
      accept(request, response);
    });
    server.on("connect", (_request: IncomingMessage, socket: Socket) =>
      refuseBytes(new Error("CONNECT"), socket, open),
    );
    server.on("clientError", (error: Error, socket: Socket) => refuseBytes(error, socket, open));
    server.on(server === secure ? "secureConnection" : "connection", (socket: Socket) => {
      connections.add(socket);
      socket.once("close", () => connections.delete(socket));
    });
    watchTimeouts(server);
  }
  return {
    secure,
    plain,
    endIdle: () => connections.forEach((socket) => open.get(socket)?.size || socket.destroySoon()),
    endAll: () => connections.forEach((socket) => socket.destroy()),
    close: () => [secure, plain].forEach((server) => server.close()),
  };
}

function createAcceptance(
  options: ListenersOptions,
  on: { open: OpenResponses; overTls: boolean },
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    trackResponses(on.open, request, response);
    options.follow(request.socket, response);
    watchAnswer(request, response, options);
    watchBody(request, response, { pace: options.pace, onTooSlow: () => refuseSlow(request, response) });
    const malformed = findMalformed(request);
    if (malformed !== undefined) refuse(response, malformed);
    else if (isFromHttps(request, on.overTls, options.trustProxy)) options.app(request, response);
    else refuse(response, HTTPS_ONLY);
  };
}

/** What the parser lets pass and nobody behind it can read. */
function findMalformed({ httpVersion, rawHeaders, url = "" }: IncomingMessage): string | undefined {
  // What stands behind them would not be seen: the key, or that there is a body to wait for.
  if (rawHeaders.length / 2 > HEADERS_MAX) return `The request has more than ${HEADERS_MAX} headers. Send fewer.`;
  if (!VERSIONS.has(httpVersion)) return "This service speaks HTTP/1.1.";
  return url.startsWith("/") || url === "*" || URL.canParse(url)
    ? undefined
    : "The address of the request is malformed.";
}

/** Whether the caller's own connection was encrypted; behind a proxy that is the proxy's word, first of the list it adds to. */
function isFromHttps(request: IncomingMessage, overTls: boolean, trustProxy: boolean): boolean {
  const forwarded = trustProxy ? request.headers["x-forwarded-proto"] : undefined;
  if (forwarded === undefined) return overTls;
  return String(forwarded).split(",")[0]?.trim().toLowerCase() === "https";
}

function refuseSlow(request: IncomingMessage, response: ServerResponse): void {
  if (response.headersSent) return void request.destroy();
  response.once("finish", () => request.destroy(new Error("The body arrived too slowly.")));
  refuse(response, TOO_SLOW);
}

function refuse(response: ServerResponse, message: string): void {
  sendAlone(response, new ApiError("invalid_request", message));
}

/** Sends an error where no application is there to do it, and closes the connection. */
export function sendAlone(response: ServerResponse, error: ApiError): void {
  const body = JSON.stringify(error.toBody());
  response.writeHead(error.status, {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Request-Id": createRequestId(),
    ...error.headers,
    Connection: "close",
  });
  response.end(body);
}
