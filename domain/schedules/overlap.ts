import type { ExecutionId } from "../ids.ts";
import type { Overlap } from "../manifest/manifest.ts";

/** Temporal's own bound for actions it holds back. */
export const QUEUED_TICKS_MAX = 1_000;

/** What earlier ticks of the same schedule still do, in the order of their ticks. */
export interface UnderWay {
  /** Executions that have not ended, a cancelled one included until it has. */
  readonly executions: readonly ExecutionId[];
  /** How many ticks wait for those to end. */
  readonly queuedCount: number;
}

/** What a tick that may start does: at once, not at all, after everything before it has ended, or after it has cancelled that. */
export type OverlapDecision =
  | { readonly kind: "start" }
  | { readonly kind: "skip" }
  | { readonly kind: "queue" }
  | { readonly kind: "cancel"; readonly executions: readonly ExecutionId[] };

/** A queue is bounded: a tick that finds `QUEUED_TICKS_MAX` waiting is skipped. */
export function decideOverlap(overlap: Overlap, underWay: UnderWay): OverlapDecision {
  const isFree = underWay.executions.length === 0 && underWay.queuedCount === 0;
  if (isFree || overlap === "allow") return { kind: "start" };
  switch (overlap) {
    case "skip":
      return { kind: "skip" };
    case "queue":
      return { kind: underWay.queuedCount < QUEUED_TICKS_MAX ? "queue" : "skip" };
    case "cancel_previous":
      return { kind: "cancel", executions: underWay.executions };
  }
}
