import { asyncLocalStorage } from "@temporalio/activity";
import { ApplicationFailure } from "@temporalio/common";
import type { Db } from "../db/connect.ts";
import { explainRefusal } from "../db/executions/refused.ts";
import { findBilling, findRefusal, isSettled } from "../db/ledger/credits.ts";
import { createLedger } from "../db/ledger/ledger.ts";
import type { Prices } from "../domain/credits.ts";
import type { ExecutionEnd, ExecutionResult } from "../domain/execution.ts";
import type { AccountId, ExecutionId } from "../domain/ids.ts";
import { priceOf } from "./price.ts";

export interface CreditsDeps {
  readonly db: Db;
  readonly prices: Prices;
  /**
   * Told after the end of an execution has been committed: wakes the caller that waits in this process. `result`: what the record
   * has of it now, where that is known here.
   */
  readonly onEnded: (executionId: ExecutionId, result?: ExecutionResult) => void;
}

const RELEASES = {
  cancelled: { status: "cancelled", failure: null, message: "Cancelled before it ran." },
  terminated: { status: "cancelled", failure: null, message: "Ended by the operator. Nothing was charged." },
  insufficient_credits: {
    status: "failed",
    failure: "insufficient_credits",
    message: "The account has fewer credits available than this execution needs to begin.",
  },
  stranded: {
    status: "failed",
    failure: "internal",
    message: "The host that ran the program is gone with its outputs. Nothing was charged; please try again.",
  },
  stranded_cancelled: {
    status: "cancelled",
    failure: null,
    message: "Cancelled. The host that ran the program is gone with its outputs. Nothing was charged.",
  },
  unable: { status: "failed", failure: "no_capacity", message: "The program could not begin. Nothing was charged." },
  internal: {
    status: "failed",
    failure: "internal",
    message: "The service could not finish this execution. Nothing was charged; please try again.",
  },
} as const;

/** For the record of an execution that no caller waits for: what it needed and what there was when its turn came. */
async function findExplanation(db: Db, executionId: ExecutionId): Promise<string> {
  const refusal = await findRefusal(db, executionId);
  return refusal === undefined ? RELEASES.insufficient_credits.message : explainRefusal(refusal);
}

/**
 * The money steps of an execution, each idempotent by execution id: a repeated call changes nothing. Calls that name their
 * account share statements with others of that account in this process.
 */
export function createCredits({ db, prices, onEnded }: CreditsDeps) {
  const ledger = createLedger(db);
  return {
    async reserveCredits(input: { executionId: ExecutionId; accountId?: AccountId }): Promise<void> {
      const { executionId } = input;
      // One that Temporal has given up leaves the queue; the call that replaces it finds what it did all the same.
      const outcome = await ledger.reserve(input, asyncLocalStorage.getStore()?.cancellationSignal);
      switch (outcome.kind) {
        case "reserved":
          return;
        case "insufficient_credits":
          throw ApplicationFailure.nonRetryable(await findExplanation(db, executionId), "insufficient_credits");
        case "closed":
          // It began before its workflow, and ended first: the other steps find what was done.
          if (await isSettled(db, executionId)) return;
          throw ApplicationFailure.nonRetryable(
            `${executionId} was closed before its credits were reserved.`,
            "internal",
          );
        case "unknown_execution":
          throw ApplicationFailure.nonRetryable(`${executionId} is not in the record.`, "internal");
      }
    },

    async settleCredits(bill: { executionId: ExecutionId; status: ExecutionEnd; secondsUsed: number }): Promise<void> {
      const billing = await findBilling(db, bill.executionId);
      if (billing === undefined || billing.ended) return onEnded(bill.executionId);
      // A call may be late and speak of an attempt whose outputs were lost since.
      const { status, secondsUsed } = billing.outcome ?? bill;
      const { compute, total } = priceOf(billing, { status, secondsUsed }, prices);
      await ledger.settle({ ...bill, status, secondsUsed, accountId: billing.accountId, compute, total });
      onEnded(bill.executionId);
    },

    async releaseCredits(input: {
      executionId: ExecutionId;
      accountId?: AccountId;
      cause: keyof typeof RELEASES;
      /** What the host lacked, of the cause `unable`. */
      reason?: string;
    }): Promise<void> {
      const { cause, reason, ...execution } = input;
      const message =
        cause === "insufficient_credits" ? await findExplanation(db, input.executionId) : RELEASES[cause].message;
      const lacking = cause === "unable" && reason !== undefined ? `${reason} ${message}` : message;
      await ledger.release({ ...execution, ...RELEASES[cause], message: lacking });
      onEnded(input.executionId);
    },
  };
}
