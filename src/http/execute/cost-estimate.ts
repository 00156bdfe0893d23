import type { CostEstimate } from "../../../db/ledger/estimate.ts";
import { toCredits } from "../../../domain/credits.ts";

/**
 * What an execution usually costs, as answers tell it: the median of the last successful ones, in credits, and how many
 * they were. Nothing without any. For people: what is reserved is always the most an execution can cost.
 */
export function toEstimate(estimate: CostEstimate | undefined): { estimate?: { credits: number; basedOn: number } } {
  if (estimate === undefined) return {};
  return { estimate: { credits: toCredits(estimate.median), basedOn: estimate.executions } };
}
