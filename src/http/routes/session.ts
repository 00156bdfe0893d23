import { SignIn } from "../sessions.ts";
import { ALWAYS_TRUE, answerWith, bodyOf, describeFields } from "./content.ts";
import type { Routes } from "./route.ts";
import { refer } from "./schemas.ts";

const PATH = "/api/session";
/** Who is signed in, as answers say it. */
export const SIGNED_IN = {
  "application/json": {
    schema: refer("Session"),
    example: {
      email: "ada@example.com",
      accountId: "acct_06d1k7q2m8v3r5t9w0x4y6z8a1",
      accountName: "main",
      userId: "usr_06d1k7q2m8v3r5t9w0x4y6z8a1",
      role: "owner",
      temporalUiUrl: null,
      contact: null,
    },
  },
};

/** Who is signed in. */
export const SESSION_ROUTES = {
  signIn: {
    method: "post",
    path: PATH,
    tag: "Session",
    summary: "Sign in",
    credentials: [],
    body: bodyOf(SignIn, { email: "ada@example.com", password: "correct horse battery staple" }),
    answers: { 200: { description: "Signed in.", always: ["Set-Cookie"], content: SIGNED_IN } },
    errors: ["unauthorized", "payload_too_large", "unsupported_media_type", "rate_limited", "no_capacity"],
  },
  showSession: {
    method: "get",
    path: PATH,
    tag: "Session",
    summary: "Who is signed in",
    credentials: ["session"],
    answers: { 200: { description: "The user.", content: SIGNED_IN } },
    errors: ["unauthorized", "no_capacity"],
  },
  signOut: {
    method: "delete",
    path: PATH,
    tag: "Session",
    summary: "Sign out",
    credentials: [],
    answers: {
      200: {
        description: "Nobody is signed in any more.",
        always: ["Set-Cookie"],
        content: answerWith(describeFields({ signedOut: ALWAYS_TRUE }), { signedOut: true }),
      },
    },
    errors: ["no_capacity"],
  },
} satisfies Routes;
