import type { RequestHandler } from "express";
import { listScheduleStates, type ScheduleState } from "../../../db/schedules/states.ts";
import { ScheduleList } from "../../../domain/api/schedules.ts";
import { MAIN_SCHEDULE } from "../../../domain/schedules/names.ts";
import { findNextRuns, toWords } from "../../publish/next-runs.ts";
import { sendAnswer } from "../answers/body.ts";
import { authorizeAccount } from "../auth/authorize.ts";
import type { AppDeps } from "../deps.ts";
import { toPause, toTickDocument } from "./schedule-documents.ts";

/** Temporal usually learns of a change within moments: only a longer delay is worth showing. */
const DELAY_SHOWN_SECONDS = 5;

/** `GET /schedules`: the schedules of the account, each with its next run and its last tick. */
export function createSchedulesRoute({ db }: Pick<AppDeps, "db">): RequestHandler {
  return async (request, response) => {
    const { accountId } = await authorizeAccount(db, request, "read");
    const states = await listScheduleStates(db, { accountId });
    const now = new Date();
    sendAnswer(response, ScheduleList, { schedules: states.map((state) => toListed(state, now)) });
  };
}

function toListed(state: ScheduleState, now: Date) {
  const { workflowId, workflowName, scheduleName, cron, timezone, untoldSeconds, lastTick } = state;
  return {
    workflowId,
    name: workflowName,
    ...(scheduleName === MAIN_SCHEDULE ? {} : { schedule: scheduleName }),
    cron,
    timezone,
    description: toWords(state),
    nextRun: findNextRuns(state, now, 1)[0] ?? null,
    ...toPause(state),
    untoldSeconds: untoldSeconds !== null && untoldSeconds > DELAY_SHOWN_SECONDS ? untoldSeconds : null,
    lastTick: lastTick && toTickDocument(lastTick, timezone),
  };
}
