import { NEXT_RUNS_MAX, TICKS_PAGE_MAX } from "../../../domain/api/limits.ts";
import { Schedule, TICK_TIME, TickPage } from "../../../domain/api/schedules.ts";
import { SCHEDULE_NAME } from "../../../domain/schedules/names.ts";
import { answerOf } from "./content.ts";
import { WORKFLOW_ID } from "./parameters.ts";
import type { Credential, Parameter, Routes } from "./route.ts";

const READERS: readonly Credential[] = ["apiKey", "session", "accessToken"];
export const TICK_EXAMPLE = {
  nominalAt: "2026-11-02T08:00:00Z",
  local: "2026-11-02T09:00:00+01:00",
  outcome: "started" as const,
  reason: "",
  lateSeconds: 0.412,
  executionId: "ex_06d1k7q2m8v3r5t9w0x4y6z8a1",
  source: "clock" as const,
  decidedAt: "2026-11-02T08:00:00.412Z",
};

const SCHEDULE: Parameter = {
  name: "schedule",
  in: "query",
  description: "Which of the workflow's schedules, of `triggers.schedules`. That of `triggers.schedule` unless given.",
  schema: { type: "string", pattern: SCHEDULE_NAME.source },
};

/** When a workflow runs by the clock, and what became of it. */
export const SCHEDULE_ROUTES = {
  showSchedule: {
    method: "get",
    path: "/api/workflows/{workflowId}/schedule",
    tag: "Schedules",
    summary: "The workflow's schedule: as declared, in plain words, its next runs and its last ticks",
    credentials: READERS,
    parameters: [
      WORKFLOW_ID,
      SCHEDULE,
      {
        name: "count",
        in: "query",
        description: "How many next runs. 10 unless given.",
        schema: { type: "integer", minimum: 1, maximum: NEXT_RUNS_MAX },
      },
    ],
    answers: {
      200: answerOf("The schedule as it is now.", Schedule, {
        schedule: {
          cron: "0 9 * * 1-5",
          timezone: "Europe/Berlin",
          description: "every weekday at 09:00, Europe/Berlin",
          overlap: "skip" as const,
          catchup: "latest" as const,
          maxLatenessSeconds: 3600,
          jitterSeconds: 0,
          since: "2026-10-30T14:21:07.031Z",
        },
        paused: false,
        reason: null,
        nextRuns: [{ utc: "2026-11-03T08:00:00Z", local: "2026-11-03T09:00:00+01:00" }],
        lastTicks: [TICK_EXAMPLE],
      }),
    },
    errors: ["unauthorized", "workflow_not_found", "no_capacity"],
  },
  listTicks: {
    method: "get",
    path: "/api/workflows/{workflowId}/ticks",
    tag: "Schedules",
    summary: "What became of each time the schedule was due, the newest first",
    credentials: READERS,
    parameters: [
      WORKFLOW_ID,
      SCHEDULE,
      {
        name: "limit",
        in: "query",
        description: "At most this many. 50 unless given.",
        schema: { type: "integer", minimum: 1, maximum: TICKS_PAGE_MAX },
      },
      {
        name: "before",
        in: "query",
        description: "Only those that were due before this time: `nextBefore` of the page before.",
        schema: { type: "string", pattern: TICK_TIME },
      },
    ],
    answers: {
      200: answerOf("A page of them.", TickPage, {
        ticks: [{ ...TICK_EXAMPLE, status: "success" as const }],
        nextBefore: "2026-11-02T08:00:00Z",
      }),
    },
    errors: ["unauthorized", "workflow_not_found", "no_capacity"],
  },
} satisfies Routes;
