import type { z } from "zod";
import type { WorkflowOverview } from "../../../domain/api/workflows.ts";

export type Overview = z.infer<typeof WorkflowOverview>;

/** What the days of an overview come to: the share that succeeded, and the durations of the newest day with a success. */
export function summarise({ days }: Pick<Overview, "days">) {
  const sum = (of: "succeeded" | "failed"): number => days.reduce((total, day) => total + day[of], 0);
  const [succeeded, failed] = [sum("succeeded"), sum("failed")];
  const newest = days.findLast(({ median }) => median !== null);
  const rate = succeeded + failed === 0 ? null : succeeded / (succeeded + failed);
  return { rate, median: newest?.median ?? null, p95: newest?.p95 ?? null };
}
