import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { callApi, toQuery } from "../app/api.ts";
import type { Commit } from "../workflows/workflows.ts";

/** A file that differs between two commits, or between a commit and a draft. Texts are null where there is none, or none to show. */
export interface FileDifference {
  readonly path: string;
  readonly status: "added" | "changed" | "removed";
  readonly before: string | null;
  readonly after: string | null;
  readonly binary: boolean;
}

/** `to` may be `draft`; `from` null compares with nothing. */
export function diffQuery(workflowId: string, from: string | null, to: string, version?: number) {
  return queryOptions({
    queryKey: ["commits", workflowId, "diff", from, to, version],
    queryFn: async ({ signal }) => {
      const path = `/api/editor/workflows/${workflowId}/diff${toQuery({ from: from ?? undefined, to })}`;
      return (await callApi<{ files: readonly FileDifference[] }>(path, { signal })).files;
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
      const path = `/api/editor/workflows/${workflowId}/commits/${commitId}`;
      return (await callApi<{ files: readonly { path: string; text: string | null }[] }>(path, { signal })).files;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** What making a commit's environment said. */
export interface BuiltEnvironment {
  /** Null: it needs no packages, so there was nothing to make. */
  readonly environment: string | null;
  /** Null: there is none, or it is not kept any more. */
  readonly log: string | null;
}

export function buildLogQuery(workflowId: string, commitId: string) {
  return queryOptions({
    queryKey: ["commits", workflowId, "build-log", commitId],
    queryFn: ({ signal }) =>
      callApi<BuiltEnvironment>(`/api/editor/workflows/${workflowId}/commits/${commitId}/build-log`, { signal }),
  });
}

const COMMITS_SHOWN = 50;

/** The history, the newest first, page by page. */
export function commitsQuery(workflowId: string) {
  return infiniteQueryOptions({
    queryKey: ["workflows", workflowId, "commits"],
    queryFn: ({ pageParam, signal }) => {
      const query = toQuery({ limit: COMMITS_SHOWN, cursor: pageParam ?? undefined });
      return callApi<{ commits: readonly (Commit & { parentId: string | null })[]; nextCursor: string | null }>(
        `/api/editor/workflows/${workflowId}/commits${query}`,
        { signal },
      );
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** A commit id as people write it. */
export function toShortId(commitId: string): string {
  return commitId.slice(0, 7);
}
