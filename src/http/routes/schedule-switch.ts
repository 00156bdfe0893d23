import {
  DeclarationPreview,
  ScheduleDeclaration,
  ScheduleSwitch,
  SwitchPreview,
} from "../../../domain/api/schedules.ts";
import { COMMITTED, COMMITTING } from "./commits.ts";
import { answerOf, bodyOf, IN_PERSON } from "./content.ts";
import { WORKFLOW_ID } from "./parameters.ts";
import { A_COMMIT } from "./parts.ts";
import type { Routes } from "./route.ts";

/** Pausing a schedule, letting it go on, and declaring it. */
export const SCHEDULE_SWITCH_ROUTES = {
  switchSchedule: {
    method: "post",
    path: "/api/workflows/{workflowId}/schedule",
    tag: "Publishing",
    summary: "Pause the schedule or let it go on, by a commit that changes `enabled` in config.yaml and nothing else",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(ScheduleSwitch, { enabled: false, expectedHead: A_COMMIT, dryRun: true }),
    answers: {
      200: answerOf("What would change, with `dryRun`: config.yaml.", SwitchPreview, {
        before: "triggers:\n  schedule: { enabled: true, cron: '0 9 * * *' }\n",
        after: "triggers:\n  schedule: { enabled: false, cron: '0 9 * * *' }\n",
      }),
      ...COMMITTED,
    },
    errors: COMMITTING,
  },
  declareSchedule: {
    method: "put",
    path: "/api/workflows/{workflowId}/schedule",
    tag: "Publishing",
    summary:
      "Declare when the workflow runs on a schedule, by a commit that changes `triggers.schedule` in config.yaml",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(ScheduleDeclaration, {
      cron: "0 9 * * 1-5",
      timezone: "Europe/Berlin",
      payload: '{"size":"full"}',
      expectedHead: A_COMMIT,
      dryRun: true,
    }),
    answers: {
      200: answerOf("What would change, with `dryRun`: config.yaml, and the next runs.", DeclarationPreview, {
        before: "name: Hello\n",
        after:
          'name: Hello\ntriggers:\n  schedule:\n    enabled: true\n    cron: "0 9 * * 1-5"\n    timezone: Europe/Berlin\n    payload: { size: full }\n',
        description: "every weekday at 09:00, Europe/Berlin",
        nextRuns: [{ utc: "2026-11-03T08:00:00Z", local: "2026-11-03T09:00:00+01:00" }],
      }),
      ...COMMITTED,
    },
    errors: COMMITTING,
  },
} satisfies Routes;
