import { ScheduleSwitch } from "../../editor/schedule.ts";
import { bodyOf, describeFields, IN_PERSON, TEXT } from "../content.ts";
import { WORKFLOW_ID } from "../parameters.ts";
import type { Routes } from "../route.ts";
import { COMMITTED, COMMITTING } from "./commits.ts";
import { A_COMMIT, answer } from "./parts.ts";

/** Pausing a schedule, and letting it go on. */
export const EDITOR_SCHEDULE_ROUTES = {
  switchSchedule: {
    method: "post",
    path: "/api/editor/workflows/{workflowId}/schedule",
    tag: "Editor",
    summary: "Pause the schedule or let it go on, by a commit that changes `enabled` in config.yaml and nothing else",
    credentials: IN_PERSON,
    parameters: [WORKFLOW_ID],
    body: bodyOf(ScheduleSwitch, { enabled: false, expectedHead: A_COMMIT, dryRun: true }),
    answers: {
      200: answer("What would change, with `dryRun`: config.yaml.", describeFields({ before: TEXT, after: TEXT }), {
        before: "triggers:\n  schedule: { enabled: true, cron: '0 9 * * *' }\n",
        after: "triggers:\n  schedule: { enabled: false, cron: '0 9 * * *' }\n",
      }),
      ...COMMITTED,
    },
    errors: COMMITTING,
  },
} satisfies Routes;
