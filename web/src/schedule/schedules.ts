import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { Catchup, Overlap } from "../../../domain/manifest/manifest.ts";
import type { TickOutcome, TickSource } from "../../../domain/schedules/ticks.ts";
import { callApi, toQuery } from "../app/api.ts";
import type { NextRun } from "./next-runs.tsx";

/** What became of a time the schedule was due. */
export interface Tick {
  readonly nominalAt: string;
  readonly local: string;
  readonly outcome: TickOutcome;
  readonly reason: string;
  readonly lateSeconds: number;
  readonly executionId: string | null;
  readonly source: TickSource;
  readonly decidedAt: string;
}

export interface ScheduleDocument {
  /** Null: the latest commit declares none. */
  readonly schedule: {
    readonly cron: string;
    readonly timezone: string;
    /** In plain words. */
    readonly description: string;
    readonly overlap: Overlap;
    readonly catchup: Catchup;
    readonly maxLatenessSeconds: number;
    readonly jitterSeconds: number;
    readonly since: string;
  } | null;
  readonly paused: boolean;
  readonly reason: string | null;
  readonly nextRuns: readonly NextRun[];
}

export function scheduleQuery(workflowId: string) {
  return queryOptions({
    queryKey: ["schedules", workflowId],
    queryFn: ({ signal }) => callApi<ScheduleDocument>(`/api/workflows/${workflowId}/schedule`, { signal }),
    // Next runs pass by.
    refetchInterval: 60_000,
  });
}

const TICKS_SHOWN = 50;

/** What became of each time it was due, the newest first, page by page. */
export function ticksQuery(workflowId: string) {
  return infiniteQueryOptions({
    queryKey: ["schedules", workflowId, "ticks"],
    queryFn: ({ pageParam, signal }) => {
      const query = toQuery({ limit: TICKS_SHOWN, before: pageParam ?? undefined });
      return callApi<{ ticks: readonly Tick[]; nextBefore: string | null }>(
        `/api/workflows/${workflowId}/ticks${query}`,
        { signal },
      );
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextBefore }) => nextBefore,
    refetchInterval: 30_000,
  });
}
