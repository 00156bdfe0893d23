import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { z } from "zod";
import type {
  AccountOverview as AccountOverviewDocument,
  LedgerPage,
  ShownAccount,
  Spend,
} from "../../../domain/api/accounts.ts";
import type { MemberList, SessionList, TokenList } from "../../../domain/api/people.ts";
import { callApi, toQuery } from "../app/api.ts";

const STEPS_EVERY_MS = 10_000;

export type AccountOverview = z.infer<typeof AccountOverviewDocument>;
export type Account = z.infer<typeof ShownAccount>;
export type LedgerLine = z.infer<typeof LedgerPage>["entries"][number];
export type Member = z.infer<typeof MemberList>["members"][number];
export type Invitation = z.infer<typeof MemberList>["invitations"][number];
export type AccessToken = z.infer<typeof TokenList>["tokens"][number];
export type SessionLine = z.infer<typeof SessionList>["sessions"][number];

export const accountQuery = queryOptions({
  queryKey: ["account"],
  queryFn: ({ signal }) => callApi<Account>("/api/account", { signal }),
});

/** How the account stands now. First steps show as done within seconds, also those that no event tells of. */
export const overviewOfAccountQuery = queryOptions({
  queryKey: ["account", "overview"],
  queryFn: ({ signal }) => callApi<AccountOverview>("/api/account/overview", { signal }),
  refetchInterval: ({ state }) => (hasStepsLeft(state.data) ? STEPS_EVERY_MS : false),
});

/** Whether the account is new, and its people have not done all of the first steps. */
export function hasStepsLeft(overview: AccountOverview | undefined): boolean {
  return overview?.firstSteps != null && Object.values(overview.firstSteps).includes(false);
}

export const ledgerQuery = infiniteQueryOptions({
  queryKey: ["account", "ledger"],
  queryFn: ({ pageParam, signal }) =>
    callApi<z.infer<typeof LedgerPage>>(`/api/account/ledger${toQuery({ limit: 50, cursor: pageParam })}`, { signal }),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
});

export function spendQuery(days: number) {
  return queryOptions({
    queryKey: ["account", "spend", days],
    queryFn: ({ signal }) => callApi<z.infer<typeof Spend>>(`/api/account/spend?days=${days}`, { signal }),
  });
}

export const membersQuery = queryOptions({
  queryKey: ["members"],
  queryFn: ({ signal }) => callApi<z.infer<typeof MemberList>>("/api/members", { signal }),
  // Invited people join in another browser.
  refetchInterval: 10_000,
});

export const tokensQuery = queryOptions({
  queryKey: ["tokens"],
  queryFn: async ({ signal }) => (await callApi<z.infer<typeof TokenList>>("/api/tokens", { signal })).tokens,
});

export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: async ({ signal }) => (await callApi<z.infer<typeof SessionList>>("/api/sessions", { signal })).sessions,
});
