import type { ListedWorkflow } from "../../../db/commits/workflow-list.ts";
import type { RecentExecution } from "../../../db/executions/overview.ts";
import type { CostEstimate } from "../../../db/ledger/estimate.ts";
import { toCredits } from "../../../domain/credits.ts";
import { findNextRuns } from "../../publish/next-runs.ts";
import { toEstimate } from "../execute/cost-estimate.ts";

/** A workflow as the list shows it. */
export function toWorkflowDocument(
  workflow: ListedWorkflow,
  now: Date,
  { estimate, recent = [] }: { estimate: CostEstimate | undefined; recent: readonly RecentExecution[] | undefined },
) {
  const { schedules, lastExecution } = workflow;
  const [next] = schedules
    .flatMap((schedule) => findNextRuns(schedule, now, 1).map((run) => ({ ...run, timezone: schedule.timezone })))
    .sort((one, other) => Date.parse(one.utc) - Date.parse(other.utc));
  return {
    workflowId: workflow.id,
    name: workflow.name,
    description: workflow.description,
    commitId: workflow.head,
    createdAt: workflow.createdAt,
    lastExecution: lastExecution && {
      executionId: lastExecution.id,
      status: lastExecution.state,
      failure: lastExecution.failure,
      createdAt: lastExecution.createdAt,
    },
    recent: recent.map(toRecentDocument),
    nextRun: next === undefined ? null : { utc: next.utc, local: next.local, timezone: next.timezone },
    schedulePaused: schedules.length > 0 && schedules.every(({ enabled }) => !enabled),
    apiEnabled: workflow.apiEnabled,
    spentThisMonth: toCredits(workflow.spent),
    executionsThisMonth: workflow.executions,
    estimate: toEstimate(estimate).estimate ?? null,
  };
}

/** An execution as a strip of the last ones shows it. */
export function toRecentDocument({ id, state, failure, createdAt, secondsUsed }: RecentExecution) {
  return { executionId: id, status: state, failure, createdAt, duration: Math.round(secondsUsed * 1000) / 1000 };
}

/** The beginning of the month in UTC, which is when spending is counted anew. */
export function beginningOfMonth(now: Date): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1));
}
