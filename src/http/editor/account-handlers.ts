import type { RequestHandler } from "express";
import type { AppDeps } from "../deps.ts";
import type { ACCESS_ROUTES } from "../routes/editor/access.ts";
import type { ACCOUNT_ROUTES } from "../routes/editor/account.ts";
import type { MEMBER_ROUTES } from "../routes/editor/members.ts";
import type { SignInThrottle } from "../sign-in-throttle.ts";
import { createAccountRoute, createLedgerRoute, createSpendRoute } from "./account.ts";
import { createInvitationRevocationRoute, createInvitationRoute } from "./invitations.ts";
import { createJoinRoute, createLookRoute } from "./join.ts";
import { createMembersRoute, createRemovalRoute, createRoleRoute, createSignInLinkRoute } from "./members.ts";
import { createPasswordRoute } from "./password.ts";
import { createSessionEndRoute, createSessionsRoute, createSignOutElsewhereRoute } from "./sessions.ts";
import { createTokenRevocationRoute, createTokenRoute, createTokensRoute } from "./tokens.ts";

type RouteName = keyof typeof ACCOUNT_ROUTES | keyof typeof ACCESS_ROUTES | keyof typeof MEMBER_ROUTES;

/** What the editor's routes about the account and its people do. */
export function createAccountHandlers(
  deps: AppDeps,
  throttle: SignInThrottle,
): Readonly<Record<RouteName, RequestHandler>> {
  return {
    showAccount: createAccountRoute(deps),
    listLedger: createLedgerRoute(deps),
    showSpend: createSpendRoute(deps),

    listMembers: createMembersRoute(deps),
    changeRole: createRoleRoute(deps),
    removeMember: createRemovalRoute(deps),
    linkSignIn: createSignInLinkRoute(deps),
    invite: createInvitationRoute(deps),
    revokeInvitation: createInvitationRevocationRoute(deps),
    lookAtInvitation: createLookRoute(deps, throttle),
    join: createJoinRoute(deps, throttle),

    listSessions: createSessionsRoute(deps),
    signOutElsewhere: createSignOutElsewhereRoute(deps),
    endSession: createSessionEndRoute(deps),
    changePassword: createPasswordRoute(deps, throttle),
    listTokens: createTokensRoute(deps),
    createToken: createTokenRoute(deps),
    revokeToken: createTokenRevocationRoute(deps),
  };
}
