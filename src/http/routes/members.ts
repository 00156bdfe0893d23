import {
  InvitationFor,
  Invited,
  Join,
  LookAtInvitation,
  Member,
  MemberList,
  NewInvitation,
  NewRole,
  RemovedMember,
  RevokedInvitation,
  SignInLink,
} from "../../../domain/api/people.ts";
import { answerOf, bodyOf, describeId, IN_PERSON } from "./content.ts";
import { ACCOUNT, aPathId } from "./parameters.ts";
import type { Routes } from "./route.ts";
import { answerSession } from "./session.ts";

const USER_ID = aPathId("userId", describeId("usr"), "The member, as the list of members has it.");
const INVITATION_ID = aPathId(
  "invitationId",
  describeId("inv", "[0-9a-f]{32}", 32),
  "The invitation, as the list of members has it.",
);
const ADA = {
  userId: "usr_06d1k7q2m8v3r5t9w0x4y6z8a1",
  email: "ada@example.com",
  role: "owner" as const,
  createdAt: "2026-10-30T14:21:07.031Z",
  lastSeenAt: "2026-11-02T08:00:00.000Z",
};
const BOB = {
  invitationId: "inv_0123456789abcdef0123456789abcdef",
  email: "bob@example.com",
  role: "viewer" as const,
};
const TOKEN = "tri_0000000000000000000000000000000000000000000";
const BODY_ERRORS = ["payload_too_large", "unsupported_media_type", "no_capacity"] as const;
const JOIN_ERRORS = ["not_found", "conflict", "rate_limited", ...BODY_ERRORS] as const;

/** Who belongs to an account, and how others come to. */
export const MEMBER_ROUTES = {
  listMembers: {
    method: "get",
    path: "/api/members",
    tag: "Account",
    summary: "Who belongs to the account, and who is invited",
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    answers: {
      200: answerOf(
        "Members in the order they joined, and invitations that can still be accepted, the newest first.",
        MemberList,
        {
          members: [ADA],
          invitations: [
            {
              ...BOB,
              createdAt: "2026-11-01T09:00:00.000Z",
              expiresAt: "2026-11-08T09:00:00.000Z",
              invitedBy: "ada@example.com",
            },
          ],
        },
      ),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  changeRole: {
    method: "patch",
    path: "/api/members/{userId}",
    tag: "Account",
    summary: "Give a member another role",
    description: "For owners. The member's sessions end; one's own goes on under a new token.",
    credentials: IN_PERSON,
    parameters: [USER_ID, ACCOUNT],
    body: bodyOf(NewRole, { role: "member" }),
    answers: {
      200: answerOf("The member.", Member, ADA, { sometimes: ["Set-Cookie"] }),
    },
    errors: ["unauthorized", "not_found", "conflict", ...BODY_ERRORS],
  },
  removeMember: {
    method: "delete",
    path: "/api/members/{userId}",
    tag: "Account",
    summary: "Remove a member, or leave",
    description:
      "For owners, and for everybody who leaves. Sessions, access tokens and open invitations of the member end at once.",
    credentials: IN_PERSON,
    parameters: [USER_ID, ACCOUNT],
    answers: {
      200: answerOf(
        "They belong to the account no more.",
        RemovedMember,
        { userId: ADA.userId, removed: true },
        { sometimes: ["Set-Cookie"] },
      ),
    },
    errors: ["unauthorized", "not_found", "conflict", "no_capacity"],
  },
  linkSignIn: {
    method: "post",
    path: "/api/members/{userId}/sign-in-link",
    tag: "Account",
    summary: "Make a link with which a member can sign in although others guess at their password",
    description:
      "For owners and the operator. It still takes the member's password. For an hour, attempts by it are counted apart from those of strangers.",
    credentials: IN_PERSON,
    parameters: [USER_ID, ACCOUNT],
    answers: {
      201: answerOf("The link. Its code is behind the `#`, which browsers do not send.", SignInLink, {
        email: ADA.email,
        url: "https://localhost:8443/sign-in#1793520000.0000000000000000000000000000000000000000000",
        expiresAt: "2026-11-02T09:00:00.000Z",
      }),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  invite: {
    method: "post",
    path: "/api/invitations",
    tag: "Account",
    summary: "Invite a person by a link",
    description:
      "For owners. The link is shown this once. It lets one person join as that address, for 7 days. A newer invitation of the same address ends the older one.",
    credentials: IN_PERSON,
    parameters: [ACCOUNT],
    body: bodyOf(NewInvitation, { email: "bob@example.com", role: "viewer" }),
    answers: {
      201: answerOf("The link. Its secret is behind the `#`, which browsers do not send.", Invited, {
        ...BOB,
        url: `https://localhost:8443/join#${TOKEN}`,
        expiresAt: "2026-11-08T09:00:00.000Z",
      }),
    },
    errors: ["unauthorized", "not_found", "conflict", ...BODY_ERRORS],
  },
  revokeInvitation: {
    method: "delete",
    path: "/api/invitations/{invitationId}",
    tag: "Account",
    summary: "Take an invitation back",
    credentials: IN_PERSON,
    parameters: [INVITATION_ID, ACCOUNT],
    answers: {
      200: answerOf("The link does not work any more.", RevokedInvitation, {
        invitationId: BOB.invitationId,
        revoked: true,
      }),
    },
    errors: ["unauthorized", "not_found", "no_capacity"],
  },
  lookAtInvitation: {
    method: "post",
    path: "/api/join/look",
    tag: "Account",
    summary: "What an invitation is for",
    credentials: [],
    body: bodyOf(LookAtInvitation, { token: TOKEN }),
    answers: {
      200: answerOf("It can be accepted.", InvitationFor, {
        email: BOB.email,
        accountName: "main",
        role: BOB.role,
      }),
    },
    errors: JOIN_ERRORS,
  },
  join: {
    method: "post",
    path: "/api/join",
    tag: "Account",
    summary: "Accept an invitation",
    description: "Makes a member with the password given, and signs them in.",
    credentials: [],
    body: bodyOf(Join, { token: TOKEN, password: "correct horse battery staple" }),
    answers: { 200: answerSession("Joined, and signed in.", { always: ["Set-Cookie"] }) },
    errors: JOIN_ERRORS,
  },
} satisfies Routes;
