import { createHash } from "node:crypto";
import type { Request } from "express";
import { fillBucket, returnToBucket, takeFromBuckets } from "../../../db/accounts/rates.ts";
import type { Db } from "../../../db/connect.ts";
import { ApiError } from "../errors.ts";
import { networkOf } from "../server/network-of.ts";

/** Ten guesses at once, then one more every six minutes: at one address of email from one network, or from one known browser. */
const PER_GUESSER = { perMinute: 10 / 60, burst: 10 };
/** At one address of email from all networks and browsers that are not known together: 290 on the first day, 240 on others. */
const BY_STRANGERS = { perMinute: 10 / 60, burst: 50 };
/** 30 guesses at once, then one more every two minutes: from one network, at any address of email. */
const PER_NETWORK = { perMinute: 30 / 60, burst: 30 };

export type SignInAttempt =
  | { readonly kind: "allowed"; succeed(): Promise<void> }
  | { readonly kind: "refused"; readonly retryAfterSeconds: number };

/** Who guesses at what. `known`: what shows that its bearer has signed in there before, checked by the caller. */
export interface Guesser {
  readonly email: string;
  readonly address: string;
  readonly known?: string | undefined;
}

/**
 * Counts attempts to sign in, in the database, so that all processes count together. Strangers count per email address
 * and network, per network, and per email address. A known browser counts by itself alone, so that no stranger locks
 * its owner out. A success takes back the counts of its own attempts: people who know their password are not counted as
 * guessers.
 */
export function createSignInThrottle(db: Db) {
  return {
    async begin({ email, address, known }: Guesser): Promise<SignInAttempt> {
      const subject = email.toLowerCase();
      const network = networkOf(address);
      const guesser = known === undefined ? `network ${network}` : `known ${known}`;
      const own = { bucket: bucketOf("guesser", `${subject}\n${guesser}`), rate: PER_GUESSER };
      // The network first: who has used that up makes no more rows for what is guessed at.
      const ofStrangers = [
        { bucket: bucketOf("network", network), rate: PER_NETWORK },
        { bucket: bucketOf("strangers", subject), rate: BY_STRANGERS },
      ];
      const shared = known === undefined ? ofStrangers : [];
      const waitSeconds = await takeFromBuckets(db, [...shared, own]);
      if (waitSeconds > 0) return { kind: "refused", retryAfterSeconds: Math.ceil(waitSeconds) };
      return {
        kind: "allowed",
        async succeed() {
          await fillBucket(db, own.bucket);
          for (const use of shared) await returnToBucket(db, use);
        },
      };
    },
  };
}

/** By its hash: what people type into the wrong field is not to be read anywhere, and is of any length. */
function bucketOf(kind: "network" | "strangers" | "guesser", text: string): string {
  return `sign-in ${kind} ${createHash("sha256").update(text).digest("hex")}`;
}

export type SignInThrottle = ReturnType<typeof createSignInThrottle>;

/**
 * Counts an attempt of a request at an email address, an invitation or a session's password, and refuses one too many.
 * An attempt costs the hash of a password, or shows whether a guess was right.
 */
export async function beginAttempt(
  throttle: SignInThrottle,
  request: Request,
  subject: string,
  known?: string,
): Promise<Extract<SignInAttempt, { kind: "allowed" }>> {
  const attempt = await throttle.begin({ email: subject, address: request.ip ?? "", known });
  if (attempt.kind === "allowed") return attempt;
  const message =
    known === undefined
      ? "Too many attempts to sign in. Wait a little, sign in with a browser in which you have signed in before, or ask the operator for a link (bin/treadle members sign-in-link EMAIL)."
      : "Too many attempts to sign in. Wait a little, then try again.";
  throw new ApiError("rate_limited", message, {}, { "Retry-After": String(attempt.retryAfterSeconds) });
}
