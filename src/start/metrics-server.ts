import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createConnections } from "../http/server/connections.ts";
import type { Readiness } from "../metrics/readiness.ts";

const REQUEST_MS_MAX = 10_000;
/** How often Node looks for callers that send nothing. */
const CHECK_MS = 2_000;
const CONNECTIONS = { max: 64, perAddressMax: 32 };
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

export interface MetricsServerDeps {
  readonly host: string;
  /** 0 chooses a free one. */
  readonly port: number;
  readonly metrics: () => Promise<string>;
  readonly readiness: () => Promise<Readiness>;
}

/**
 * Serves `/metrics`, `/healthz` and `/readyz` by plain HTTP on a port of its own, for a process that takes no calls. It
 * needs no key and takes no body. Rejects when the port cannot be had.
 */
export async function openMetricsServer(deps: MetricsServerDeps): Promise<{ port: number; close(): Promise<void> }> {
  const connections = createConnections(CONNECTIONS, { trustProxy: false });
  const refused = new WeakSet<Socket>();
  const server = createServer({ connectionsCheckingInterval: CHECK_MS }, (request, response) => {
    connections.follow(request.socket, response);
    if (refused.has(request.socket)) return send(response, toJson(503, { error: "Service busy" }));
    reply(deps, request).then(
      (found) => send(response, found),
      () => send(response, toJson(500, { error: "Internal server error" })),
    );
  });
  server.requestTimeout = REQUEST_MS_MAX;
  server.headersTimeout = REQUEST_MS_MAX;
  server.prependListener("connection", (socket: Socket) => {
    const admission = connections.admit(socket);
    if (admission === "refuse") refused.add(socket);
    if (admission === "close") socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE") return reject(error);
      const message = `Port ${deps.port} of ${deps.host} is in use. Choose another one for metrics (TREADLE_METRICS_PORT).`;
      reject(new Error(message, { cause: error }));
    });
    server.listen(deps.port, deps.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function reply({ metrics, readiness }: MetricsServerDeps, request: IncomingMessage): Promise<Reply> {
  if (request.method !== "GET" && request.method !== "HEAD") return toJson(405, { error: "Method not allowed" });
  switch (request.url) {
    case "/metrics":
      return { status: 200, type: METRICS_TYPE, text: await metrics() };
    case "/healthz":
      return toJson(200, { alive: true });
    case "/readyz": {
      const state = await readiness();
      return toJson(state.ready ? 200 : 503, state);
    }
    default:
      return toJson(404, { error: "Not found" });
  }
}

function toJson(status: number, document: unknown): Reply {
  return { status, type: "application/json; charset=utf-8", text: JSON.stringify(document) };
}

function send(response: ServerResponse, { status, type, text }: Reply): void {
  response.writeHead(status, {
    "Content-Type": type,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Length": Buffer.byteLength(text),
    // Nobody asks twice in a row, and bodies are not read.
    Connection: "close",
  });
  response.end(text);
}
