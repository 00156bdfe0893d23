import type { ExecutionState } from "../../../domain/execution.ts";

/** The label of each state, and its colour: the more a reader has to do about it, the louder. */
export const STATES: Readonly<Record<ExecutionState, { label: string; tone: string }>> = {
  queued: { label: "Queued", tone: "idle" },
  running: { label: "Running", tone: "active" },
  success: { label: "Success", tone: "success" },
  failed: { label: "Failed", tone: "failure" },
  timed_out: { label: "Timed out", tone: "warning" },
  out_of_memory: { label: "Out of memory", tone: "warning" },
  cancelled: { label: "Cancelled", tone: "idle" },
};
