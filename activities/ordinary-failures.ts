import { ApplicationFailure } from "@temporalio/common";

/** A run that was cancelled before it began; a notice that waits for its turn, for another process, or for its receiver. */
const ORDINARY = ["cancelled", "busy", "stopped", "undelivered"];

/** Returns whether an activity failed as it is meant to, which is no news for an operator. */
export function isOrdinaryFailure(error: unknown): boolean {
  return error instanceof ApplicationFailure && ORDINARY.includes(error.type ?? "");
}
