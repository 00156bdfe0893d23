import type { RequestHandler } from "express";
import { Alive, Readiness } from "../../../domain/api/service.ts";
import { sendAnswer } from "../answers/body.ts";
import type { AppDeps } from "../deps.ts";

const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** That this process answers at all. */
export const showAlive: RequestHandler = (_request, response) => sendAnswer(response, Alive, { alive: true });

/** Whether everything that executions need is there: 200 or 503, with each check and its reason. */
export function createReadinessRoute(readiness: AppDeps["readiness"]): RequestHandler {
  return async (_request, response) => {
    const state = await readiness();
    sendAnswer(response, Readiness, state, state.ready ? 200 : 503);
  };
}

/** The figures of this process. */
export function createMetricsRoute(metrics: NonNullable<AppDeps["metrics"]>): RequestHandler {
  return async (_request, response) => void response.set("Content-Type", METRICS_TYPE).send(await metrics());
}
