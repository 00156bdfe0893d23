import { hasRight, type Role } from "../../../domain/members.ts";
import { PAGES_PATH } from "../../setup/servers/temporal-door.ts";
import type { AppDeps } from "../deps.ts";

export type LinkDeps = Pick<AppDeps, "apiUrl" | "temporalUiUrl" | "temporalPages">;

/**
 * Returns where somebody of this role looks into Temporal: our own address where the pages are shown here, which is for owners
 * alone, else what `TEMPORAL_UI_URL` says. Null where there is nothing to look at.
 */
export function findPagesUrl(deps: LinkDeps, role: Role): string | null {
  if (deps.temporalPages === undefined) return deps.temporalUiUrl ?? null;
  return hasRight(role, "own") ? `${deps.apiUrl().replace(/\/api$/, "")}${PAGES_PATH}` : null;
}
