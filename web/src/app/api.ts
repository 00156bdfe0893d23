import { readError, unreachable } from "./api-error.ts";

export interface Call {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

let tellSignedOut: () => void = () => {};

/** Calls `handler` after every answer that the session has ended. There is one such handler. */
export function whenSignedOut(handler: () => void): void {
  tellSignedOut = handler;
}

/** Ends the session in this page after a 401. Every call that needs a session reports its status here. */
export function noteStatus(status: number): void {
  if (status === 401) tellSignedOut();
}

/**
 * Calls the service and answers the JSON of a success. `path` begins with `/api/`. Rejects with an `ApiError`, and with
 * the signal's own reason when it was aborted.
 */
export async function callApi<T>(path: string, call: Call = {}): Promise<T> {
  const response = await openApi(path, call);
  return (await response.json()) as T;
}

/** As `callApi`, for answers that are not JSON. */
export async function openApi(path: string, { method = "GET", body, headers, signal }: Call = {}): Promise<Response> {
  const response = await fetch(path, {
    method,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    throw signal?.aborted === true ? error : unreachable();
  });
  if (response.ok) return response;
  // The calls that ask for a session or begin one handle a 401 themselves.
  if (path !== "/api/session") noteStatus(response.status);
  throw readError(response.status, await response.text().catch(() => ""));
}

/** `?a=1&b=2` of what is given; nothing for what is undefined or empty. */
export function toQuery(values: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query === "" ? "" : `?${query}`;
}
