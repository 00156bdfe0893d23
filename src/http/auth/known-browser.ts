import { randomBytes } from "node:crypto";
import type { Request, Response } from "express";
import type { SecretBox } from "../../keys/secret-box.ts";
import { readCookies, setCookie } from "./cookies.ts";

const COOKIE = "__Host-known";
/** The longest that browsers keep a cookie. */
const LIFETIME_SECONDS = 400 * 86_400;
/** How long a link of the operator counts as known. */
const LINK_SECONDS = 3_600;
const VALUE = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;
const LINK = /^(\d{1,12})\.([A-Za-z0-9_-]{43})$/;
const ID_BYTES = 16;

type Signer = Pick<SecretBox, "sign" | "isSignature">;

/** Marks a browser as one in which a user has signed in with this email address. It lets nobody in by itself. */
export function rememberBrowser(box: Signer, response: Response, email: string): void {
  const id = randomBytes(ID_BYTES).toString("base64url");
  setCookie(response, COOKIE, `${id}.${box.sign(browserText(email, id))}`, LIFETIME_SECONDS);
}

/**
 * Returns the id of what makes a request known for an email address. That is the mark of its browser, or the code of a
 * link that the operator made. Undefined for a stranger.
 */
export function findKnown(
  box: Signer,
  request: Request,
  { email, code }: { email: string; code: string | undefined },
): string | undefined {
  const [, id = "", signature = ""] = VALUE.exec(readCookies(request, COOKIE)[0] ?? "") ?? [];
  if (signature !== "" && box.isSignature(browserText(email, id), signature)) return `browser ${id}`;
  const [, expires = "", byOperator = ""] = LINK.exec(code ?? "") ?? [];
  const isGood = byOperator !== "" && Number(expires) * 1000 > Date.now();
  return isGood && box.isSignature(linkText(email, expires), byOperator) ? `link ${code}` : undefined;
}

/** Makes a code for one email address. With it, an hour long, a browser counts as known; the password is needed all the same. */
export function createSignInCode(box: Signer, email: string): { code: string; expiresAt: Date } {
  const expires = Math.floor(Date.now() / 1000) + LINK_SECONDS;
  return { code: `${expires}.${box.sign(linkText(email, String(expires)))}`, expiresAt: new Date(expires * 1000) };
}

function browserText(email: string, id: string): string {
  return `known browser\n${email.toLowerCase()}\n${id}`;
}

function linkText(email: string, expires: string): string {
  return `sign-in link\n${email.toLowerCase()}\n${expires}`;
}
