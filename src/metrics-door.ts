import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createConnections } from "./http/connections.ts";
import type { Readiness } from "./readiness.ts";

const REQUEST_MS_MAX = 10_000;
/** How often is looked for callers that send nothing. */
const LOOK_MS = 2_000;
const CONNECTIONS = { max: 64, perAddressMax: 32 };
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

interface Told {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

export interface MetricsDoorDeps {
  readonly host: string;
  /** 0 chooses a free one. */
  readonly port: number;
  readonly metrics: () => Promise<string>;
  readonly readiness: () => Promise<Readiness>;
}

/**
 * Answers `/metrics`, `/healthz` and `/readyz` by plain HTTP on a port of its own: what a process that takes no calls has to
 * say of itself. It asks nobody who they are and takes no body. Rejects when the port cannot be had.
 */
export async function openMetricsDoor(deps: MetricsDoorDeps): Promise<{ port: number; close(): Promise<void> }> {
  const connections = createConnections(CONNECTIONS, { trustProxy: false });
  const refused = new WeakSet<Socket>();
  const server = createServer({ connectionsCheckingInterval: LOOK_MS }, (request, response) => {
    connections.follow(request.socket, response);
    if (refused.has(request.socket)) return send(response, toJson(503, { error: "Service busy" }));
    answer(deps, request).then(
      (told) => send(response, told),
      () => send(response, toJson(500, { error: "Internal server error" })),
    );
  });
  server.requestTimeout = REQUEST_MS_MAX;
  server.headersTimeout = REQUEST_MS_MAX;
  server.prependListener("connection", (socket: Socket) => {
    const verdict = connections.admit(socket);
    if (verdict === "refuse") refused.add(socket);
    if (verdict === "close") socket.destroy();
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

async function answer({ metrics, readiness }: MetricsDoorDeps, request: IncomingMessage): Promise<Told> {
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

function toJson(status: number, document: unknown): Told {
  return { status, type: "application/json; charset=utf-8", text: JSON.stringify(document) };
}

function send(response: ServerResponse, { status, type, text }: Told): void {
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
