import {
  type AgreedRates,
  accountBucket,
  type BucketState,
  keyBucket,
  type Rate,
  type RateState,
  type RateUse,
  takeFromBuckets,
  toBucketState,
} from "../../../db/accounts/rates.ts";
import type { Target } from "../../../db/commits/commits.ts";
import type { Db } from "../../../db/connect.ts";
import type { WorkflowId } from "../../../domain/ids.ts";
import type { RateLimits } from "../../config.ts";
import { ApiError } from "../errors.ts";

/** A burst of an account is a third of a minute's executions, as it is for a key by default. */
const ACCOUNT_BURST_PART = 3;

/** What counts for an account, and for the key of each of its workflows; null: no limit. */
export function agreedLimits(
  limits: RateLimits,
  agreed: AgreedRates | null,
): { readonly key: Rate | null; readonly account: Rate | null } {
  const burst = agreed?.burst ?? limits.burst;
  const perMinute = agreed?.perMinute ?? limits.perMinute;
  const accountPerMinute = agreed?.accountPerMinute ?? limits.accountPerMinute;
  const accountBurst = Math.max(burst, Math.floor(accountPerMinute / ACCOUNT_BURST_PART));
  return {
    key: perMinute === 0 ? null : { perMinute, burst },
    account: accountPerMinute === 0 ? null : { perMinute: accountPerMinute, burst: accountBurst },
  };
}

/**
 * The limits a call counts for: one by its key, one by its account. A workflow has one key; a replaced one shares its limit.
 * A call in person counts for the account alone: programs that have the key lose nothing by it.
 */
export function chooseRates(
  limits: RateLimits,
  target: Pick<Target, "accountId" | "agreedRates"> & { workflowId: WorkflowId; inPerson: boolean },
): RateUse {
  const { key, account } = agreedLimits(limits, target.agreedRates);
  return {
    key: target.inPerson ? null : key && { bucket: keyBucket(target.workflowId), rate: key },
    account: account && { bucket: accountBucket(target.accountId), rate: account },
  };
}

/**
 * Takes one call of `validate` or of `uploads` from its limits: those of executions, counted apart, so that none uses up another. 429
 * when one of them lets nothing through.
 */
export async function requireOwnRate(db: Db, { key, account }: RateUse, what: "validate" | "uploads"): Promise<void> {
  const uses = [key, account]
    .filter((use) => use !== null)
    .map(({ bucket, rate }) => ({ bucket: `${what} ${bucket}`, rate }));
  const seconds = Math.ceil(await takeFromBuckets(db, uses));
  if (seconds === 0) return;
  const limits = uses
    .map(({ rate }) => `${rate.perMinute} a minute, ${rate.burst} at once`)
    .join("; and of the account ");
  throw new ApiError(
    "rate_limited",
    `There were more calls than ${what} takes of this workflow: ${limits}. Send it again in ${seconds} seconds.`,
    {},
    { "Retry-After": String(seconds) },
  );
}

/** The limits as they stood when the caller was authenticated. */
export function toRateState(
  { key, account }: RateUse,
  target: Pick<Target, "keyBusySeconds" | "accountBusySeconds">,
): RateState {
  return {
    key: key && toBucketState(key.rate, target.keyBusySeconds),
    account: account && toBucketState(account.rate, target.accountBusySeconds),
  };
}

/**
 * Returns `RateLimit-Policy` and `RateLimit` as in draft-ietf-httpapi-ratelimit-headers-11. For each policy they state
 * its quota `q` in a window of `w` seconds. They state how many calls are left (`r`), and in how many seconds a whole
 * burst is (`t`). Returns nothing where there is no limit.
 */
export function toRateHeaders({ key, account }: RateState): Record<string, string> {
  const limits = [key && { name: "key", ...key }, account && { name: "account", ...account }].filter(
    (limit) => limit !== null,
  );
  if (limits.length === 0) return {};
  return {
    "RateLimit-Policy": limits.map(({ name, rate }) => `"${name}";q=${rate.perMinute};w=60`).join(", "),
    RateLimit: limits
      .map(({ name, remaining, fullAfterSeconds }) => `"${name}";r=${remaining};t=${Math.ceil(fullAfterSeconds)}`)
      .join(", "),
  };
}

/** The refusal of a call that a limit does not let through. */
export function rateLimited({ key, account }: RateState, contact: string | undefined): ApiError {
  const waits = [key, account].map((limit) => limit?.nextAfterSeconds ?? 0);
  const retryAfterSeconds = Math.max(1, Math.ceil(Math.max(...waits)));
  const limit = key?.remaining === 0 ? describe(key, "this workflow's key") : describe(account, "this account");
  const ask = contact === undefined ? "" : ` Ask ${contact} for more.`;
  return new ApiError(
    "rate_limited",
    `${limit} Nothing was started; send it again in ${retryAfterSeconds} seconds.${ask}`,
    {},
    { ...toRateHeaders({ key, account }), "Retry-After": String(retryAfterSeconds) },
  );
}

function describe(limit: BucketState | null, whose: string): string {
  const { perMinute, burst }: Rate = limit?.rate ?? { perMinute: 0, burst: 0 };
  return `There were more calls than ${whose} may make: ${perMinute} a minute, ${burst} at once.`;
}
