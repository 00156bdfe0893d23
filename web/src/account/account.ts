import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { callApi, toQuery } from "../app/api.ts";
import type { Role } from "../app/session.ts";
import type { Spend } from "./spend.ts";

/** The account's credits: `available` is the balance less what open runs hold. */
export interface Account {
  readonly accountId: string;
  readonly name: string;
  readonly balance: number;
  readonly reserved: number;
  readonly available: number;
  /** Bytes that it keeps, and may keep; null: no bound. */
  readonly storage: { readonly bytes: number; readonly bytesMax: number | null };
  readonly contact: string | null;
}

export interface LedgerLine {
  readonly id: string;
  readonly kind: string;
  readonly amount: number;
  readonly executionId: string | null;
  readonly workflowId: string | null;
  readonly workflowName: string | null;
  readonly reason: string | null;
  readonly createdAt: string;
}

export interface Member {
  readonly userId: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAt: string;
  readonly lastSeenAt: string | null;
}

export interface Invitation {
  readonly invitationId: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly invitedBy: string | null;
}

export interface AccessToken {
  readonly tokenId: string;
  readonly name: string;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
}

export interface SessionLine {
  readonly id: string;
  readonly createdAt: string;
  readonly seenAt: string;
  readonly current: boolean;
  readonly userAgent: string;
}

export const accountQuery = queryOptions({
  queryKey: ["account"],
  queryFn: ({ signal }) => callApi<Account>("/api/editor/account", { signal }),
});

export const ledgerQuery = infiniteQueryOptions({
  queryKey: ["account", "ledger"],
  queryFn: ({ pageParam, signal }) =>
    callApi<{ entries: readonly LedgerLine[]; nextCursor: string | null }>(
      `/api/editor/ledger${toQuery({ limit: 50, cursor: pageParam })}`,
      { signal },
    ),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
});

export function spendQuery(days: number) {
  return queryOptions({
    queryKey: ["account", "spend", days],
    queryFn: ({ signal }) => callApi<Spend>(`/api/editor/spend?days=${days}`, { signal }),
  });
}

export const membersQuery = queryOptions({
  queryKey: ["members"],
  queryFn: ({ signal }) =>
    callApi<{ members: readonly Member[]; invitations: readonly Invitation[] }>("/api/editor/members", { signal }),
  // Whoever was invited joins elsewhere.
  refetchInterval: 10_000,
});

export const tokensQuery = queryOptions({
  queryKey: ["tokens"],
  queryFn: async ({ signal }) =>
    (await callApi<{ tokens: readonly AccessToken[] }>("/api/editor/tokens", { signal })).tokens,
});

export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: async ({ signal }) =>
    (await callApi<{ sessions: readonly SessionLine[] }>("/api/editor/sessions", { signal })).sessions,
});
