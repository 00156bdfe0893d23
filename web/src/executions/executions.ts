import { infiniteQueryOptions } from "@tanstack/react-query";
import type { z } from "zod";
import type { ExecutionPage } from "../../../domain/api/executions.ts";
import { callApi, toQuery } from "../app/api.ts";

type Page = z.infer<typeof ExecutionPage>;

/** An execution as lists show it. `duration` in seconds, `cost` in credits. */
export type ExecutionLine = Page["executions"][number];

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

const LINES_A_PAGE = 50;

/** The executions that pass the filters, newest first, page after page. */
export function executionsQuery(filters: ExecutionFilters) {
  return infiniteQueryOptions({
    queryKey: ["executions", "list", filters],
    queryFn: ({ pageParam, signal }) => {
      const { from, to, ...others } = filters;
      const times = { from: startOfDay(from), to: startOfDay(to, 1) };
      const query = toQuery({ ...others, ...times, limit: LINES_A_PAGE, cursor: pageParam });
      return callApi<Page>(`/api/executions${query}`, { signal });
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
