import { queryOptions, useQuery } from "@tanstack/react-query";
import type { z } from "zod";
import type { Session as SessionDocument } from "../../../domain/api/session.ts";
import { callApi } from "./api.ts";
import { isFinal } from "./api-error.ts";
import { queries } from "./queries.ts";

export type { Role } from "../../../domain/members.ts";

/** Who is signed in, and to which account. */
export type Session = z.infer<typeof SessionDocument>;

/** The session that the service wrote into the page: its JSON, `none` when signed out, `perhaps` when unknown. */
const told = document.querySelector<HTMLMetaElement>('meta[name="session"]')?.content ?? "perhaps";
let isNobody = told === "none";

/** Whether it is worth asking who is signed in: not as long as no session was begun since the page was loaded. */
export function mayBeSignedIn(): boolean {
  return !isNobody;
}

/** To be called when a session was begun, with what the service has answered to that. */
export function noteSignedIn(session: Session): void {
  isNobody = false;
  queries.clear();
  queries.setQueryData(sessionQuery.queryKey, session);
}

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: ({ signal }) => callApi<Session>("/api/session", { signal }),
  staleTime: 60_000,
  // Before it is known who is signed in there is no page that could say that the service is away.
  retry: (count, error) => count < 2 && !isFinal(error),
});

// For the page that comes first this need not be asked.
if (told.startsWith("{")) queries.setQueryData(sessionQuery.queryKey, JSON.parse(told) as Session);

/** The session of a page behind the sign-in. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (data === undefined) throw new Error("This part of the editor is for people who are signed in.");
  return data;
}

/** Whether who is signed in may change workflows and run them. */
export function useMayChange(): boolean {
  return useSession().role !== "viewer";
}

/** Ends the session, forgets everything it showed, and begins anew at the sign-in. */
export async function signOut(): Promise<void> {
  await callApi("/api/session", { method: "DELETE" });
  queries.clear();
  location.assign("/sign-in");
}
