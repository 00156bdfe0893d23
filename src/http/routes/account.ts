import {
  Account,
  AccountList,
  AccountOverview,
  AccountRates,
  AgreedRates,
  Balance,
  LEDGER_CURSOR,
  LedgerChange,
  LedgerPage,
  NewAccount,
  ShownAccount,
  Spend,
  StorageAgreement,
} from "../../../domain/api/accounts.ts";
import { LEDGER_PAGE_MAX, SPEND_DAYS_MAX } from "../../../domain/api/limits.ts";
import { answerOf, bodyOf, describeId, IN_PERSON } from "./content.ts";
import { ACCOUNT } from "./parameters.ts";
import type { Routes } from "./route.ts";

const ERRORS = ["unauthorized", "not_found", "no_capacity"] as const;
const CHANGE_ERRORS = [
  "unauthorized",
  "not_found",
  "payload_too_large",
  "unsupported_media_type",
  "no_capacity",
] as const;
const BALANCE = { balance: 998.5, reserved: 3.001, available: 995.499 };
const EXAMPLE = { accountId: "acct_06d1k7q2m8v3r5t9w0x4y6z8a1", name: "main", ...BALANCE };
const STORAGE = { bytes: 1_200_000_000, bytesMax: 50_000_000_000, agreedMax: null };
const RATES = {
  accountId: EXAMPLE.accountId,
  name: EXAMPLE.name,
  agreed: { perMinute: null, burst: null, accountPerMinute: 1_200 },
  key: { perMinute: 120, burst: 40 },
  account: { perMinute: 1_200, burst: 400, remaining: 398, fullAfterSeconds: 1 },
};
const OPERATOR = "For the operator's token alone: `account` names the account, or the first is meant.";

/** The account and its credits. */
export const ACCOUNT_ROUTES = {
  showAccount: {
    method: "get",
    path: "/api/account",
    tag: "Account",
    summary: "The account, its credits and what it keeps in storage",
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    answers: {
      200: answerOf("As it is now.", ShownAccount, { ...EXAMPLE, storage: STORAGE, contact: null }),
    },
    errors: ERRORS,
  },
  showAccountOverview: {
    method: "get",
    path: "/api/account/overview",
    tag: "Account",
    summary: "What runs, waits and fails now, and how long the credits last",
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    answers: {
      200: answerOf("As it is now.", AccountOverview, {
        running: 2,
        queued: 0,
        failing: {
          count: 1,
          newest: [
            {
              workflowId: "wf_06d1k7q2m8v3r5t9w0x4y6z8a1",
              name: "Report",
              executionId: "ex_06d1k7q2m8v3r5t9w0x4y6z8a1",
              status: "failed" as const,
              message: "ValueError: There is no order of that number.",
              failedAt: "2026-11-02T08:00:04.120Z",
            },
          ],
        },
        available: 995.499,
        spentPerDay: 16.05,
        lastsUntil: "2027-01-03T08:00:00.000Z",
        firstSteps: null,
      }),
    },
    errors: ERRORS,
  },
  listLedger: {
    method: "get",
    path: "/api/account/ledger",
    tag: "Account",
    summary: "What moved the balance, the newest first",
    credentials: IN_PERSON,
    parameters: [
      ACCOUNT,
      {
        name: "limit",
        in: "query",
        description: "At most this many. 50 unless given.",
        schema: { type: "integer", minimum: 1, maximum: LEDGER_PAGE_MAX },
      },
      {
        name: "cursor",
        in: "query",
        description: "Of the next page: `nextCursor` of the one before.",
        schema: { type: "string", pattern: LEDGER_CURSOR.source },
      },
    ],
    answers: {
      200: answerOf("A page of them.", LedgerPage, {
        entries: [
          {
            id: "42",
            kind: "settlement" as const,
            amount: -0.01334,
            executionId: "ex_06d1k7q2m8v3r5t9w0x4y6z8a1",
            workflowId: "wf_06d1k7q2m8v3r5t9w0x4y6z8a1",
            workflowName: "Report",
            reason: "",
            createdAt: "2026-11-02T08:00:04.120Z",
          },
        ],
        nextCursor: "42",
      }),
    },
    errors: ERRORS,
  },
  showSpend: {
    method: "get",
    path: "/api/account/spend",
    tag: "Account",
    summary: "What each workflow cost on each of the last days",
    description:
      "Days are of UTC, and an execution counts for the day on which it ended. At most the 200 workflows that cost most.",
    credentials: IN_PERSON,
    parameters: [
      ACCOUNT,
      {
        name: "days",
        in: "query",
        description: "How many, today included. 30 unless given.",
        schema: { type: "integer", minimum: 1, maximum: SPEND_DAYS_MAX },
      },
    ],
    answers: {
      200: answerOf("The days, and the workflows that cost something on any, those that cost most first.", Spend, {
        days: ["2026-11-01", "2026-11-02"],
        workflows: [{ workflowId: "wf_06d1k7q2m8v3r5t9w0x4y6z8a1", name: "Report", perDay: [0, 1.25], total: 1.25 }],
      }),
    },
    errors: ERRORS,
  },
  listAccounts: {
    method: "get",
    path: "/api/accounts",
    tag: "Account",
    summary: "The accounts that the caller may see, with their credits",
    credentials: IN_PERSON,
    answers: { 200: answerOf("All of them, oldest first.", AccountList, { accounts: [EXAMPLE] }) },
    errors: ["unauthorized", "no_capacity"],
  },
  createAccount: {
    method: "post",
    path: "/api/accounts",
    tag: "Account",
    summary: "Make an account",
    description: "For the operator's token alone.",
    credentials: IN_PERSON,
    body: bodyOf(NewAccount, { name: "main", credits: "1000" }),
    answers: { 201: answerOf("Made.", Account, EXAMPLE) },
    errors: [...CHANGE_ERRORS, "conflict"],
  },
  grantCredits: {
    method: "post",
    path: "/api/account/grants",
    tag: "Account",
    summary: "Add credits to an account",
    description: OPERATOR,
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    body: bodyOf(LedgerChange, { credits: "100.5", reason: "Paid by invoice" }),
    answers: { 200: answerOf("The balance after it.", Balance, BALANCE) },
    errors: CHANGE_ERRORS,
  },
  adjustCredits: {
    method: "post",
    path: "/api/account/adjustments",
    tag: "Account",
    summary: "Correct the balance of an account, up or down",
    description: `${OPERATOR} Less than what is reserved is refused with 409.`,
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    body: bodyOf(LedgerChange, { credits: "-5", reason: "Charged twice by mistake" }),
    answers: { 200: answerOf("The balance after it.", Balance, BALANCE) },
    errors: [...CHANGE_ERRORS, "conflict"],
  },
  showRates: {
    method: "get",
    path: "/api/account/rates",
    tag: "Account",
    summary: "The rate limits of an account, or of one workflow's key, and what is left of them now",
    credentials: IN_PERSON,
    parameters: [
      ACCOUNT,
      {
        name: "workflow",
        in: "query",
        description: "The workflow whose key is meant, instead of an account.",
        schema: describeId("wf"),
      },
    ],
    answers: { 200: answerOf("As they are now.", AccountRates, RATES) },
    errors: ["unauthorized", "workflow_not_found", "not_found", "no_capacity"],
  },
  agreeRates: {
    method: "put",
    path: "/api/account/rates",
    tag: "Account",
    summary: "Agree other rate limits with an account",
    description: `${OPERATOR} Null: the default applies. 0 a minute: no limit.`,
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    body: bodyOf(AgreedRates, { perMinute: null, burst: null, accountPerMinute: 1_200 }),
    answers: { 200: answerOf("The limits after it.", AccountRates, RATES) },
    errors: CHANGE_ERRORS,
  },
  agreeStorage: {
    method: "put",
    path: "/api/account/storage",
    tag: "Account",
    summary: "Agree with an account how many bytes it may store",
    description: `${OPERATOR} Null: the default applies. 0: no limit.`,
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    body: bodyOf(StorageAgreement, { bytesMax: 50_000_000_000 }),
    answers: { 200: answerOf("The account after it.", ShownAccount, { ...EXAMPLE, storage: STORAGE, contact: null }) },
    errors: CHANGE_ERRORS,
  },
} satisfies Routes;
