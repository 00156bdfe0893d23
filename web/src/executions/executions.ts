import { infiniteQueryOptions } from "@tanstack/react-query";
import type { ExecutionState, Trigger } from "../../../domain/execution.ts";
import { callApi, toQuery } from "../app/api.ts";

/** An execution as lists show it. `duration` in seconds, `cost` in credits. */
export interface ExecutionLine {
  readonly executionId: string;
  readonly workflowId: string;
  readonly workflowName: string;
  readonly status: ExecutionState;
  readonly trigger: Trigger;
  /** Of files that were not committed. */
  readonly draft: boolean;
  readonly commitId: string;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly duration: number | null;
  readonly cost: number | null;
  readonly message: string;
}

/** What a list of executions may be narrowed to; the address of the page holds it. */
export interface ExecutionFilters {
  readonly workflow?: string;
  readonly state?: string;
  readonly trigger?: string;
  readonly commit?: string;
  /** Days of the viewer's zone, `YYYY-MM-DD`, both included. */
  readonly from?: string;
  readonly to?: string;
  readonly text?: string;
}

interface Page {
  readonly executions: readonly ExecutionLine[];
  readonly nextCursor: string | null;
}

const LINES_A_PAGE = 50;

/** The executions that pass the filters, newest first, page after page. */
export function executionsQuery(filters: ExecutionFilters) {
  return infiniteQueryOptions({
    queryKey: ["executions", "list", filters],
    queryFn: ({ pageParam, signal }) => {
      const { from, to, ...others } = filters;
      const times = { from: startOfDay(from), to: startOfDay(to, 1) };
      const query = toQuery({ ...others, ...times, limit: LINES_A_PAGE, cursor: pageParam });
      return callApi<Page>(`/api/editor/executions${query}`, { signal });
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
  });
}

/** The instant at which a day of the viewer's zone begins, or the one some days later. */
function startOfDay(day: string | undefined, daysLater = 0): string | undefined {
  const [year = 0, month = 1, date = 1] = (day ?? "").split("-").map(Number);
  const at = new Date(year, month - 1, date + daysLater);
  return day === undefined || Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
