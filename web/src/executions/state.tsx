import type { ExecutionState, Trigger } from "../../../domain/execution.ts";
import classes from "./state.module.css";

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

export const TRIGGER_WORDS: Readonly<Record<Trigger, string>> = { api: "API", schedule: "Schedule", form: "Form" };

/** The state of an execution: a dot of its colour, and the word. */
export function State({ state }: { state: ExecutionState }) {
  const { label, tone } = STATES[state];
  return (
    <span className={classes.state} data-tone={tone}>
      <span className={classes.dot} data-moving={state === "running" || undefined} aria-hidden="true" />
      {label}
    </span>
  );
}

/** Whether it has ended, however. */
export function hasEnded(state: ExecutionState): boolean {
  return state !== "queued" && state !== "running";
}
