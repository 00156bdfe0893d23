import type { WorkflowId } from "../ids.ts";
import { isWorkflowId } from "../ids.ts";
import type { Manifest, Schedule } from "../manifest/manifest.ts";

/** What `triggers.schedule` is called among the schedules of its workflow. None of `triggers.schedules` may have this name. */
export const MAIN_SCHEDULE = "schedule";
/** Schedules in `triggers.schedules`. */
export const NAMED_SCHEDULES_MAX = 10;
export const SCHEDULE_NAME = /^[a-z][a-z0-9_-]{0,39}$/;

/** One schedule of all workflows: the workflow's id for `triggers.schedule`, and `wf_…:nightly` for a named one. Temporal knows them by it. */
export type ScheduleId = WorkflowId | `${WorkflowId}:${string}`;

/** A schedule of a workflow. Without a name it is `triggers.schedule`. */
export interface ScheduleRef {
  readonly workflowId: WorkflowId;
  readonly scheduleName?: string;
}

export function toScheduleId({ workflowId, scheduleName = MAIN_SCHEDULE }: ScheduleRef): ScheduleId {
  return scheduleName === MAIN_SCHEDULE ? workflowId : `${workflowId}:${scheduleName}`;
}

/** Undefined for a text that is no such id. */
export function parseScheduleId(text: string): Required<ScheduleRef> | undefined {
  const [workflowId = "", scheduleName = MAIN_SCHEDULE, ...rest] = text.split(":");
  if (!isWorkflowId(workflowId) || !SCHEDULE_NAME.test(scheduleName) || rest.length > 0) return undefined;
  return { workflowId, scheduleName };
}

/** A schedule with its name, as a manifest declares it. */
export interface DeclaredSchedule {
  readonly name: string;
  readonly schedule: Schedule;
}

/** Returns all schedules of a manifest, `triggers.schedule` first. */
export function listDeclaredSchedules({ triggers }: Pick<Manifest, "triggers">): DeclaredSchedule[] {
  const { schedule, schedules = [] } = triggers;
  return [
    ...(schedule === null ? [] : [{ name: MAIN_SCHEDULE, schedule }]),
    ...schedules.map(({ name, ...named }) => ({ name, schedule: named })),
  ];
}

export function findDeclaredSchedule(manifest: Pick<Manifest, "triggers">, name: string): Schedule | undefined {
  return listDeclaredSchedules(manifest).find((declared) => declared.name === name)?.schedule;
}
