import { queryOptions } from "@tanstack/react-query";
import type { ExecutionState } from "../../../domain/execution.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { callApi, toQuery } from "../app/api.ts";

/** A workflow as the list shows it. */
export interface WorkflowLine {
  readonly workflowId: string;
  readonly name: string;
  readonly description: string;
  readonly commitId: string | null;
  readonly createdAt: string;
  readonly lastExecution: { executionId: string; status: ExecutionState; createdAt: string } | null;
  /** `local` is in the schedule's zone, `utc` the instant. */
  readonly nextRun: { utc: string; local: string; timezone: string } | null;
  readonly schedulePaused: boolean;
  readonly apiEnabled: boolean;
  readonly spentThisMonth: number;
  readonly executionsThisMonth: number;
}

/** A commit as the history shows it. */
export interface Commit {
  readonly commitId: string;
  readonly message: string;
  readonly author: { email: string } | null;
  readonly createdAt: string;
  readonly executions: number;
  readonly isHead: boolean;
}

/** A workflow in full. `manifest` and `head` are null while nothing is committed. */
export interface Workflow extends WorkflowLine {
  readonly manifest: Manifest | null;
  readonly head: Commit | null;
  readonly estimate: { credits: number; basedOn: number } | null;
  readonly executeUrl: string;
  readonly docsUrl: string;
}

export interface Template {
  readonly templateId: string;
  readonly name: string;
  readonly description: string;
  readonly files: readonly string[];
}

export function workflowsQuery(search = "") {
  return queryOptions({
    queryKey: ["workflows", "list", search],
    queryFn: async ({ signal }) => {
      const path = `/api/editor/workflows${toQuery({ search })}`;
      return (await callApi<{ workflows: readonly WorkflowLine[] }>(path, { signal })).workflows;
    },
  });
}

export function workflowQuery(workflowId: string) {
  return queryOptions({
    queryKey: ["workflows", workflowId],
    queryFn: ({ signal }) => callApi<Workflow>(`/api/editor/workflows/${workflowId}`, { signal }),
  });
}

export const templatesQuery = queryOptions({
  queryKey: ["templates"],
  queryFn: async ({ signal }) =>
    (await callApi<{ templates: readonly Template[] }>("/api/editor/templates", { signal })).templates,
  staleTime: Number.POSITIVE_INFINITY,
});
