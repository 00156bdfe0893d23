import { Router } from "express";
import { refuseMethod } from "./answers.ts";
import type { AppDeps } from "./deps.ts";

const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** For those who watch over the service: alive, ready, and its figures. */
export function createHealthRoutes(deps: Pick<AppDeps, "readiness" | "metrics">): Router {
  const { readiness, metrics } = deps;
  const router = Router();
  router
    .route("/healthz")
    .get((_request, response) => void response.json({ alive: true }))
    .all(refuseMethod("GET", "HEAD"));
  router
    .route("/readyz")
    .get(async (_request, response) => {
      const state = await readiness();
      response.status(state.ready ? 200 : 503).json(state);
    })
    .all(refuseMethod("GET", "HEAD"));
  if (metrics !== undefined) {
    router
      .route("/metrics")
      .get(async (_request, response) => void response.set("Content-Type", METRICS_TYPE).send(await metrics()))
      .all(refuseMethod("GET", "HEAD"));
  }
  return router;
}
