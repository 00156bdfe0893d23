import type { Db } from "../../db/connect.ts";
import { declareFirstSchedule, declareSchedule } from "../../db/schedules/declarations.ts";
import type { WorkflowId } from "../../domain/ids.ts";
import type { Schedule } from "../../domain/manifest/manifest.ts";
import { cronOf } from "../../domain/schedules/declaration.ts";
import { findNextLook } from "../../domain/schedules/tick-plan.ts";

interface PublishedSchedule {
  readonly workflowId: WorkflowId;
  readonly schedule: Schedule | null;
  readonly at: Date;
}

/**
 * Makes a workflow's schedule that of its new head from `at` on (null: none), in the transaction that moves the head.
 * True when that changed it; it is pushed to Temporal soon after.
 */
export async function publishSchedule(tx: Db, { workflowId, schedule, at }: PublishedSchedule): Promise<boolean> {
  return declareSchedule(tx, { workflowId, declaration: schedule, at, lookAt: findFirstLook(schedule, at) });
}

/** The same for a workflow that the transaction has made: it had none before. */
export async function publishFirstSchedule(tx: Db, { workflowId, schedule, at }: PublishedSchedule): Promise<void> {
  if (schedule === null) return;
  await declareFirstSchedule(tx, { workflowId, declaration: schedule, at, lookAt: findFirstLook(schedule, at) });
}

function findFirstLook(schedule: Schedule | null, at: Date): Date | null {
  return schedule && findNextLook({ ...schedule, cron: cronOf(schedule) }, { accountedUntil: at, until: null });
}
