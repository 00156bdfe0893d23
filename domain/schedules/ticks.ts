import type { ExecutionId } from "../ids.ts";
import type { ScheduleRef } from "./names.ts";

/** What became of a time a schedule was due; a closed list. */
export const TICK_OUTCOMES = [
  "started",
  "skipped_overlap",
  "missed",
  "refused_credits",
  "refused_concurrency",
  "refused_storage",
  "paused",
  "no_commit",
] as const;
export type TickOutcome = (typeof TICK_OUTCOMES)[number];

/** What fired it: Temporal's clock, the check for ticks without a record, or a user who asked for past ones. */
export const TICK_SOURCES = ["clock", "repair", "backfill"] as const;
export type TickSource = (typeof TICK_SOURCES)[number];

/** What a tick's Workflow Definition is started with. */
export type TickInput = ScheduleRef;

/** What it returns: enough to read in Temporal's UI. `none`: the schedule is not due at that time. */
export interface TickSummary {
  readonly nominalAt: string;
  readonly outcome: TickOutcome | "none";
  readonly executionId: ExecutionId | null;
}
