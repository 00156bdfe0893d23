import { createHash, randomBytes, randomInt } from "node:crypto";

const TOKEN_BYTES = 32;
/** No vowels, which make words, and no Y: RFC 8628, 6.1. Eight of these are one of 25,600,000,000. */
const USER_CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const USER_CODE_LENGTH = 8;

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

/** What a command line fetches its access token with, once a person has allowed that. */
export function createDeviceCode(): string {
  return `trc_${randomBytes(TOKEN_BYTES).toString("base64url")}`;
}

/** A code that people read on two screens and compare: `BCDF-GHJK`. */
export function createUserCode(): string {
  const letters = Array.from(
    { length: USER_CODE_LENGTH },
    () => USER_CODE_LETTERS[randomInt(USER_CODE_LETTERS.length)],
  );
  return `${letters.slice(0, 4).join("")}-${letters.slice(4).join("")}`;
}

/** The same code however people type it: in small letters, without the hyphen, with blanks. */
export function toUserCode(typed: string): string {
  return typed.toUpperCase().replaceAll(/[^A-Z]/g, "");
}
