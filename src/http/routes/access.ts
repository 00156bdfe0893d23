import {
  ChangedPassword,
  EndedSessions,
  MadeToken,
  NewToken,
  PasswordChange,
  RevokedToken,
  SessionList,
  TokenList,
} from "../../../domain/api/people.ts";
import { answerOf, bodyOf, describeId, IN_PERSON } from "./content.ts";
import { aPathId } from "./parameters.ts";
import type { Routes } from "./route.ts";

const SESSION_ID = aPathId(
  "sessionId",
  describeId("ses", "[0-9a-f]{32}", 32),
  "The session, as the list of sessions has it.",
);
const TOKEN_ID = aPathId("tokenId", describeId("tok", "[0-9a-f]{32}", 32), "The token, as the list of tokens has it.");
const TOKEN_EXAMPLE = {
  tokenId: "tok_0123456789abcdef0123456789abcdef",
  name: "laptop",
  createdAt: "2026-11-01T09:00:00.000Z",
  lastUsedAt: null,
  expiresAt: "2027-11-01T09:00:00.000Z",
};
export const MADE_TOKEN_EXAMPLE = { ...TOKEN_EXAMPLE, token: "trp_0000000000000000000000000000000000000000000" };
const BODY_ERRORS = ["payload_too_large", "unsupported_media_type", "no_capacity"] as const;

/** Sessions, access tokens and the password. The operator's token belongs to no user and is answered 403. */
export const ACCESS_ROUTES = {
  listSessions: {
    method: "get",
    path: "/api/sessions",
    tag: "Access",
    summary: "The browsers in which you are signed in",
    credentials: IN_PERSON,
    answers: {
      200: answerOf("The one seen last first.", SessionList, {
        sessions: [
          {
            sessionId: "ses_0123456789abcdef0123456789abcdef",
            createdAt: "2026-11-01T09:00:00.000Z",
            seenAt: "2026-11-02T08:00:00.000Z",
            userAgent: "Mozilla/5.0",
            current: true,
          },
        ],
      }),
    },
    errors: ["unauthorized", "forbidden", "no_capacity"],
  },
  signOutElsewhere: {
    method: "delete",
    path: "/api/sessions",
    tag: "Access",
    summary: "Sign out everywhere else",
    description: "By an access token: everywhere.",
    credentials: IN_PERSON,
    answers: { 200: answerOf("How many sessions have ended.", EndedSessions, { ended: 1 }) },
    errors: ["unauthorized", "no_capacity"],
  },
  endSession: {
    method: "delete",
    path: "/api/sessions/{sessionId}",
    tag: "Access",
    summary: "Sign out in one browser",
    credentials: IN_PERSON,
    parameters: [SESSION_ID],
    answers: { 200: answerOf("It has ended.", EndedSessions, { ended: 1 }, { sometimes: ["Set-Cookie"] }) },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  changePassword: {
    method: "put",
    path: "/api/password",
    tag: "Access",
    summary: "Change the password",
    description: "All other sessions end, and this one goes on under a new token. Access tokens stay good.",
    credentials: ["session"],
    body: bodyOf(PasswordChange, {
      currentPassword: "correct horse battery staple",
      newPassword: "staple battery horse correct",
    }),
    answers: {
      200: answerOf("It is the new one now.", ChangedPassword, { changed: true }, { always: ["Set-Cookie"] }),
    },
    errors: ["unauthorized", "conflict", "rate_limited", ...BODY_ERRORS],
  },
  listTokens: {
    method: "get",
    path: "/api/tokens",
    tag: "Access",
    summary: "Your access tokens",
    credentials: IN_PERSON,
    answers: {
      200: answerOf("Those that are good, the newest first.", TokenList, { tokens: [TOKEN_EXAMPLE] }),
    },
    errors: ["unauthorized", "forbidden", "no_capacity"],
  },
  createToken: {
    method: "post",
    path: "/api/tokens",
    tag: "Access",
    summary: "Make an access token",
    description: "It acts with the role that you have at the time. One made with a token ends no later than that one.",
    credentials: IN_PERSON,
    body: bodyOf(NewToken, { name: "laptop", days: 365 }),
    answers: {
      201: answerOf("The token, shown this once.", MadeToken, MADE_TOKEN_EXAMPLE),
    },
    errors: ["unauthorized", "conflict", ...BODY_ERRORS],
  },
  revokeToken: {
    method: "delete",
    path: "/api/tokens/{tokenId}",
    tag: "Access",
    summary: "End an access token",
    credentials: IN_PERSON,
    parameters: [TOKEN_ID],
    answers: {
      200: answerOf("It is good for nothing any more.", RevokedToken, {
        tokenId: TOKEN_EXAMPLE.tokenId,
        revoked: true,
      }),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
} satisfies Routes;
