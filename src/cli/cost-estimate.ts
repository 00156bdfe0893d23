import type { z } from "zod";
import type { Estimate } from "../../domain/api/workflows.ts";
/** What executions of a workflow usually cost, as the service tells it. */
export type CostEstimate = z.infer<typeof Estimate>;

export function formatEstimate({ credits, basedOn }: CostEstimate): string {
  return `${credits} credits (median of ${basedOn})`;
}
