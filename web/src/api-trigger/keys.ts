import { queryOptions } from "@tanstack/react-query";
import { callApi } from "../app/api.ts";

/** A workflow's key, as it may be shown to anybody of the account. */
export interface KeyDocument {
  readonly masked: string;
  /** Only when it was asked for. */
  readonly apiKey?: string;
  /** Until when the key before it is good, too. */
  readonly previousKeyExpiresAt: string | null;
  readonly apiEnabled: boolean;
}

/** What snippets need to know of the service. */
export interface ServiceDocument {
  readonly apiUrl: string;
  /** Null where every system knows the certificate. */
  readonly ca: { readonly file: string; readonly pem: string } | null;
}

function keyPath(workflowId: string): string {
  return `/api/editor/workflows/${workflowId}/key`;
}

export function keyQuery(workflowId: string) {
  return queryOptions({
    queryKey: ["workflows", workflowId, "key"],
    queryFn: ({ signal }) => callApi<KeyDocument>(keyPath(workflowId), { signal }),
  });
}

/** The key itself: asked for each time, and kept nowhere but where it is shown. */
export async function revealKey(workflowId: string): Promise<string> {
  const { apiKey } = await callApi<KeyDocument>(`${keyPath(workflowId)}?reveal=true`);
  if (apiKey === undefined) throw new Error("The service did not say the key. You may not be allowed to see it.");
  return apiKey;
}

/** Makes a new key; the old one is good for so many days more. */
export function rotateKey(
  workflowId: string,
  graceDays: number,
): Promise<{ apiKey: string; previousKeyExpiresAt: string | null }> {
  return callApi(`${keyPath(workflowId)}/rotate`, { method: "POST", body: { graceDays } });
}

/** Ends the keys before the current one, whatever grace they had. */
export function endPreviousKeys(workflowId: string): Promise<{ ended: number }> {
  return callApi(`${keyPath(workflowId)}/end-previous`, { method: "POST" });
}

export const serviceQuery = queryOptions({
  queryKey: ["service"],
  queryFn: ({ signal }) => callApi<ServiceDocument>("/api/editor/service", { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});
