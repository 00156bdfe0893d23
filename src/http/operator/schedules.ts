import { type Request, type Response, Router } from "express";
import { z } from "zod";
import { findScheduleState, listScheduleStates, type ScheduleState } from "../../../db/schedule-states.ts";
import { findSchedule } from "../../../db/schedules.ts";
import type { WorkflowId } from "../../../domain/ids.ts";
import { parseInstant } from "../../../domain/schedules/instants.ts";
import { findNextRuns, toWords } from "../../publish/next-runs.ts";
import { ApiError } from "../errors.ts";
import { toPause, toTickDocument, toTickPage, ZONE_WITHOUT_SCHEDULE } from "../schedule-documents.ts";
import { type BackfillRoom, runBackfill } from "./backfills.ts";
import { parseRequest, StorableText, sendDocument } from "./body.ts";
import { callerOf, getWorkflow } from "./caller.ts";

const NEXT_RUNS_MAX = 100;
const TICKS_MAX = 1_000;
/** Temporal is told within moments: only what takes longer is worth a word. */
const TELLING_SECONDS = 5;

const Range = z.object({ count: z.coerce.number().int().min(1).max(NEXT_RUNS_MAX).default(10) });
const Page = z.object({
  limit: z.coerce.number().int().min(1).max(TICKS_MAX).default(50),
  before: StorableText.max(100).optional(),
});

/** Schedules as they hold now, what became of their ticks, and past ticks run again. */
export function createScheduleRoutes(deps: BackfillRoom): Router {
  const { db } = deps;
  const router = Router();

  router.get("/schedules", async (_request, response) => {
    const states = await listScheduleStates(db, { accountId: callerOf(response).accountId });
    const now = new Date();
    sendDocument(response, { schedules: states.map((state) => toDocument(state, now)) });
  });

  router.get("/schedules/:workflowId/next", async (request, response) => {
    const workflowId = await workflowIdOf(request, response);
    const { count } = parseRequest(Range, request.query);
    const state = await findScheduleState(db, workflowId);
    if (state === undefined) throw noSchedule();
    const { timezone } = state;
    const nextRuns = findNextRuns(state, new Date(), count);
    sendDocument(response, { workflowId, timezone, description: toWords(state), ...toPause(state), nextRuns });
  });

  router.get("/schedules/:workflowId/ticks", async (request, response) => {
    const workflowId = await workflowIdOf(request, response);
    const { limit, before } = parseRequest(Page, request.query);
    const timezone = (await findSchedule(db, workflowId))?.timezone ?? ZONE_WITHOUT_SCHEDULE;
    const page = { workflowId, limit, before: before === undefined ? null : readInstant("before", before, timezone) };
    sendDocument(response, { workflowId, timezone, ...(await toTickPage(db, page)) });
  });

  router.post("/schedules/:workflowId/backfill", async (request, response) => {
    const schedule = await findSchedule(db, await workflowIdOf(request, response));
    if (schedule === undefined) throw noSchedule();
    const isWanted = (): boolean => !response.destroyed;
    sendDocument(response, await runBackfill(deps, { schedule, body: request.body, isWanted }));
  });

  async function workflowIdOf(request: Request, response: Response): Promise<WorkflowId> {
    return (await getWorkflow(db, callerOf(response), request.params["workflowId"])).id;
  }

  return router;
}

function noSchedule(): ApiError {
  return new ApiError("not_found", "The workflow's latest commit declares no schedule.");
}

function readInstant(name: string, text: string, timezone: string): Date {
  const parsed = parseInstant(text, timezone);
  if (parsed.ok) return parsed.at;
  throw new ApiError("invalid_request", `${name} ${parsed.message}`, {
    details: [{ input: name, message: parsed.message }],
  });
}

function toDocument(state: ScheduleState, now: Date) {
  const { workflowId, workflowName, cron, timezone, untoldSeconds, lastTick } = state;
  return {
    workflowId,
    name: workflowName,
    cron,
    timezone,
    description: toWords(state),
    nextRun: findNextRuns(state, now, 1)[0] ?? null,
    ...toPause(state),
    untoldSeconds: untoldSeconds !== null && untoldSeconds > TELLING_SECONDS ? untoldSeconds : null,
    lastTick: lastTick && toTickDocument(lastTick, timezone),
  };
}
