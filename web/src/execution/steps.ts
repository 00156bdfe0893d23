import type { z } from "zod";
import type { ExecutionRecord } from "../../../domain/api/executions.ts";

/** A step of an execution's way: what it is, when it began, and how long it took in milliseconds. */
export interface Step {
  readonly name: "Waiting" | "Sandbox" | "Program" | "Storing outputs" | "Settling";
  /** For executions of several attempts: which one. */
  readonly attempt: number | null;
  readonly startMs: number;
  readonly ms: number;
}

type Record = z.infer<typeof ExecutionRecord>;
type Timed = Pick<Record, "createdAt" | "finishedAt" | "uploadedAt"> & {
  readonly attempts: readonly Pick<Record["attempts"][number], "attempt" | "startedAt" | "endedAt" | "secondsUsed">[];
};

/**
 * Returns what an ended execution did from its acceptance to its settlement, in order and without gaps. Of an attempt, the
 * time that its program did not take is the sandbox's: made ready before, outputs collected after. Empty while it goes on.
 */
export function listSteps({ createdAt, finishedAt, uploadedAt, attempts }: Timed): readonly Step[] {
  if (finishedAt === null) return [];
  const steps: Step[] = [];
  let at = Date.parse(createdAt);
  const add = (name: Step["name"], until: number, attempt: number | null = null): void => {
    if (until > at) steps.push({ name, attempt, startMs: at, ms: until - at });
    at = Math.max(at, until);
  };
  for (const { attempt, startedAt, endedAt, secondsUsed } of attempts) {
    const number = attempts.length > 1 ? attempt : null;
    const end = Date.parse(endedAt ?? finishedAt);
    add("Waiting", Date.parse(startedAt));
    add("Sandbox", end - secondsUsed * 1000, number);
    add("Program", end, number);
  }
  if (attempts.length === 0) add("Waiting", Date.parse(finishedAt));
  if (uploadedAt !== null) add("Storing outputs", Date.parse(uploadedAt));
  add("Settling", Date.parse(finishedAt));
  return steps;
}
