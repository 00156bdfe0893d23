import { createHash, randomBytes } from "node:crypto";

const TOKEN_BYTES = 32;

/** The secret of a browser session: the value of its cookie. */
export function createSessionToken(): string {
  return randomBytes(TOKEN_BYTES).toString("base64url");
}

/** A personal access token of the command line. The prefix lets scanners for leaked secrets know it. */
export function createAccessToken(): string {
  return `trp_${randomBytes(TOKEN_BYTES).toString("base64url")}`;
}

/** What the database knows a token by: 32 bytes of SHA-256. */
export function hashToken(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** The secret of an invitation: the fragment of its link. */
export function createInvitationToken(): string {
  return `tri_${randomBytes(TOKEN_BYTES).toString("base64url")}`;
}
