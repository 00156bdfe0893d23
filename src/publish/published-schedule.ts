import type { Db } from "../../db/connect.ts";
import { declareFirstSchedule, declareSchedule } from "../../db/schedules/declarations.ts";
import { listScheduleNames } from "../../db/schedules/schedules.ts";
import type { WorkflowId } from "../../domain/ids.ts";
import type { Schedule } from "../../domain/manifest/manifest.ts";
import { cronOf } from "../../domain/schedules/declaration.ts";
import type { DeclaredSchedule, ScheduleRef } from "../../domain/schedules/names.ts";
import { findNextLook } from "../../domain/schedules/tick-plan.ts";

/**
 * Makes a workflow's schedules those of its new head from `at` on, in the transaction that moves the head. One that is not declared any
 * more ends; its history stays. What changed is pushed to Temporal soon after.
 */
export async function publishSchedules(
  tx: Db,
  { workflowId, schedules, at }: { workflowId: WorkflowId; schedules: readonly DeclaredSchedule[]; at: Date },
): Promise<void> {
  const declared = new Map(schedules.map(({ name, schedule }) => [name, schedule]));
  for (const { name, isDeclared } of await listScheduleNames(tx, workflowId))
    if (isDeclared && !declared.has(name))
      await publishSchedule(tx, { workflowId, scheduleName: name, schedule: null, at });
  for (const [scheduleName, schedule] of declared)
    await publishSchedule(tx, { workflowId, scheduleName, schedule, at });
}

/** The same for a workflow that the transaction has made: it had none before. */
export async function publishFirstSchedules(
  tx: Db,
  { workflowId, schedules, at }: { workflowId: WorkflowId; schedules: readonly DeclaredSchedule[]; at: Date },
): Promise<void> {
  for (const { name: scheduleName, schedule: declaration } of schedules)
    await declareFirstSchedule(tx, {
      workflowId,
      scheduleName,
      declaration,
      at,
      lookAt: findFirstLook(declaration, at),
    });
}

/** Makes one schedule that of the new head; null: none. True when that changed it. */
export async function publishSchedule(
  tx: Db,
  { schedule, at, ...ref }: ScheduleRef & { readonly schedule: Schedule | null; readonly at: Date },
): Promise<boolean> {
  return declareSchedule(tx, { ...ref, declaration: schedule, at, lookAt: findFirstLook(schedule, at) });
}

function findFirstLook(schedule: Schedule | null, at: Date): Date | null {
  return (
    schedule &&
    findNextLook({ ...schedule, spreadSeconds: 0, cron: cronOf(schedule) }, { accountedUntil: at, until: null })
  );
}
