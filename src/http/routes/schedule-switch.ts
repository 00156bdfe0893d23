import { ScheduleSwitch, SwitchPreview } from "../../../domain/api/schedules.ts";
import { COMMITTED, COMMITTING } from "./commits.ts";
import { answerOf, bodyOf, IN_PERSON } from "./content.ts";
import { WORKFLOW_ID } from "./parameters.ts";
import { A_COMMIT } from "./parts.ts";
import type { Routes } from "./route.ts";

/** Pausing a schedule, and letting it go on. */
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
} satisfies Routes;
