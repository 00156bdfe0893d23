import { QueryClient } from "@tanstack/react-query";
import { isFinal } from "./api-error.ts";

const RETRIES_MAX = 2;
/** Within this time the same question is not asked twice; what changes is told by events. */
const FRESH_MS = 5_000;

/** What the pages know of the service. The first part of a key is a noun: `executions`, `workflows`, `account`. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      retry: (count, error) => count < RETRIES_MAX && !isFinal(error),
    },
    mutations: { retry: false },
  },
});
