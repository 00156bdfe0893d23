import { setTimeout as sleep } from "node:timers/promises";
import type { Db } from "../db/connect.ts";
import {
  type Claim,
  type Claimable,
  type ClaimOutcome,
  claimAttempt,
  type ExecutionWork,
  findClaimable,
} from "../db/executions/attempts.ts";
import type { Pay } from "../db/executions/further-attempts.ts";
import { raiseReservation } from "../db/ledger/credits.ts";
import { type Prices, toCredits } from "../domain/credits.ts";
import type { AccountId } from "../domain/ids.ts";
import type { Slots } from "../system/slots.ts";
import { reservationFor } from "./price.ts";

/** How often a call that found the program running in another process looks again. */
const LOOK_AGAIN_MS = 500;
/** How soon one that waits for a slot looks whether it still has to, and how seldom in the end. */
const LOOK_FIRST_MS = 1_000;
const LOOK_SELDOM_MS = 16_000;

export interface ClaimingDeps {
  readonly db: Db;
  readonly slots: Slots;
  readonly prices: Prices;
  readonly onError: (executionId: Claim["executionId"], error: unknown) => void;
}

/** The attempt is ours, and so is a slot to run it in. */
export interface Claimed {
  readonly kind: "claimed";
  readonly work: ExecutionWork;
  readonly release: () => void;
}

/**
 * Waits for a slot of the account, then claims the execution's next attempt. So an execution that waits has no attempt
 * and stays `queued`, and a crash costs it nothing. Returns `claimable` when `signal` ended the waiting, and what the
 * record says when it needs no attempt any more.
 */
export async function claimWithSlot(
  deps: ClaimingDeps,
  claim: Claim & { readonly accountId: AccountId },
  signal: AbortSignal,
): Promise<Claimed | Claimable> {
  const release = await takeSlot(deps, claim, signal);
  try {
    const outcome: ClaimOutcome | Claimable = await (release === undefined
      ? findClaimable(deps.db, { ...claim, cancelled: signal.reason === "cancelled" })
      : claimAttempt(deps.db, claim, payFrom(deps)));
    if (outcome.kind === "claimed" && release !== undefined) return { ...outcome, release };
    release?.();
    return outcome.kind === "busy" ? await waitForOther(deps, claim, signal) : (outcome as Claimable);
  } catch (error) {
    release?.();
    throw error;
  }
}

/** Holds the credits of a further attempt. */
function payFrom({ db, prices }: ClaimingDeps): Pay {
  return async (executionId, used) => {
    const amount = reservationFor(used, prices);
    const available = await raiseReservation(db, { executionId, amount });
    if (available === undefined) return undefined;
    return `It was not tried again: with another attempt it may cost ${toCredits(amount)} credits, and the account had only ${toCredits(available)} available beside what was held.`;
  };
}

/** Leaves the queue early when the record needs no attempt any more, for example when a dead process recorded its end. */
async function takeSlot(
  { db, slots, onError }: ClaimingDeps,
  claim: Claim & { readonly accountId: AccountId },
  signal: AbortSignal,
): Promise<(() => void) | undefined> {
  const needless = new AbortController();
  const taken = new AbortController();
  const look = async (): Promise<void> => {
    for (let ms = LOOK_FIRST_MS; ; ms = Math.min(ms * 2, LOOK_SELDOM_MS)) {
      await sleep(ms, undefined, { signal: taken.signal, ref: false });
      const { kind } = await findClaimable(db, claim).catch((error: unknown) => {
        onError(claim.executionId, error);
        return { kind: "claimable" };
      });
      if (kind !== "claimable") return needless.abort();
    }
  };
  look().catch(() => undefined); // A slot came first.
  try {
    const use = { accountId: claim.accountId, id: claim.executionId };
    return await slots.take(use, AbortSignal.any([signal, needless.signal]));
  } finally {
    taken.abort();
  }
}

/** Waits without a slot while another process runs the program. */
async function waitForOther({ db }: ClaimingDeps, claim: Claim, signal: AbortSignal): Promise<Claimable> {
  for (;;) {
    if (signal.aborted) throw new Error(`${claim.executionId} runs in another process.`);
    await sleep(LOOK_AGAIN_MS);
    const found = await findClaimable(db, claim);
    if (found.kind !== "busy") return found;
  }
}
