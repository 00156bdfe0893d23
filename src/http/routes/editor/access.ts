import { PasswordChange } from "../../editor/password.ts";
import { NewToken } from "../../editor/tokens.ts";
import {
  ALWAYS_TRUE,
  answerWith,
  bodyOf,
  describeFields,
  describeId,
  IN_PERSON,
  orNull,
  TEXT,
  TIME,
} from "../content.ts";
import { aPathId } from "../parameters.ts";
import type { Routes } from "../route.ts";

const SESSION_ID = aPathId(
  "sessionId",
  describeId("ses", "[0-9a-f]{32}", 32),
  "The session, as the list of sessions has it.",
);
const TOKEN_ID = aPathId("tokenId", describeId("tok", "[0-9a-f]{32}", 32), "The token, as the list of tokens has it.");
const TOKEN_FIELDS = {
  tokenId: TEXT,
  name: TEXT,
  createdAt: TIME,
  lastUsedAt: { ...orNull(TIME), description: "To the minute; null: never yet." },
  expiresAt: { ...orNull(TIME), description: "Null: never." },
};
const TOKEN_EXAMPLE = {
  ...{ tokenId: "tok_0123456789abcdef0123456789abcdef", name: "laptop", createdAt: "2026-11-01T09:00:00.000Z" },
  ...{ lastUsedAt: null, expiresAt: "2027-11-01T09:00:00.000Z" },
};
const ENDED = answerWith(describeFields({ ended: { type: "integer", minimum: 0 } }), { ended: 1 });
const BODY_ERRORS = ["payload_too_large", "unsupported_media_type", "no_capacity"] as const;

/** What lets somebody in. The operator's token is nobody's and is answered 403. */
export const ACCESS_ROUTES = {
  listSessions: {
    method: "get",
    path: "/api/editor/sessions",
    tag: "Access",
    summary: "The browsers in which you are signed in",
    credentials: IN_PERSON,
    answers: {
      200: {
        description: "The one seen last first.",
        content: answerWith(
          describeFields({
            sessions: {
              type: "array",
              items: describeFields({
                sessionId: TEXT,
                createdAt: TIME,
                seenAt: { ...TIME, description: "To the minute." },
                userAgent: { type: "string", description: "What the browser said it is." },
                current: { type: "boolean", description: "It is the one that asks." },
              }),
            },
          }),
          {
            sessions: [
              {
                ...{ sessionId: "ses_0123456789abcdef0123456789abcdef", createdAt: "2026-11-01T09:00:00.000Z" },
                ...{ seenAt: "2026-11-02T08:00:00.000Z", userAgent: "Mozilla/5.0", current: true },
              },
            ],
          },
        ),
      },
    },
    errors: ["unauthorized", "forbidden", "no_capacity"],
  },
  signOutElsewhere: {
    method: "delete",
    path: "/api/editor/sessions",
    tag: "Access",
    summary: "Sign out everywhere else",
    description: "By an access token: everywhere.",
    credentials: IN_PERSON,
    answers: { 200: { description: "How many sessions have ended.", content: ENDED } },
    errors: ["unauthorized", "no_capacity"],
  },
  endSession: {
    method: "delete",
    path: "/api/editor/sessions/{sessionId}",
    tag: "Access",
    summary: "Sign out in one browser",
    credentials: IN_PERSON,
    parameters: [SESSION_ID],
    answers: { 200: { description: "It has ended.", sometimes: ["Set-Cookie"], content: ENDED } },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  changePassword: {
    method: "post",
    path: "/api/editor/password",
    tag: "Access",
    summary: "Change the password",
    description: "All other sessions end, and this one goes on under a new token. Access tokens stay good.",
    credentials: ["session"],
    body: bodyOf(PasswordChange, {
      currentPassword: "correct horse battery staple",
      newPassword: "staple battery horse correct",
    }),
    answers: {
      200: {
        description: "It is the new one now.",
        always: ["Set-Cookie"],
        content: answerWith(describeFields({ changed: ALWAYS_TRUE }), { changed: true }),
      },
    },
    errors: ["unauthorized", "conflict", "rate_limited", ...BODY_ERRORS],
  },
  listTokens: {
    method: "get",
    path: "/api/editor/tokens",
    tag: "Access",
    summary: "Your access tokens",
    credentials: IN_PERSON,
    answers: {
      200: {
        description: "Those that are good, the newest first.",
        content: answerWith(describeFields({ tokens: { type: "array", items: describeFields(TOKEN_FIELDS) } }), {
          tokens: [TOKEN_EXAMPLE],
        }),
      },
    },
    errors: ["unauthorized", "forbidden", "no_capacity"],
  },
  createToken: {
    method: "post",
    path: "/api/editor/tokens",
    tag: "Access",
    summary: "Make an access token",
    description: "It acts with your role, whatever that is by then. One made with a token ends no later than that one.",
    credentials: IN_PERSON,
    body: bodyOf(NewToken, { name: "laptop", days: 365 }),
    answers: {
      201: {
        description: "The token, shown this once.",
        content: answerWith(describeFields({ ...TOKEN_FIELDS, token: TEXT }), {
          ...TOKEN_EXAMPLE,
          token: "trp_0000000000000000000000000000000000000000000",
        }),
      },
    },
    errors: ["unauthorized", "conflict", ...BODY_ERRORS],
  },
  revokeToken: {
    method: "delete",
    path: "/api/editor/tokens/{tokenId}",
    tag: "Access",
    summary: "End an access token",
    credentials: IN_PERSON,
    parameters: [TOKEN_ID],
    answers: {
      200: {
        description: "It is good for nothing any more.",
        content: answerWith(describeFields({ tokenId: TEXT, revoked: ALWAYS_TRUE }), {
          tokenId: TOKEN_EXAMPLE.tokenId,
          revoked: true,
        }),
      },
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
} satisfies Routes;
