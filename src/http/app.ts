import express, { type Express, type RequestHandler } from "express";
import helmet from "helmet";
import type { Log } from "../log.ts";
import { PAGES_PATH } from "../setup/servers/temporal-proxy.ts";
import { CHECKS_ANSWERS } from "./answers/answer-check.ts";
import { answerErrors, answerUnknownPath, requestIdOf } from "./answers/answers.ts";
import { refuseForeignOrigin } from "./auth/same-origin.ts";
import type { AppDeps } from "./deps.ts";
import { createDocuments } from "./docs/documents.ts";
import { ApiError } from "./errors.ts";
import { createHandlers } from "./handlers.ts";
import { mountRoutes } from "./routes/mounting.ts";
import { createRequestId } from "./server/request-id.ts";
import { createTemporalPages } from "./temporal/pages.ts";
import { createAssetsRoute } from "./web/assets.ts";
import { createPageRoute } from "./web/pages.ts";

/** The whole HTTP interface, not listening yet. Read it from top to bottom: that is the way of a request. */
export function createApp(deps: AppDeps): Express {
  const handlers = createHandlers(deps);
  const app = express();
  app.disable("x-powered-by").disable("etag");
  app.set("trust proxy", deps.trustProxy ? 1 : false);
  app.set("query parser", "simple");
  app.set(CHECKS_ANSWERS, deps.checksAnswers === true);

  if (deps.countRequest !== undefined) app.use(deps.countRequest);
  app.use(nameRequest);
  app.use(logRequests(deps.log));
  app.use(secureHeaders(deps));
  app.use(requireHost);
  app.use(mountRoutes("outside", handlers));
  if (deps.temporalPages !== undefined)
    app.use(PAGES_PATH, createTemporalPages({ ...deps, target: deps.temporalPages }));

  const api = express.Router();
  api.use(keepOutOfCaches, refuseForeignOrigin);
  api.use(mountRoutes("below /api", handlers));
  for (const router of deps.routers ?? []) api.use(router);
  app.use("/api", api, answerUnknownPath);
  app.use("/docs", createDocuments());

  if (deps.webFolder !== undefined) {
    app.use("/assets", createAssetsRoute(deps.webFolder));
    app.use(createPageRoute(deps.webFolder, deps));
  }

  app.use(answerUnknownPath);
  app.use(answerErrors(deps.log));
  return app;
}

const nameRequest: RequestHandler = (_request, response, next) => {
  response.set("X-Request-Id", createRequestId());
  next();
};

/** One line a request, with the route's pattern (below /api) for the address: addresses hold names of people's files. */
function logRequests(log: Log): RequestHandler {
  return (request, response, next) => {
    const since = performance.now();
    response.once("close", () => {
      const route = request.route as { path?: string } | undefined;
      log.info({
        event: "request.completed",
        requestId: requestIdOf(response),
        method: request.method,
        route: route?.path,
        address: request.ip,
        status: response.statusCode,
        answered: response.writableFinished,
        ms: Math.round(performance.now() - since),
      });
    });
    next();
  };
}

/** Sets headers that say an answer is data: nothing in it may run, be framed, or be taken for another type. */
function secureHeaders(deps: Pick<AppDeps, "strictTransport" | "trustProxy">): RequestHandler {
  return helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    // With a self-signed certificate it would lock browsers out for a year.
    strictTransportSecurity:
      deps.strictTransport === true || deps.trustProxy ? { maxAge: 31_536_000, includeSubDomains: false } : false,
    xFrameOptions: { action: "deny" },
  });
}

/** RFC 9112, 3.2. Of several hosts, a proxy in between may have believed another one than we would. */
const requireHost: RequestHandler = (request, _response, next) => {
  const hosts = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length;
  if (hosts > 1) throw new ApiError("invalid_request", "The request names several hosts. Send the Host header once.");
  if (request.httpVersion === "1.1" && hosts === 0)
    throw new ApiError("invalid_request", "The request names no host. Send the Host header once.");
  next();
};

/** Keys, results and balances are for the caller alone. Routes whose answers may be kept say so themselves. */
const keepOutOfCaches: RequestHandler = (_request, response, next) => {
  response.set("Cache-Control", "no-store");
  next();
};
