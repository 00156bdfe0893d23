import type { z } from "zod";
import type { ExecutionRecord } from "../../../domain/api/executions.ts";

/** Reports where in the queue a run is that has not begun. */
export function queueWords(run: Pick<z.infer<typeof ExecutionRecord>, "queuePosition" | "slotPosition">): string {
  const { queuePosition: position, slotPosition } = run;
  if (slotPosition === 1) return "It is the next to run when a slot is free.";
  if (slotPosition !== null) return `It waits for a free slot. ${before(slotPosition - 1)} before it.`;
  if (position === null) return "It waits to be started.";
  if (position === 1) return "It is the next to run. This workflow has a limit of runs at the same time.";
  return `${before(position - 1, " of this workflow")} before it.`;
}

function before(count: number, ofWhat = ""): string {
  return count === 1 ? `1 other run${ofWhat} is` : `${count} other runs${ofWhat} are`;
}
