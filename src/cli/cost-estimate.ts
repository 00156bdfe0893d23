/** What executions of a workflow usually cost, as the service tells it. */
export interface CostEstimate {
  readonly credits: number;
  readonly basedOn: number;
}

export function formatEstimate({ credits, basedOn }: CostEstimate): string {
  return `${credits} credits (median of ${basedOn})`;
}
