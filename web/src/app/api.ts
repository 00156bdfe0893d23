import { readError, unreachable } from "./api-error.ts";

export interface Call {
  readonly method?: "GET" | "POST" | "DELETE";
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

let tellSignedOut: () => void = () => {};

/** Calls `handler` whenever an answer says that nobody is signed in any more. There is one such handler. */
export function whenSignedOut(handler: () => void): void {
  tellSignedOut = handler;
}

/** To be told of every 401 of a call that needs a session, whoever made it. */
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
  // Who asks whether somebody is signed in, or tries to, knows what to do with a no.
  if (path !== "/api/session") noteStatus(response.status);
  throw readError(response.status, await response.text().catch(() => ""));
}

/** `?a=1&b=2` of what is given; nothing for what is undefined or empty. */
export function toQuery(values: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query === "" ? "" : `?${query}`;
}
