import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { z } from "zod";
import type { NoticeList, PlaceList } from "../../../domain/api/notices.ts";
import type { NoticeKind, PlaceKind } from "../../../domain/notices.ts";
import { callApi, toQuery } from "../app/api.ts";

const LOOK_AGAIN_MS = 5_000;

/** A place for messages, with the workflows that name it. */
export type Place = z.infer<typeof PlaceList>["places"][number];
type Page = z.infer<typeof NoticeList>;
export type Notice = Page["notices"][number];

/** What a dialog is open for: a new place, another target for one, or another secret. */
export type Asked = { readonly what: "new" } | { readonly what: "target" | "secret"; readonly place: Place };

/** What people call the kinds of places. */
export const PLACE_WORDS: Readonly<Record<PlaceKind, string>> = {
  webhook: "Webhook",
  email: "E-mail",
  slack: "Slack",
  teams: "Microsoft Teams",
};

export const NOTICE_WORDS: Readonly<Record<NoticeKind, string>> = {
  failure: "Failed",
  recovery: "Well again",
  missed: "Did not run",
  slow: "Takes long",
  disabled: "A place is disabled",
  result: "Result of a call",
  test: "Test",
};

export const placesQuery = queryOptions({
  queryKey: ["notices", "places"],
  queryFn: async ({ signal }) => (await callApi<z.infer<typeof PlaceList>>("/api/places", { signal })).places,
});

/** What was sent, page by page. While one is on its way, it is looked for what came of it. */
export const sentQuery = infiniteQueryOptions({
  queryKey: ["notices", "sent"],
  queryFn: ({ pageParam, signal }) =>
    callApi<Page>(`/api/notices${toQuery({ limit: 50, before: pageParam })}`, { signal }),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page: Page) => page.next,
  refetchInterval: ({ state }) => (isOnItsWay(state.data?.pages ?? []) ? LOOK_AGAIN_MS : false),
});

function isOnItsWay(pages: readonly Page[]): boolean {
  return pages.some(({ notices }) => notices.some(({ state }) => state === "waiting"));
}

/** The address of a place, or of a `part` of it, in the service's interface. */
export function pathOf(name: string, part = ""): string {
  return `/api/places/${encodeURIComponent(name)}${part}`;
}
