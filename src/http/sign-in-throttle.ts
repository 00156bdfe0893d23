import { isIPv6 } from "node:net";
import type { Request } from "express";
import { ApiError } from "./errors.ts";

const WINDOW_MS = 15 * 60_000;
const PER_EMAIL_MAX = 10;
const PER_ADDRESS_MAX = 30;
/** Guessers with many addresses must not fill the memory; the oldest counters go first. */
const COUNTERS_MAX = 50_000;

export type SignInAttempt =
  | { readonly kind: "allowed"; succeed(): void }
  | { readonly kind: "refused"; readonly retryAfterSeconds: number };

interface Counter {
  count: number;
  until: number;
}

/**
 * Counts attempts to sign in, per email address and per network address, in this process. A success takes back the counts
 * of its own attempts, so that people who know their password are not counted as guessers.
 */
export function createSignInThrottle(now: () => number = Date.now) {
  const counters = new Map<string, Counter>();

  function counterOf(key: string): Counter {
    const known = counters.get(key);
    if (known !== undefined && known.until > now()) return known;
    const fresh = { count: 0, until: now() + WINDOW_MS };
    counters.delete(key);
    counters.set(key, fresh);
    if (counters.size > COUNTERS_MAX) counters.delete(counters.keys().next().value as string);
    return fresh;
  }

  return {
    begin(from: { email: string; address: string }): SignInAttempt {
      const byEmail = counterOf(`email ${from.email.toLowerCase()}`);
      const byAddress = counterOf(`address ${networkOf(from.address)}`);
      const full = [byEmail.count >= PER_EMAIL_MAX && byEmail, byAddress.count >= PER_ADDRESS_MAX && byAddress].filter(
        (counter) => counter !== false,
      );
      if (full.length > 0) {
        const until = Math.max(...full.map((counter) => counter.until));
        return { kind: "refused", retryAfterSeconds: Math.ceil((until - now()) / 1000) };
      }
      byEmail.count += 1;
      byAddress.count += 1;
      return {
        kind: "allowed",
        succeed() {
          byEmail.count = 0;
          byAddress.count -= 1;
        },
      };
    },
  };
}

export type SignInThrottle = ReturnType<typeof createSignInThrottle>;

/**
 * Counts an attempt of a request for an email address, or for whatever else is guessed at, and refuses one too many. What is
 * counted here costs a password's hash, or tells whether a guess was right.
 */
export function beginAttempt(
  throttle: SignInThrottle,
  request: Request,
  subject: string,
): Extract<SignInAttempt, { kind: "allowed" }> {
  const attempt = throttle.begin({ email: subject, address: request.ip ?? "" });
  if (attempt.kind === "allowed") return attempt;
  const message = "Too many attempts to sign in. Wait a little, then try again.";
  throw new ApiError("rate_limited", message, {}, { "Retry-After": String(attempt.retryAfterSeconds) });
}

/** One customer of an internet provider has a whole /64 of IPv6 addresses. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address;
  const [head = "", tail] = (address.split("%")[0] as string).split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  return [...left, ...Array.from({ length: zeros }, () => "0"), ...right].slice(0, 4).join(":");
}
