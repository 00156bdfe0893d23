import { z } from "zod";
import {
  EMAIL_CHARACTERS_MAX,
  PASSWORD_CHARACTERS_MAX,
  PASSWORD_CHARACTERS_MIN,
  ROLES,
  TOKEN_DAYS_MAX,
} from "../members.ts";
import { AlwaysTrue, Count, ReadableText, StorableText, Time } from "./fields.ts";

/** Documents refer to a component of this name instead of repeating it. */
export const NamedRole = z
  .enum(ROLES)
  .meta({ component: "Role", description: "What a member may do: see docs/accounts.md." });

/** Whether there is such a mailbox only its owner can tell, by joining. */
const EMAIL = /^[^\s@]+@[^\s@]+$/;
const INVITATION_CHARACTERS_MAX = 200;
export const TOKEN_NAME_CHARACTERS_MAX = 100;

export const Member = z.object({
  userId: z.string(),
  email: z.string(),
  role: NamedRole,
  createdAt: Time.meta({ description: "When they joined." }),
  lastSeenAt: Time.nullable().meta({ description: "To the minute; null: never yet." }),
});

export const MemberList = z.object({
  members: z.array(Member),
  invitations: z.array(
    z.object({
      invitationId: z.string(),
      email: z.string(),
      role: NamedRole,
      createdAt: Time,
      expiresAt: Time,
      invitedBy: z.string().meta({ description: "The email address of the inviting member, or `operator`." }),
    }),
  ),
});

export const NewRole = z.strictObject({ role: z.enum(ROLES) });
export const RemovedMember = z.object({ userId: z.string(), removed: AlwaysTrue });
export const SignInLink = z.object({ email: z.string(), url: z.url(), expiresAt: Time });

export const NewInvitation = z.strictObject({
  email: StorableText.max(EMAIL_CHARACTERS_MAX).regex(EMAIL, "must be an email address"),
  role: z.enum(ROLES),
});
export const Invited = z.object({
  invitationId: z.string(),
  email: z.string(),
  role: NamedRole,
  url: z.url(),
  expiresAt: Time,
});
export const RevokedInvitation = z.object({ invitationId: z.string(), revoked: AlwaysTrue });
export const InvitationFor = z.object({ email: z.string(), accountName: z.string(), role: NamedRole });

/** Length alone makes a password good; rules about its letters make it guessable. */
const NewPassword = z
  .string()
  .min(PASSWORD_CHARACTERS_MIN, `must have at least ${PASSWORD_CHARACTERS_MIN} characters`)
  .max(PASSWORD_CHARACTERS_MAX, `must have at most ${PASSWORD_CHARACTERS_MAX} characters`);
const InvitationToken = z.string().max(INVITATION_CHARACTERS_MAX);

export const LookAtInvitation = z.strictObject({ token: InvitationToken });
export const Join = z.strictObject({ token: InvitationToken, password: NewPassword.optional() });
export const PasswordChange = z.strictObject({
  currentPassword: z.string().max(PASSWORD_CHARACTERS_MAX),
  newPassword: NewPassword,
});
export const ChangedPassword = z.object({ changed: AlwaysTrue });

export const SessionList = z.object({
  sessions: z.array(
    z.object({
      sessionId: z.string(),
      createdAt: Time,
      seenAt: Time.meta({ description: "To the minute." }),
      userAgent: z.string().meta({ description: "What the browser said it is." }),
      current: z.boolean().meta({ description: "It is the one that asks." }),
    }),
  ),
});
export const EndedSessions = z.object({ ended: Count });

const TOKEN = {
  tokenId: z.string(),
  name: z.string(),
  createdAt: Time,
  lastUsedAt: Time.nullable().meta({ description: "To the minute; null: never yet." }),
  expiresAt: Time.nullable().meta({ description: "Null: never." }),
};
export const NewToken = z.strictObject({
  name: ReadableText.min(1).max(TOKEN_NAME_CHARACTERS_MAX),
  days: z.int().min(1).max(TOKEN_DAYS_MAX).nullable(),
});
export const TokenList = z.object({ tokens: z.array(z.object(TOKEN)) });
export const MadeToken = z.object({ ...TOKEN, token: z.string() });
export const RevokedToken = z.object({ tokenId: z.string(), revoked: AlwaysTrue });
