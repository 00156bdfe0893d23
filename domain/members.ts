/** What a member of an account is there. */
export const ROLES = ["owner", "member", "viewer"] as const;
export type Role = (typeof ROLES)[number];

/** `read`: look at everything of the account. `write`: workflows and executions. `own`: members, invitations, the account itself. */
export type Right = "read" | "write" | "own";

const RIGHTS: Readonly<Record<Role, readonly Right[]>> = {
  owner: ["read", "write", "own"],
  member: ["read", "write"],
  viewer: ["read"],
};

export function hasRight(role: Role, right: Right): boolean {
  return RIGHTS[role].includes(right);
}

export const PASSWORD_CHARACTERS_MIN = 10;
export const PASSWORD_CHARACTERS_MAX = 1_000;
export const EMAIL_CHARACTERS_MAX = 320;
export const INVITATION_DAYS = 7;
export const TOKEN_DAYS_MAX = 365;
