import { Session, SignedOut, SignIn } from "../../../domain/api/session.ts";
import { answerOf, bodyOf } from "./content.ts";
import type { Answer, Routes } from "./route.ts";

const PATH = "/api/session";

/** Returns an answer that says who is signed in. */
export function answerSession(description: string, headers: Pick<Answer, "always"> = {}): Answer {
  return answerOf(
    description,
    Session,
    {
      email: "ada@example.com",
      accountId: "acct_06d1k7q2m8v3r5t9w0x4y6z8a1",
      accountName: "main",
      userId: "usr_06d1k7q2m8v3r5t9w0x4y6z8a1",
      role: "owner" as const,
      seesHosts: true,
      temporalUiUrl: null,
      contact: null,
    },
    headers,
  );
}

/** Who is signed in. */
export const SESSION_ROUTES = {
  signIn: {
    method: "post",
    path: PATH,
    tag: "Session",
    summary: "Sign in",
    credentials: [],
    body: bodyOf(SignIn, { email: "ada@example.com", password: "correct horse battery staple" }),
    answers: { 200: answerSession("Signed in.", { always: ["Set-Cookie"] }) },
    errors: ["unauthorized", "payload_too_large", "unsupported_media_type", "rate_limited", "no_capacity"],
  },
  showSession: {
    method: "get",
    path: PATH,
    tag: "Session",
    summary: "Who is signed in",
    credentials: ["session"],
    answers: { 200: answerSession("The user.") },
    errors: ["unauthorized", "no_capacity"],
  },
  signOut: {
    method: "delete",
    path: PATH,
    tag: "Session",
    summary: "Sign out",
    credentials: [],
    answers: {
      200: answerOf("You are signed out.", SignedOut, { signedOut: true }, { always: ["Set-Cookie"] }),
    },
    errors: ["no_capacity"],
  },
} satisfies Routes;
