import type { RequestHandler } from "express";
import { z } from "zod";
import { findScheduleState } from "../../db/schedule-states.ts";
import { listTicks } from "../../db/ticks.ts";
import { findNextRuns } from "../publish/next-runs.ts";
import { authorizeWorkflow } from "./authenticate.ts";
import type { AppDeps } from "./deps.ts";
import { parseRequest } from "./operator/body.ts";
import { TICK_TIME, TICKS_MAX } from "./routes/schedules.ts";
import {
  toDeclarationDocument,
  toPause,
  toTickDocument,
  toTickPage,
  ZONE_WITHOUT_SCHEDULE,
} from "./schedule-documents.ts";

const SHOWN = 10;

const Page = z.object({
  limit: z.coerce.number().int().min(1).max(TICKS_MAX).default(50),
  before: z
    .string()
    .regex(new RegExp(TICK_TIME), "must be a time in UTC such as 2026-11-02T09:00:00Z")
    .transform((text) => new Date(text))
    .optional(),
});

/** The schedule of a workflow as it is now: as declared, in plain words, its next runs and its last ticks. */
export function createScheduleRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { workflowId } = await authorizeWorkflow(db, request);
    const [state, ticks] = await Promise.all([
      findScheduleState(db, workflowId),
      listTicks(db, { workflowId, before: null, limit: SHOWN }),
    ]);
    response.json({
      schedule: state === undefined ? null : toDeclarationDocument(state),
      ...(state === undefined ? { paused: false, reason: null } : toPause(state)),
      nextRuns: findNextRuns(state ?? null, new Date(), SHOWN),
      lastTicks: ticks.map((tick) => toTickDocument(tick, state?.timezone ?? ZONE_WITHOUT_SCHEDULE)),
    });
  };
}

/** What became of the times the schedule was due, the newest first, page by page. */
export function createTicksRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { workflowId } = await authorizeWorkflow(db, request);
    const { limit, before } = parseRequest(Page, request.query);
    response.json(await toTickPage(db, { workflowId, limit, before: before ?? null }));
  };
}
