import { QueryClient } from "@tanstack/react-query";
import { ApiError, isFinal } from "./api-error.ts";

const RETRIES_MAX = 2;
/** What stands between us and the service says so while that is away. */
const AWAY_STATUSES: readonly number[] = [0, 502, 504];
const AGAIN_MS_MAX = 8_000;
/** Within this time the same request is not sent twice. Events report what changes. */
const FRESH_MS = 5_000;

/** What the pages know of the service. The first part of a key is a noun: `executions`, `workflows`, `account`. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      // The service may be on this machine, where there need be no network at all.
      networkMode: "always",
      // While the service is away, what is shown stays, and the frame of the page says so.
      retry: (count, error) => isAway(error) || (count < RETRIES_MAX && !isFinal(error)),
      retryDelay: (count) => Math.min(AGAIN_MS_MAX, 1_000 * 2 ** count),
    },
    mutations: { retry: false, networkMode: "always" },
  },
});

/** Whether the service was not reached at all. */
function isAway(error: unknown): boolean {
  return error instanceof ApiError && AWAY_STATUSES.includes(error.status);
}
