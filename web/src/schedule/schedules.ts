import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { z } from "zod";
import type { Schedule, TickPage } from "../../../domain/api/schedules.ts";
import { MAIN_SCHEDULE } from "../../../domain/schedules/names.ts";
import { callApi, toQuery } from "../app/api.ts";

export type ScheduleDocument = z.infer<typeof Schedule>;

/** As requests name it: not at all for that of `triggers.schedule`. */
export function toGivenName(name: string): string | undefined {
  return name === MAIN_SCHEDULE ? undefined : name;
}

export function scheduleQuery(workflowId: string, name: string = MAIN_SCHEDULE) {
  return queryOptions({
    queryKey: ["schedules", workflowId, name],
    queryFn: ({ signal }) => {
      const query = toQuery({ schedule: toGivenName(name) });
      return callApi<ScheduleDocument>(`/api/workflows/${workflowId}/schedule${query}`, { signal });
    },
    // Next runs pass by.
    refetchInterval: 60_000,
  });
}

const TICKS_SHOWN = 50;

/** What became of each time it was due, the newest first, page by page. */
export function ticksQuery(workflowId: string, name: string) {
  return infiniteQueryOptions({
    queryKey: ["schedules", workflowId, name, "ticks"],
    queryFn: ({ pageParam, signal }) => {
      const query = toQuery({ schedule: toGivenName(name), limit: TICKS_SHOWN, before: pageParam ?? undefined });
      return callApi<z.infer<typeof TickPage>>(`/api/workflows/${workflowId}/ticks${query}`, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextBefore }) => nextBefore,
    refetchInterval: 30_000,
  });
}
