import { hasRight, type Role } from "../../../domain/members.ts";
import { PAGES_PATH } from "../../setup/servers/temporal-proxy.ts";
import type { AppDeps } from "../deps.ts";

export type LinkDeps = Pick<AppDeps, "apiUrl" | "temporalUiUrl" | "temporalPages">;

/**
 * Returns where a user of this role looks into Temporal. Where the pages are shown here, it is our own address for
 * owners, and null for others. Elsewhere it is `TEMPORAL_UI_URL`, or null.
 */
export function findPagesUrl(deps: LinkDeps, role: Role): string | null {
  if (deps.temporalPages === undefined) return deps.temporalUiUrl ?? null;
  return hasRight(role, "own") ? `${deps.apiUrl().replace(/\/api$/, "")}${PAGES_PATH}` : null;
}
