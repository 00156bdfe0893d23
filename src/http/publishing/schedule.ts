import type { RequestHandler } from "express";
import { z } from "zod";
import { listScheduleNames } from "../../../db/schedules/schedules.ts";
import { findScheduleState } from "../../../db/schedules/states.ts";
import { listTicks } from "../../../db/schedules/ticks.ts";
import { NEXT_RUNS_MAX, TICKS_PAGE_MAX } from "../../../domain/api/limits.ts";
import { GivenScheduleName, Schedule, TICK_TIME, TickPage } from "../../../domain/api/schedules.ts";
import { MAIN_SCHEDULE } from "../../../domain/schedules/names.ts";
import { findNextRuns } from "../../publish/next-runs.ts";
import { parseRequest, sendAnswer } from "../answers/body.ts";
import { authorizeWorkflow } from "../auth/authenticate.ts";
import type { AppDeps } from "../deps.ts";
import {
  toDeclarationDocument,
  toPause,
  toTickDocument,
  toTickPage,
  ZONE_WITHOUT_SCHEDULE,
} from "./schedule-documents.ts";

const SHOWN = 10;

const Page = z.object({
  limit: z.coerce.number().int().min(1).max(TICKS_PAGE_MAX).default(50),
  before: z
    .string()
    .regex(new RegExp(TICK_TIME), "must be a time in UTC such as 2026-11-02T09:00:00Z")
    .transform((text) => new Date(text))
    .optional(),
  schedule: GivenScheduleName.optional(),
});

const Shown = z.object({
  schedule: GivenScheduleName.optional(),
  count: z.coerce.number().int().min(1).max(NEXT_RUNS_MAX).default(SHOWN),
});

/** The schedule of a workflow as it is now: as declared, in plain words, its next runs and its last ticks. */
export function createScheduleRoute(deps: Pick<AppDeps, "db" | "keyUses">): RequestHandler {
  return async (request, response) => {
    const { workflowId } = await authorizeWorkflow(deps, request);
    const { count, schedule: scheduleName = MAIN_SCHEDULE } = parseRequest(Shown, request.query);
    const [state, ticks, names] = await Promise.all([
      findScheduleState(deps.db, workflowId, scheduleName),
      listTicks(deps.db, { workflowId, scheduleName, before: null, limit: SHOWN }),
      listScheduleNames(deps.db, workflowId),
    ]);
    const hasNamed = names.some(({ name }) => name !== MAIN_SCHEDULE);
    sendAnswer(response, Schedule, {
      schedule: state === undefined ? null : toDeclarationDocument(state),
      ...(state === undefined ? { paused: false, reason: null } : toPause(state)),
      nextRuns: findNextRuns(state ?? null, new Date(), count),
      lastTicks: ticks.map((tick) => toTickDocument(tick, state?.timezone ?? ZONE_WITHOUT_SCHEDULE)),
      ...(hasNamed ? { schedules: names.map(({ name, isDeclared }) => ({ name, ended: !isDeclared })) } : {}),
    });
  };
}

/** What became of the times the schedule was due, the newest first, page by page. */
export function createTicksRoute(deps: Pick<AppDeps, "db" | "keyUses">): RequestHandler {
  return async (request, response) => {
    const { workflowId } = await authorizeWorkflow(deps, request);
    const { limit, before, schedule: scheduleName = MAIN_SCHEDULE } = parseRequest(Page, request.query);
    const page = { workflowId, scheduleName, limit, before: before ?? null };
    sendAnswer(response, TickPage, await toTickPage(deps.db, page));
  };
}
