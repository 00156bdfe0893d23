import { queryOptions } from "@tanstack/react-query";
import type { z } from "zod";
import type { Commit as CommitDocument } from "../../../domain/api/commits.ts";
import type { ShownWorkflow, TemplateList, WorkflowList, WorkflowOverview } from "../../../domain/api/workflows.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { callApi, toQuery } from "../app/api.ts";

/** A workflow as the list shows it. */
export type WorkflowLine = z.infer<typeof WorkflowList>["workflows"][number];

/** A commit as the history shows it. */
export type Commit = z.infer<typeof CommitDocument>;

/** A workflow in full. `manifest` and `head` are null while nothing is committed. */
export type Workflow = Omit<z.infer<typeof ShownWorkflow>, "manifest"> & { readonly manifest: Manifest | null };

export function workflowsQuery(search = "") {
  return queryOptions({
    queryKey: ["workflows", "list", search],
    queryFn: async ({ signal }) => {
      const path = `/api/workflows${toQuery({ search })}`;
      return (await callApi<z.infer<typeof WorkflowList>>(path, { signal })).workflows;
    },
  });
}

export function workflowQuery(workflowId: string) {
  return queryOptions({
    queryKey: ["workflows", workflowId],
    queryFn: ({ signal }) => callApi<Workflow>(`/api/workflows/${workflowId}`, { signal }),
  });
}

/** How the runs of a workflow have gone. */
export function overviewQuery(workflowId: string) {
  return queryOptions({
    queryKey: ["executions", "overview", workflowId],
    queryFn: ({ signal }) =>
      callApi<z.infer<typeof WorkflowOverview>>(`/api/workflows/${workflowId}/overview`, { signal }),
  });
}

export const templatesQuery = queryOptions({
  queryKey: ["templates"],
  queryFn: async ({ signal }) => (await callApi<z.infer<typeof TemplateList>>("/api/templates", { signal })).templates,
  staleTime: Number.POSITIVE_INFINITY,
});
