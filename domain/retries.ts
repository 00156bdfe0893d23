import type { ExecutionEnd } from "./execution.ts";

/** Ends of an attempt after which another one may follow. */
export const RETRIED_ENDS = ["failed", "timed_out", "out_of_memory"] as const;
export type RetriedEnd = (typeof RETRIED_ENDS)[number];

/** No wait between two attempts is longer than this, however often it was multiplied. */
export const RETRY_DELAY_SECONDS_MAX = 86_400;

/** When another attempt follows one that did not succeed. */
export interface RetryPolicy {
  readonly on: readonly RetriedEnd[];
  /** Between the first attempt and the second. */
  readonly delaySeconds: number;
  /** Each wait is so many times as long as the one before. */
  readonly backoff: number;
}

/** How it was before `config.yaml` could say more than a number of attempts, and is where it does not. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = { on: ["failed"], delaySeconds: 0, backoff: 1 };

/** Returns when attempts of a commit are repeated, with what `config.yaml` leaves out. */
export function retryPolicyOf({ retry }: { readonly retry: Partial<RetryPolicy> }): RetryPolicy {
  const { on, delaySeconds, backoff } = DEFAULT_RETRY_POLICY;
  return {
    on: retry.on ?? on,
    delaySeconds: retry.delaySeconds ?? delaySeconds,
    backoff: retry.backoff ?? backoff,
  };
}

/** Whether an end is one after which the policy wants another attempt. How many there may be is not looked at. */
export function isRetried({ on }: RetryPolicy, end: ExecutionEnd): boolean {
  return on.some((one) => one === end);
}
