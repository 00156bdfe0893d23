import type { z } from "zod";
import type { ExecutionPage } from "../../../domain/api/executions.ts";
import type { ExecutionState, Trigger } from "../../../domain/execution.ts";
import classes from "./state.module.css";
import { STATES } from "./states.ts";

export const TRIGGER_WORDS: Readonly<Record<Trigger, string>> = { api: "API", schedule: "Schedule", form: "Form" };

/** Why an execution failed without a fault of its program. */
type Failure = z.infer<typeof ExecutionPage>["executions"][number]["failure"];

const REFUSED = { label: "Refused", tone: "warning" };

/** Returns the label of an execution's state, and its colour. What was refused for credits never began, so it did not fail. */
export function describeState({ status, failure }: { status: ExecutionState; failure: Failure }): typeof REFUSED {
  return failure === "insufficient_credits" ? REFUSED : STATES[status];
}

/** The state of an execution: a dot of its colour, and the word. */
export function State({ state, failure = null }: { state: ExecutionState; failure?: Failure }) {
  const { label, tone } = describeState({ status: state, failure });
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
