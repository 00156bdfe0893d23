import type { Request, RequestHandler, Response } from "express";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** From what a health check takes to the longest a call may wait. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 300];
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const MOUNTS = ["/api"];
/** What is refused because there is not enough of something: credits, rate or turns, room. */
const REFUSALS = [402, 429, 503];

/**
 * Counts every request that reaches the application, and how long it took until its answer was sent or its caller gone. No
 * label has anything that a caller may choose: routes are patterns, methods and statuses a list.
 */
export function createRequestMetrics(registry: Registry): RequestHandler {
  const registers = [registry];
  const seconds = new Histogram({
    name: "treadle_http_request_seconds",
    help: "Requests of this process, by the pattern of their route, from their headers to the end of the answer",
    labelNames: ["route", "method", "status"],
    buckets: SECONDS,
    registers,
  });
  const refused = new Counter({
    name: "treadle_http_refused_total",
    help: "Requests of this process that were refused: 402 credits, 429 rate or concurrency, 503 no room",
    labelNames: ["status"],
    registers,
  });
  for (const status of REFUSALS) refused.inc({ status: String(status) }, 0);
  const open = new Gauge({
    name: "treadle_http_open_requests",
    help: "Requests of this process that are not answered yet",
    registers,
  });
  return (request, response, next) => {
    const since = performance.now();
    open.inc();
    response.once("close", () => {
      open.dec();
      const labels = { route: routeOf(request), method: methodOf(request), status: statusOf(response) };
      seconds.observe(labels, (performance.now() - since) / 1000);
      if (REFUSALS.includes(response.statusCode)) refused.inc({ status: String(response.statusCode) });
    });
    next();
  };
}

/** The pattern with what it is mounted at: the latter is gone from the request by the time an error is answered. */
function routeOf(request: Request): string {
  const { path } = (request.route ?? {}) as { path?: unknown };
  if (typeof path !== "string") return "unknown";
  const mount = MOUNTS.find((prefix) => request.originalUrl.startsWith(`${prefix}/`)) ?? "";
  return path.startsWith(`${mount}/`) ? path : `${mount}${path}`;
}

function methodOf({ method }: Request): string {
  return METHODS.includes(method) ? method : "other";
}

/** `unanswered`: the caller went, or was cut off, before the whole answer was sent. */
function statusOf(response: Response): string {
  return response.writableFinished ? `${Math.floor(response.statusCode / 100)}xx` : "unanswered";
}
