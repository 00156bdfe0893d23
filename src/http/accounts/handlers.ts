import type { RequestHandler } from "express";
import type { SignInThrottle } from "../auth/sign-in-throttle.ts";
import type { AppDeps } from "../deps.ts";
import type { ACCESS_ROUTES } from "../routes/access.ts";
import type { ACCOUNT_ROUTES } from "../routes/account.ts";
import type { DEVICE_CODE_ROUTES } from "../routes/device-codes.ts";
import type { MEMBER_ROUTES } from "../routes/members.ts";
import { createAccountRoute, createLedgerRoute, createSpendRoute } from "./account.ts";
import { createAccountsRoute, createAdjustmentRoute, createGrantRoute, createNewAccountRoute } from "./accounts.ts";
import { createRateAgreementRoute, createRatesRoute, createStorageAgreementRoute } from "./agreements.ts";
import {
  createDeviceAnswerRoute,
  createDeviceCodeRoute,
  createDeviceLookRoute,
  createDeviceTokenRoute,
} from "./device-codes.ts";
import { createInvitationRevocationRoute, createInvitationRoute } from "./invitations.ts";
import { createJoinRoute, createLookRoute } from "./join.ts";
import { createMembersRoute, createRemovalRoute, createRoleRoute, createSignInLinkRoute } from "./members.ts";
import { createAccountOverviewRoute } from "./overview.ts";
import { createPasswordRoute } from "./password.ts";
import { createSessionEndRoute, createSessionsRoute, createSignOutElsewhereRoute } from "./sessions.ts";
import { createTokenRevocationRoute, createTokenRoute, createTokensRoute } from "./tokens.ts";

type RouteName =
  | keyof typeof ACCOUNT_ROUTES
  | keyof typeof ACCESS_ROUTES
  | keyof typeof DEVICE_CODE_ROUTES
  | keyof typeof MEMBER_ROUTES;

/** What the editor's routes about the account and its people do. */
export function createAccountHandlers(
  deps: AppDeps,
  throttle: SignInThrottle,
): Readonly<Record<RouteName, RequestHandler>> {
  return {
    showAccount: createAccountRoute(deps),
    showAccountOverview: createAccountOverviewRoute(deps),
    listLedger: createLedgerRoute(deps),
    showSpend: createSpendRoute(deps),
    listAccounts: createAccountsRoute(deps),
    createAccount: createNewAccountRoute(deps),
    grantCredits: createGrantRoute(deps),
    adjustCredits: createAdjustmentRoute(deps),
    showRates: createRatesRoute(deps),
    agreeRates: createRateAgreementRoute(deps),
    agreeStorage: createStorageAgreementRoute(deps),

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

    createDeviceCode: createDeviceCodeRoute(deps),
    lookAtDeviceCode: createDeviceLookRoute(deps, throttle),
    answerDeviceCode: createDeviceAnswerRoute(deps, throttle),
    fetchDeviceToken: createDeviceTokenRoute(deps),
  };
}
