import { Backfill, BackfillRequest, ScheduleList } from "../../../domain/api/schedules.ts";
import { answerOf, bodyOf, IN_PERSON } from "./content.ts";
import { ACCOUNT, WORKFLOW_ID } from "./parameters.ts";
import { A_WORKFLOW } from "./parts.ts";
import type { Routes } from "./route.ts";
import { TICK_EXAMPLE } from "./schedules.ts";

/** The schedules of an account, and past ticks run again. */
export const SCHEDULE_LIST_ROUTES = {
  listSchedules: {
    method: "get",
    path: "/api/schedules",
    tag: "Schedules",
    summary: "The schedules of the account, each with its next run and its last tick",
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    answers: {
      200: answerOf("All of them.", ScheduleList, {
        schedules: [
          {
            workflowId: A_WORKFLOW,
            name: "Sales report",
            cron: "0 9 * * 1-5",
            timezone: "Europe/Berlin",
            description: "every weekday at 09:00, Europe/Berlin",
            nextRun: { utc: "2026-11-03T08:00:00Z", local: "2026-11-03T09:00:00+01:00" },
            paused: false,
            reason: null,
            untoldSeconds: null,
            lastTick: TICK_EXAMPLE,
          },
        ],
      }),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  backfill: {
    method: "post",
    path: "/api/workflows/{workflowId}/backfills",
    tag: "Schedules",
    summary: "Run the past ticks of a schedule that were not started, each once and in order",
    description:
      "Those due from `from` on and before `to`: with an offset or Z, or by the schedule's own clock. It stops at the first that cannot start. The same call again goes on there.",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(BackfillRequest, { from: "2026-11-02", to: "2026-11-03", dryRun: true }),
    answers: {
      200: answerOf("What became of each.", Backfill, {
        workflowId: A_WORKFLOW,
        timezone: "Europe/Berlin",
        dryRun: false,
        from: "2026-11-01T23:00:00Z",
        to: "2026-11-02T23:00:00Z",
        started: 1,
        startedBefore: 0,
        left: 0,
        stopped: null,
        ticks: [
          {
            nominalAt: "2026-11-02T08:00:00Z",
            local: "2026-11-02T09:00:00+01:00",
            state: "started" as const,
            executionId: "ex_06d1k7q2m8v3r5t9w0x4y6z8a1",
          },
        ],
      }),
    },
    errors: [
      "invalid_request",
      "unauthorized",
      "workflow_not_found",
      "not_found",
      "payload_too_large",
      "unsupported_media_type",
      "no_capacity",
    ],
  },
} satisfies Routes;
