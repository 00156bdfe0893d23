import type { Db } from "../../db/connect.ts";
import { declareSchedule } from "../../db/schedules.ts";
import type { WorkflowId } from "../../domain/ids.ts";
import type { Schedule } from "../../domain/manifest/manifest.ts";
import { cronOf } from "../../domain/schedules/declaration.ts";
import { findNextLook } from "../../domain/schedules/tick-plan.ts";

/**
 * Makes a workflow's schedule that of its new head from `at` on (null: none), in the transaction that moves the head. True when
 * that changed it; Temporal is told soon after.
 */
export async function publishSchedule(
  tx: Db,
  { workflowId, schedule, at }: { workflowId: WorkflowId; schedule: Schedule | null; at: Date },
): Promise<boolean> {
  const lookAt = schedule && findNextLook({ ...schedule, cron: cronOf(schedule) }, { accountedUntil: at, until: null });
  return declareSchedule(tx, { workflowId, declaration: schedule, at, lookAt });
}
