import { createHash } from "node:crypto";
import type { Request } from "express";
import type { Db } from "../../db/connect.ts";
import { fillBucket, returnToBucket, takeFromBuckets } from "../../db/rates.ts";
import { ApiError } from "./errors.ts";
import { networkOf } from "./network-of.ts";

/** Ten guesses at once, then one more every six minutes: of one address, wherever they come from. */
const PER_EMAIL = { perMinute: 10 / 60, burst: 10 };
/** One more every two minutes: of one network, whatever is guessed at. */
const PER_NETWORK = { perMinute: 30 / 60, burst: 30 };

export type SignInAttempt =
  | { readonly kind: "allowed"; succeed(): Promise<void> }
  | { readonly kind: "refused"; readonly retryAfterSeconds: number };

/**
 * Counts attempts to sign in, per email address and per network address, in the database: whichever process is asked. A success
 * takes back the counts of its own attempts, so that people who know their password are not counted as guessers.
 */
export function createSignInThrottle(db: Db) {
  return {
    async begin(from: { email: string; address: string }): Promise<SignInAttempt> {
      const byNetwork = { bucket: bucketOf("network", networkOf(from.address)), rate: PER_NETWORK };
      const byEmail = { bucket: bucketOf("email", from.email.toLowerCase()), rate: PER_EMAIL };
      // The network first: who has used that up makes no more rows for what is guessed at.
      const waitSeconds = await takeFromBuckets(db, [byNetwork, byEmail]);
      if (waitSeconds > 0) return { kind: "refused", retryAfterSeconds: Math.ceil(waitSeconds) };
      return {
        kind: "allowed",
        async succeed() {
          await fillBucket(db, byEmail.bucket);
          await returnToBucket(db, byNetwork);
        },
      };
    },
  };
}

/** By its hash: what people type into the wrong field is not to be read anywhere, and is of any length. */
function bucketOf(kind: "network" | "email", text: string): string {
  return `sign-in ${kind} ${createHash("sha256").update(text).digest("hex")}`;
}

export type SignInThrottle = ReturnType<typeof createSignInThrottle>;

/**
 * Counts an attempt of a request for an email address, or for whatever else is guessed at, and refuses one too many. What is
 * counted here costs a password's hash, or tells whether a guess was right.
 */
export async function beginAttempt(
  throttle: SignInThrottle,
  request: Request,
  subject: string,
): Promise<Extract<SignInAttempt, { kind: "allowed" }>> {
  const attempt = await throttle.begin({ email: subject, address: request.ip ?? "" });
  if (attempt.kind === "allowed") return attempt;
  const message = "Too many attempts to sign in. Wait a little, then try again.";
  throw new ApiError("rate_limited", message, {}, { "Retry-After": String(attempt.retryAfterSeconds) });
}
