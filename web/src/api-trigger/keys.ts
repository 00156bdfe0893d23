import { queryOptions } from "@tanstack/react-query";
import type { z } from "zod";
import type { EndedKey, KeyList, RotatedKey, WholeKey } from "../../../domain/api/keys.ts";
import type { Installation } from "../../../domain/api/service.ts";
import { callApi } from "../app/api.ts";

export type Key = z.infer<typeof KeyList>["keys"][number];

/** What snippets need to know of the service. */
export type ServiceDocument = z.infer<typeof Installation>;

function pathOf(workflowId: string): string {
  return `/api/workflows/${workflowId}`;
}

/** The keys that work now, masked, the current one first. */
export function keysQuery(workflowId: string) {
  return queryOptions({
    queryKey: ["workflows", workflowId, "keys"],
    queryFn: ({ signal }) => callApi<z.infer<typeof KeyList>>(`${pathOf(workflowId)}/keys`, { signal }),
  });
}

/** Returns the current key itself: asked for each time, and kept nowhere but where it is shown. */
export async function revealKey(workflowId: string): Promise<string> {
  return (await callApi<z.infer<typeof WholeKey>>(`${pathOf(workflowId)}/key`)).apiKey;
}

/** Makes a new key. The old one works for so many seconds more. */
export function rotateKey(workflowId: string, graceSeconds: number): Promise<z.infer<typeof RotatedKey>> {
  return callApi(`${pathOf(workflowId)}/keys`, { method: "POST", body: { graceSeconds } });
}

/** Ends a replaced key now. */
export function endKey(workflowId: string, keyId: string): Promise<z.infer<typeof EndedKey>> {
  return callApi(`${pathOf(workflowId)}/keys/${keyId}`, { method: "DELETE" });
}

export const serviceQuery = queryOptions({
  queryKey: ["service"],
  queryFn: ({ signal }) => callApi<ServiceDocument>("/api/service", { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});
