import type { ExecutionWork } from "../db/executions/attempts.ts";
import { formatLocal } from "../domain/cron/next-runs.ts";

type Facts = Pick<ExecutionWork, "executionId" | "attempt" | "trigger" | "commitId" | "workflowId" | "tick">;

/**
 * Returns what a run knows of itself, as variables of its environment. `treadle.run` in Python reads them
 * (`runner/modules/treadle.py`). Times are ISO 8601 with the offset of the schedule's zone.
 */
export function toRunVariables({ executionId, attempt, trigger, commitId, workflowId, tick }: Facts) {
  const variables: Record<string, string> = {
    TREADLE_RUN_ID: executionId,
    TREADLE_RUN_ATTEMPT: String(attempt),
    TREADLE_RUN_TRIGGER: trigger,
    TREADLE_RUN_COMMIT: commitId,
    TREADLE_RUN_WORKFLOW: workflowId,
  };
  if (tick === null) return variables;
  const { nominalAt, previousAt, timezone } = tick;
  variables["TREADLE_RUN_SCHEDULED_FOR"] = formatLocal(new Date(nominalAt), timezone);
  if (previousAt !== null)
    variables["TREADLE_RUN_PREVIOUS_SCHEDULED_FOR"] = formatLocal(new Date(previousAt), timezone);
  variables["TREADLE_RUN_TIMEZONE"] = timezone;
  return variables;
}
