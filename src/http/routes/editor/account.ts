import { LEDGER_CURSOR, LEDGER_PAGE_MAX, SPEND_DAYS_MAX } from "../../editor/account.ts";
import { answerWith, CREDITS, describeFields, describeId, IN_PERSON, orNull, TEXT, TIME } from "../content.ts";
import { ACCOUNT } from "../parameters.ts";
import type { Routes } from "../route.ts";
import { refer } from "../schemas.ts";

const ERRORS = ["unauthorized", "not_found", "no_capacity"] as const;
const NULLABLE_TEXT = orNull(TEXT);

/** The account and its credits. */
export const ACCOUNT_ROUTES = {
  showAccount: {
    method: "get",
    path: "/api/editor/account",
    tag: "Account",
    summary: "The account, its credits and what it keeps in storage",
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    answers: {
      200: {
        description: "As it is now.",
        content: answerWith(
          describeFields({
            accountId: describeId("acct"),
            name: TEXT,
            balance: CREDITS,
            reserved: CREDITS,
            available: CREDITS,
            storage: {
              ...describeFields({
                bytes: { type: "integer", minimum: 0 },
                bytesMax: { ...orNull({ type: "integer", minimum: 1 }), description: "Null: no bound." },
              }),
              description:
                "What the account keeps, and may keep, in bytes: files and logs of executions, contents of commits and drafts.",
            },
            contact: { ...NULLABLE_TEXT, description: "Whom to ask for credits." },
          }),
          {
            ...{ accountId: "acct_06d1k7q2m8v3r5t9w0x4y6z8a1", name: "main", contact: null },
            ...{ balance: 998.5, reserved: 3.001, available: 995.499 },
            storage: { bytes: 1_200_000_000, bytesMax: 50_000_000_000 },
          },
        ),
      },
    },
    errors: ERRORS,
  },
  listLedger: {
    method: "get",
    path: "/api/editor/ledger",
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
      200: {
        description: "A page of them.",
        content: answerWith(
          describeFields({
            entries: {
              type: "array",
              items: describeFields({
                id: TEXT,
                kind: { type: "string", enum: ["grant", "settlement", "adjustment"] },
                amount: CREDITS,
                executionId: orNull(refer("ExecutionId")),
                workflowId: {
                  ...NULLABLE_TEXT,
                  description: "Null also when the execution is not on record any more.",
                },
                workflowName: NULLABLE_TEXT,
                reason: TEXT,
                createdAt: TIME,
              }),
            },
            nextCursor: { ...NULLABLE_TEXT, description: "Null: there is no other page." },
          }),
          {
            entries: [
              {
                ...{ id: "42", kind: "settlement", amount: -0.01334, executionId: "ex_06d1k7q2m8v3r5t9w0x4y6z8a1" },
                ...{ workflowId: "wf_06d1k7q2m8v3r5t9w0x4y6z8a1", workflowName: "Report", reason: "" },
                createdAt: "2026-11-02T08:00:04.120Z",
              },
            ],
            nextCursor: "42",
          },
        ),
      },
    },
    errors: ERRORS,
  },
  showSpend: {
    method: "get",
    path: "/api/editor/spend",
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
      200: {
        description: "The days, and the workflows that cost something on any, those that cost most first.",
        content: answerWith(
          describeFields({
            days: { type: "array", items: { type: "string", format: "date" } },
            workflows: {
              type: "array",
              items: describeFields({
                workflowId: TEXT,
                name: TEXT,
                perDay: { type: "array", items: CREDITS, description: "For each of the days." },
                total: CREDITS,
              }),
            },
          }),
          {
            days: ["2026-11-01", "2026-11-02"],
            workflows: [
              { workflowId: "wf_06d1k7q2m8v3r5t9w0x4y6z8a1", name: "Report", perDay: [0, 1.25], total: 1.25 },
            ],
          },
        ),
      },
    },
    errors: ERRORS,
  },
} satisfies Routes;
