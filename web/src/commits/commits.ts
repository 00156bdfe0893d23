import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { z } from "zod";
import type { BuildLog, CommitPage, Difference, ShownCommit } from "../../../domain/api/commits.ts";
import { callApi, toQuery } from "../app/api.ts";

/** A file that differs between two commits, or between a commit and a draft. Texts are null where there is none, or none to show. */
export type FileDifference = z.infer<typeof Difference>["files"][number];

/** `to` may be `draft`; `from` null compares with nothing. */
export function diffQuery(workflowId: string, from: string | null, to: string, version?: number) {
  return queryOptions({
    queryKey: ["commits", workflowId, "diff", from, to, version],
    queryFn: async ({ signal }) => {
      const path = `/api/workflows/${workflowId}/diff${toQuery({ from: from ?? undefined, to })}`;
      return (await callApi<z.infer<typeof Difference>>(path, { signal })).files;
    },
    // Commits never change; a draft is asked for anew.
    staleTime: to === "draft" ? 0 : Number.POSITIVE_INFINITY,
    ...(to === "draft" ? { gcTime: 0 } : {}),
  });
}

/** The files of a commit as it has them; `text` null: it is none, or too long to be shown. */
export function commitFilesQuery(workflowId: string, commitId: string) {
  return queryOptions({
    queryKey: ["commits", workflowId, "files", commitId],
    queryFn: async ({ signal }) => {
      const path = `/api/workflows/${workflowId}/commits/${commitId}`;
      return (await callApi<z.infer<typeof ShownCommit>>(path, { signal })).files;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** What making a commit's environment said. */
export type BuiltEnvironment = z.infer<typeof BuildLog>;

export function buildLogQuery(workflowId: string, commitId: string) {
  return queryOptions({
    queryKey: ["commits", workflowId, "build-log", commitId],
    queryFn: ({ signal }) =>
      callApi<BuiltEnvironment>(`/api/workflows/${workflowId}/commits/${commitId}/build-log`, { signal }),
  });
}

const COMMITS_SHOWN = 50;

/** The history, the newest first, page by page. */
export function commitsQuery(workflowId: string) {
  return infiniteQueryOptions({
    queryKey: ["workflows", workflowId, "commits"],
    queryFn: ({ pageParam, signal }) => {
      const query = toQuery({ limit: COMMITS_SHOWN, cursor: pageParam ?? undefined });
      return callApi<z.infer<typeof CommitPage>>(`/api/workflows/${workflowId}/commits${query}`, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** A commit id as people write it. */
export function toShortId(commitId: string): string {
  return commitId.slice(0, 7);
}
