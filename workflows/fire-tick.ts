import { ApplicationFailure, proxyActivities, proxyLocalActivities, workflowInfo } from "@temporalio/workflow";
import type { Activities } from "../activities/index.ts";
import type { TickInput, TickSummary } from "../domain/schedules/ticks.ts";

/** Temporal's own: the nominal time that its schedule fired for. */
const SCHEDULED_START = { name: "TemporalScheduledStartTime", type: "DATETIME" } as const;

const brief = proxyLocalActivities<Activities>({
  startToCloseTimeout: "5 seconds",
  scheduleToCloseTimeout: "30 seconds",
  retry: { initialInterval: "100 milliseconds", maximumInterval: "2 seconds" },
});
// Without the database a tick waits for it, visible in the UI. By then it may have been recorded by others.
const patient = proxyActivities<Activities>({
  startToCloseTimeout: "20 seconds",
  retry: { initialInterval: "1 second", maximumInterval: "1 minute" },
});

/** One firing of a schedule of a workflow: gives its tick a record, and an execution where one is to start. */
export async function fireTick(schedule: TickInput): Promise<TickSummary> {
  const firedAt = workflowInfo().typedSearchAttributes.get(SCHEDULED_START)?.toISOString();
  if (firedAt === undefined) throw ApplicationFailure.nonRetryable("fireTick is started by schedules only", "internal");
  try {
    return await brief.recordTick({ ...schedule, firedAt });
  } catch {
    return await patient.recordTick({ ...schedule, firedAt });
  }
}
